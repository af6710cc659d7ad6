"""What tests share: nothing here reaches outside the machine, and no test ever sees real credentials."""

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # a test of the planner alone must not wait for these
    from spillway_local.control_plane import ControlPlane
    from spillway_local.kube_api import Cluster

gc.set_threshold(100_000, 50, 50)  # emulated accounts are large living graphs: looking through them often finds nothing
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # read once by moto; loading them costs 0.2 s a mock


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that fail everywhere but in moto."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_SESSION_TOKEN": "testing",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Every test is a cold start: no environment and no answer of the test before."""
    from spillway.aws import memo
    from spillway.env import env
    from spillway.kube import follow, resources

    env.cache_clear()
    memo.clear()
    resources.clear()
    follow.clear()
    yield
    env.cache_clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--api-server", choices=("fake", "real"), default="fake",
        help="which API server the tests that need one run against; with `real` only those are run",
    )  # fmt: skip
    parser.addoption(
        "--kills", choices=("writes", "all"), default="writes",
        help="at which calls tests/world/test_kills.py ends a run: after each write, or before and after every call",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """A test would be too short a time to build the real server's programs in."""
    if config.getoption("--api-server") == "real":
        from spillway_local.control_plane.binaries import are_there

        if not are_there():
            raise pytest.UsageError(
                "the real control plane is not built: `make test-cluster` does it first, or "
                "`python -m spillway_local.control_plane build`"
            )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Against the real server those that need an API server, and those that need a real one; all but the latter else."""
    real = config.getoption("--api-server") == "real"
    left = [item for item in items if (_needs_one(item) if real else not item.get_closest_marker("cluster"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left
    for item in items:
        if real and any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail")):
            raise pytest.UsageError(f"{item.nodeid}: what differs on a real server is mended, never skipped or expected")
        if real and not item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.feature("RS-07"))  # what an adapter's test proves of a real server only


def _needs_one(item: pytest.Item) -> bool:
    return "api_server" in getattr(item, "fixturenames", ()) or item.get_closest_marker("cluster") is not None


@pytest.fixture(scope="session")
def plane() -> Iterator["ControlPlane"]:
    """One for all tests of a process. Without a scheduler: pods stay where a test puts them."""
    from spillway_local.control_plane import ControlPlane

    with ControlPlane(scheduler=False) as running:
        yield running


@pytest.fixture
def api_server(request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """An empty cluster that serves: the fake one, or with `--api-server real` a real one. What holds must hold on both.

    Its clock is a VirtualClock. The fake tells its time by it; the real one has the time of the machine.
    """
    from spillway import clock
    from spillway_local.clock import VirtualClock

    if request.config.getoption("--api-server") == "fake":
        from spillway_local.kube_api import FakeCluster

        with FakeCluster(VirtualClock()) as fake:
            fake.agent.close()  # a real one has none either: a test that needs machines makes its own
            yield fake
    else:
        from spillway_local.control_plane.cluster import RealCluster

        with RealCluster(request.getfixturevalue("plane"), VirtualClock(clock.utcnow())) as real:
            yield real


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Figures of the worlds left to the real scheduler, summed over all tests and processes."""
    if terminalreporter.config.getoption("--api-server") == "fake":
        return
    from spillway_local.judge import figures

    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    for way, title in (("free", "pods left to the scheduler"), ("nominated", "the same, pods nominated for their nodes")):
        counts = [value for report in reports for name, value in report.user_properties if name == way]
        if counts:
            terminalreporter.section(title)
            for line in figures.total(counts).lines():
                terminalreporter.write_line(line)
