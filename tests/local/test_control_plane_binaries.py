"""Where the control plane's programs come from: given, kept from an earlier build, or built."""

import os
import stat
import sys
from pathlib import Path

import pytest

from spillway_local.control_plane.binaries import ASSETS, NoControlPlane, are_there, cache_folder, find

PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
GO = """#!{python}
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
folder.mkdir(parents=True)
with pathlib.Path({log!r}).open("a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
print("example.com/package", file=sys.stderr)
if {fails}:
    sys.exit("example.com/package: does not compile")
for name in sys.argv[sys.argv.index("-o") + 2:]:
    (folder / ("etcd" if name == "." else name.rpartition("/")[2])).touch()
"""


@pytest.fixture(autouse=True)
def nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache, no assets, no Go."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv(ASSETS, raising=False)


def install_go(tmp_path: Path, fails: bool = False) -> Path:
    """A compiler that makes empty files; the answer is the log of its calls."""
    go, log = tmp_path / "bin" / "go", tmp_path / "calls"
    go.write_text(GO.format(python=sys.executable, log=str(log), fails=fails))
    go.chmod(go.stat().st_mode | stat.S_IXUSR)
    return log


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_programs_that_are_given_are_taken_and_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given = fill(tmp_path / "given", "etcd", *PROGRAMS)
    monkeypatch.setenv(ASSETS, str(given))

    found = find()

    assert (found.etcd, found.apiserver, found.scheduler) == (
        given / "etcd",
        given / "kube-apiserver",
        given / "kube-scheduler",
    )
    assert found.controller_manager == given / "kube-controller-manager"


def test_what_is_missing_is_built_once_and_kept(tmp_path: Path):
    calls = install_go(tmp_path)
    told: list[str] = []

    assert not are_there()
    first, second = find(told.append), find(told.append)

    assert are_there()
    assert first == second
    assert first.scheduler.is_relative_to(cache_folder())
    assert len(calls.read_text().splitlines()) == 2  # etcd, and the three of Kubernetes together
    assert [line for line in told if "building" in line and "once" in line]


def test_a_build_is_told_its_version(tmp_path: Path):
    calls = install_go(tmp_path)

    found = find(lambda text: None)

    version = found.scheduler.parent.name.split("-")[1]
    assert version.startswith("v1.")
    assert f"version.gitVersion={version}" in calls.read_text()


def test_kubernetes_programs_never_come_from_two_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install_go(tmp_path)
    given = fill(tmp_path / "given", "etcd", "kube-apiserver")  # as envtest has it: no scheduler
    monkeypatch.setenv(ASSETS, str(given))

    found = find(lambda text: None)

    assert found.etcd == given / "etcd"
    assert found.apiserver.parent == found.scheduler.parent != given


def test_without_go_the_message_says_what_is_missing_where_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(ASSETS, str(fill(tmp_path / "given", "etcd")))

    with pytest.raises(NoControlPlane, match=r"(?s)kube-scheduler.*given.*Install Go 1\.\d+.*KUBEBUILDER_ASSETS") as caught:
        find()
    assert os.environ[ASSETS] in str(caught.value)


def test_a_build_that_fails_says_why_and_leaves_nothing(tmp_path: Path):
    install_go(tmp_path, fails=True)

    with pytest.raises(NoControlPlane, match="does not compile"):
        find(lambda text: None)
    assert [path for path in cache_folder().iterdir() if path.is_dir()] == []
