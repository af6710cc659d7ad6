"""Where the control plane's programs come from: given, kept from an earlier build, or built."""

import fcntl
import os
import shutil
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from spillway_local.control_plane import binaries
from spillway_local.control_plane.binaries import ASSETS, NoControlPlane, are_there, cache_folder, find
from tests import conftest

PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
GO = """#!{python}
import pathlib, sys
if sys.argv[1:] == ["env", "GOVERSION"]:
    sys.exit(print("{version}"))
if {slow} and "." not in sys.argv:
    pathlib.Path({fifo!r}).read_text()
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


def install_go(tmp_path: Path, fails: bool = False, version: str = "go1.99", slow: bool = False) -> Path:
    """A compiler that makes empty files; the answer is the log of its builds.

    A slow one never ends with Kubernetes by itself.
    """
    go, log, fifo = tmp_path / "bin" / "go", tmp_path / "calls", tmp_path / "never"
    os.mkfifo(fifo)
    go.write_text(GO.format(python=sys.executable, log=str(log), fifo=str(fifo), fails=fails, version=version, slow=slow))
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
    etcd, kubernetes = calls.read_text().splitlines()
    assert f"version.gitVersion={version}" in kubernetes
    assert "version" not in etcd  # that one is of Kubernetes


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


@pytest.mark.parametrize(("version", "enough"), [("go1.9.7", False), ("go1.25.11", False), ("go1.26.0", True), ("go2.0", True)])
def test_a_go_that_is_too_old_is_told_from_one_that_builds(tmp_path: Path, version: str, enough: bool):
    calls = install_go(tmp_path, version=version)

    if enough:
        find(lambda text: None)
    else:
        with pytest.raises(NoControlPlane, match=rf"too old \({version}\).*Install Go 1\.26\.0 or newer.*KUBEBUILDER_ASSETS"):
            find(lambda text: None)
    assert calls.is_file() is enough


def test_a_cache_that_lost_a_program_is_built_anew(tmp_path: Path):
    calls = install_go(tmp_path)
    found = find(lambda text: None)
    found.scheduler.unlink()

    assert find(lambda text: None) == found
    assert found.scheduler.is_file()
    assert len(calls.read_text().splitlines()) == 3


def test_what_an_editor_leaves_beside_the_modules_builds_nothing(tmp_path: Path):
    there = binaries._ETCD
    copied = replace(there, folder=shutil.copytree(there.folder, tmp_path / there.folder.name))
    (copied.folder / "go.mod~").write_text("older")

    assert copied.cache == there.cache


def locked(folder: str) -> IO[str]:
    """The lock of another run that builds, until it is closed; it is one file for each version of each module."""
    file = (cache_folder() / f"{folder}.lock").open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def test_the_build_of_another_run_is_waited_for_and_taken(tmp_path: Path):
    calls = install_go(tmp_path)
    found = find(lambda text: None)
    program = found.etcd
    program.unlink()
    told: list[str] = []

    with locked(program.parent.name) as other:

        def hear(text: str) -> None:
            told.append(text)
            program.touch()
            other.close()

        assert find(hear) == found
    assert [text for text in told if "another run is building" in text]
    assert len(calls.read_text().splitlines()) == 2


def test_another_run_is_not_waited_for_longer_than_a_build_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install_go(tmp_path)
    found = find(lambda text: None)
    found.etcd.unlink()
    monkeypatch.setattr(binaries, "_BUILD_LIMIT_S", 0.0)

    with locked(found.etcd.parent.name), pytest.raises(NoControlPlane, match=r"another run.*etcd-v\d.*\.lock"):
        find(lambda text: None)


def test_all_builds_together_have_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install_go(tmp_path, slow=True)
    now = 0.0

    def hear(text: str) -> None:
        nonlocal now
        if "built in" in text:  # etcd's took all the time that there was
            now += 20 * 60.0

    monkeypatch.setattr(binaries, "monotonic", lambda: now)
    with pytest.raises(NoControlPlane, match=r"kube-apiserver.*not done within 20 minutes"):
        find(hear)


def test_tests_that_need_them_end_before_they_begin_when_they_are_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
):
    monkeypatch.setattr(pytestconfig.option, "api_server", "real")

    with pytest.raises(pytest.UsageError, match=r"make test-cluster.*control_plane build"):
        conftest.pytest_configure(pytestconfig)

    monkeypatch.setenv(ASSETS, str(fill(tmp_path / "given", "etcd", *PROGRAMS)))
    conftest.pytest_configure(pytestconfig)
