"""Where the control plane's four programs come from: `KUBEBUILDER_ASSETS`, the user's cache, or a build from their modules.

The three of Kubernetes come from one place, so that a scheduler never meets an API server of another version.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO

MODULES = Path(__file__).parents[3] / "tests" / "cluster" / "controlplane"
ASSETS = "KUBEBUILDER_ASSETS"
_KUBERNETES = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
_SOURCES = ("go.mod", "go.sum", "main.go")
_BUILD_LIMIT_S = 20 * 60.0
_TELL_EVERY_S = 15.0
_LOOK_S = 0.2  # between looks at whether another run has ended its build
_VERSIONED = " ".join(
    f"-X k8s.io/component-base/version.{name}" for name in ("gitVersion={version}", "gitMajor={major}", "gitMinor={minor}")
)
"""Kubernetes learns its version from its linker; without it, it calls itself v0.0.0."""


class NoControlPlane(RuntimeError):
    """The programs are neither there nor can they be built: the message says what to install or to set."""


@dataclass(frozen=True)
class Binaries:
    """Paths of the programs. `source` says where Kubernetes' own were found."""

    etcd: Path
    apiserver: Path
    scheduler: Path
    controller_manager: Path
    source: str


@dataclass(frozen=True)
class _Module:
    """A Go module of ours that pins one published module, and the programs that are built of it."""

    folder: Path
    pins: str
    programs: Mapping[str, str]  # package by name of the program
    told_to_linker: str = ""  # with places for the version and its parts

    @property
    def version(self) -> str:
        return self._said(rf"^(?:require )?\s*{re.escape(self.pins)} (v\S+)", f"require {self.pins}")

    @property
    def go(self) -> str:
        """The oldest Go that builds it."""
        return self._said(r"^go (\S+)", "name a version of go")

    @property
    def cache(self) -> Path:
        """A folder of its own for each content of the module."""
        digest = hashlib.sha256()
        for file in map(self.folder.joinpath, _SOURCES):
            if file.is_file():
                digest.update(file.read_bytes())
        return cache_folder() / f"{self.folder.name}-{self.version}-{digest.hexdigest()[:8]}"

    @property
    def linker_flags(self) -> str:
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        return f"-s -w {self.told_to_linker.format(version=self.version, major=major, minor=minor)}".rstrip()

    def _said(self, line: str, what: str) -> str:
        found = re.search(line, (self.folder / "go.mod").read_text(), re.MULTILINE)
        if found is None:
            raise NoControlPlane(f"{self.folder / 'go.mod'} does not {what}; restore it from git")
        return found[1]


_ETCD = _Module(MODULES / "etcd", "go.etcd.io/etcd/server/v3", {"etcd": "."})
_PLANE = _Module(
    MODULES / "kubernetes", "k8s.io/kubernetes", {name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES}, _VERSIONED
)  # fmt: skip


def cache_folder() -> Path:
    """Where built programs are kept, for all checkouts of this user."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "spillway" / "control-plane"


def find(tell: Callable[[str], None] = print) -> Binaries:
    """The programs, built if need be (8 minutes on two cores, once; 20 at most, also of waiting for another run's build).

    `tell` hears how far that is. Raises NoControlPlane.
    """
    end = monotonic() + _BUILD_LIMIT_S
    etcd = _folder_of(_ETCD, end, tell)
    kubernetes = _folder_of(_PLANE, end, tell)
    apiserver, scheduler, controller_manager = (kubernetes / name for name in _KUBERNETES)
    return Binaries(etcd / "etcd", apiserver, scheduler, controller_manager, str(kubernetes))


def are_there() -> bool:
    """Whether nothing needs to be built."""
    return all(_known(module) for module in (_ETCD, _PLANE))


def _known(module: _Module) -> Path | None:
    assets = os.environ.get(ASSETS)
    for folder in (Path(assets) if assets else None, module.cache):
        if folder and all((folder / name).is_file() for name in module.programs):
            return folder
    return None


def _folder_of(module: _Module, end: float, tell: Callable[[str], None]) -> Path:
    if known := _known(module):
        return known
    with _alone(module.cache.with_name(f"{module.cache.name}.lock"), end, tell):
        if not _known(module):  # another run may have built it meanwhile
            _build(module, end, tell)
    return module.cache


@contextmanager
def _alone(lock: Path, end: float, tell: Callable[[str], None]) -> Iterator[None]:
    """Two runs that start together build once."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        told = False
        while not _taken(file):
            if not told:
                tell(f"another run is building it; waiting for that ({lock})")
                told = True
            if monotonic() > end:
                raise NoControlPlane(f"another run has been building it for too long: end the process that holds {lock}")
            sleep(_LOOK_S)
        yield


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _compiler(module: _Module) -> str:
    """Its path. Go from 1.21 on fetches what go.mod asks for, unless it is told not to, and then says so as its own version."""
    go = shutil.which("go")
    if go is None:
        problem = "there is no `go` to build them with"
    else:
        asked = subprocess.run(
            [go, "env", "GOVERSION"], cwd=module.folder, env=_environment(), capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and _numbers(asked.stdout) >= _numbers(module.go):
            return go
        problem = f"{go} is too old ({asked.stdout.strip() or asked.stderr.strip()}) to build them"
    names = ", ".join(module.programs)
    raise NoControlPlane(
        f"{names}: not in ${ASSETS} ({os.environ.get(ASSETS, 'not set')}), not in {module.cache}, and {problem}. "
        f"Install Go {module.go} or newer, or set {ASSETS} to a folder that holds {names} {module.version}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Of `go1.26.8` or `1.26.0`."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}


def _build(module: _Module, end: float, tell: Callable[[str], None]) -> None:
    go, names = _compiler(module), ", ".join(module.programs)
    tell(f"building {names} {module.version}, once; they are kept in {module.cache}")
    with tempfile.TemporaryDirectory(dir=module.cache.parent, prefix="building-") as folder:
        command = [
            go,
            "build",
            "-v",
            "-trimpath",
            "-buildvcs=false",
            f"-ldflags={module.linker_flags}",
            "-o",
            f"{folder}/built/",
        ]
        _run([*command, *module.programs.values()], module, end, tell)
        if module.cache.exists():  # not whole, else nothing would be built
            shutil.rmtree(module.cache)
        (Path(folder) / "built").rename(module.cache)


def _run(command: list[str], module: _Module, end: float, tell: Callable[[str], None]) -> None:
    """Go names each package that it compiles; what it had compiled before, it passes over."""
    start = told = monotonic()
    lines: list[str] = []
    with subprocess.Popen(command, cwd=module.folder, env=_environment(), stderr=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(max(0.0, end - start), process.kill)
        limit.start()
        try:
            for line in process.stderr or ():
                lines.append(line.rstrip())
                if monotonic() - told > _TELL_EVERY_S:
                    told = monotonic()
                    tell(f"  {told - start:4.0f} s: {len(lines)} packages, now {lines[-1]}")
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
    if code:
        late = f"it was not done within {_BUILD_LIMIT_S / 60:.0f} minutes; what is compiled is kept, so try again"
        why = late if monotonic() >= end else "\n".join(lines[-20:])
        raise NoControlPlane(f"`{' '.join(command)}` failed in {module.folder} (code {code}): {why}")
    tell(f"  built in {monotonic() - start:.0f} s")
