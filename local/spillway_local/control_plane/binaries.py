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
from time import monotonic

MODULES = Path(__file__).parents[3] / "tests" / "cluster" / "controlplane"
ASSETS = "KUBEBUILDER_ASSETS"
_KUBERNETES = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
_BUILD_LIMIT_S = 20 * 60.0
_TELL_EVERY_S = 15.0


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

    @property
    def version(self) -> str:
        found = re.search(
            rf"^(?:require )?\s*{re.escape(self.pins)} (v\S+)", (self.folder / "go.mod").read_text(), re.MULTILINE
        )
        if found is None:
            raise NoControlPlane(f"{self.folder / 'go.mod'} does not require {self.pins}; restore it from git")
        return found[1]

    @property
    def cache(self) -> Path:
        """A folder of its own for each content of the module."""
        digest = hashlib.sha256()
        for file in sorted(self.folder.iterdir()):
            digest.update(file.read_bytes())
        return cache_folder() / f"{self.folder.name}-{self.version}-{digest.hexdigest()[:8]}"

    @property
    def linker_flags(self) -> str:
        """Kubernetes learns its version from its linker; without it, it calls itself v0.0.0."""
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        names = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in names.items())])


_ETCD = _Module(MODULES / "etcd", "go.etcd.io/etcd/server/v3", {"etcd": "."})
_PLANE = _Module(
    MODULES / "kubernetes", "k8s.io/kubernetes", {name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES}
)  # fmt: skip


def cache_folder() -> Path:
    """Where built programs are kept, for all checkouts of this user."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "spillway" / "control-plane"


def find(tell: Callable[[str], None] = print) -> Binaries:
    """The programs, built if need be (8 minutes on two cores, once); `tell` hears how far that is. Raises NoControlPlane."""
    etcd = _folder_of(_ETCD, tell)
    kubernetes = _folder_of(_PLANE, tell)
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


def _folder_of(module: _Module, tell: Callable[[str], None]) -> Path:
    if known := _known(module):
        return known
    with _alone(module.cache.with_suffix(".lock")):
        if not module.cache.is_dir():  # another run may have built it meanwhile
            _build(module, tell)
    return module.cache


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two runs that start together build once."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(module: _Module, tell: Callable[[str], None]) -> None:
    go = shutil.which("go")
    names = ", ".join(module.programs)
    if go is None:
        raise NoControlPlane(
            f"{names}: not in ${ASSETS} ({os.environ.get(ASSETS, 'not set')}), not in {module.cache}, and there is no `go` to "
            f"build them with. Install Go 1.26 or newer, or set {ASSETS} to a folder that holds {names} {module.version}"
        )
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
        _run([*command, *module.programs.values()], module, tell)
        (Path(folder) / "built").rename(module.cache)


def _run(command: list[str], module: _Module, tell: Callable[[str], None]) -> None:
    """Go names each package that it compiles; what it had compiled before, it passes over."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    start = told = monotonic()
    lines: list[str] = []
    with subprocess.Popen(command, cwd=module.folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(_BUILD_LIMIT_S, process.kill)
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
    took_s = monotonic() - start
    if code:
        why = f"it took more than {_BUILD_LIMIT_S / 60:.0f} minutes" if took_s >= _BUILD_LIMIT_S else "\n".join(lines[-20:])
        raise NoControlPlane(f"`{' '.join(command)}` failed in {module.folder} (code {code}): {why}")
    tell(f"  built in {took_s:.0f} s")
