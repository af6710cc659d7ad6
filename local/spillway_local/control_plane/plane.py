"""A real control plane on the loopback: etcd, kube-apiserver, kube-scheduler and kube-controller-manager."""

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from urllib.parse import urlsplit

import urllib3
import yaml

from spillway_local.control_plane import credentials, rights
from spillway_local.control_plane.binaries import Binaries, find
from spillway_local.control_plane.client import Client
from spillway_local.control_plane.credentials import SCHEDULER
from spillway_local.control_plane.processes import Processes, free_ports

DISRUPTION = ("disruption-controller",)
"""Enough for what an autoscaler asks the API server: it keeps the status of PodDisruptionBudgets."""
WORKLOADS = (
    *DISRUPTION, "daemonset-controller", "deployment-controller", "garbage-collector-controller", "job-controller",
    "namespace-controller", "pod-garbage-collector-controller", "replicaset-controller",
)  # fmt: skip
"""Those that make, replace and collect pods. Objects whose owner does not exist are collected too."""
_GANGS = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
"""Kubernetes' own; the second is what the third depends on."""
_SCHEDULES = (
    {
        "apiGroups": [""], "verbs": ["*"],
        "resources": [
            "bindings", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods", "pods/binding",
            "pods/status", "replicationcontrollers", "services",
        ],
    },
    {
        "apiGroups": [
            "apps", "authentication.k8s.io", "authorization.k8s.io", "policy", "resource.k8s.io", "scheduling.k8s.io",
            "storage.k8s.io",
        ],
        "resources": ["*"], "verbs": ["*"],
    },
)  # fmt: skip
_GO = {"GOGC": "400"}  # a plane lives for minutes: memory is cheaper than a fifth of its time
_READY_S = 60.0
_TRIES = 3  # a free port may be taken before the process that it was meant for listens


class ControlPlane:
    """Use it as a context manager, or call `start` and `stop`. Nobody plays the kubelet: see `node_agent`.

    `folder` holds logs, keys and data, and goes with the plane. Two planes do not disturb each other.
    """

    def __init__(
        self, controllers: Sequence[str] = DISRUPTION, binaries: Binaries | None = None, scheduler: bool = True
    ) -> None:
        """`controllers` by the names that the controller manager knows; none: it is not started."""
        self._controllers = tuple(controllers)
        self._with_scheduler = scheduler
        self._binaries = binaries or find()
        self._processes: Processes | None = None

    @property
    def _schedulers(self) -> Path:
        return self.folder / "scheduler.kubeconfig"

    def __enter__(self) -> "ControlPlane":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> "ControlPlane":
        """Returns when the API server is ready; raises RuntimeError with the last words of what did not start."""
        for attempt in range(_TRIES):
            self.folder = Path(tempfile.mkdtemp(prefix="spillway-plane-"))
            self._processes = Processes(self.folder, _GO)
            try:
                self._start(self._processes)
            except _PortTaken:
                self.stop()
                if attempt + 1 == _TRIES:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                break
        return self

    def stop(self) -> None:
        """Returns when every process is gone, and the folder."""
        if self._processes is not None:
            self._processes.stop_all()
            self._processes = None

    def restart_apiserver(self) -> None:
        """Returns when it is ready again: what it had cached is forgotten, all connections were cut.

        The scheduler and the controllers begin anew with it. Each of their watches would come back after a wait of its own,
        which doubles from one restart to the next, to a minute at most (client-go, tools/cache/reflector.go), and until then
        they would judge by what they saw before.
        """
        assert self._processes is not None
        for name in ("kube-controller-manager", "kube-scheduler", "kube-apiserver"):
            self._processes.kill(name)  # asked to end, the server would wait for those who watch
        self._start_apiserver(self._processes)
        self._start_clients(self._processes)

    @property
    def token(self) -> str:
        """The administrator's; `tokens` has those of all users."""
        return self.tokens["admin"]

    def _start(self, processes: Processes) -> None:
        etcd_port, peer_port, port, scheduler_port, manager_port = free_ports(5)
        self.url, self.etcd_url = f"https://127.0.0.1:{port}", f"http://127.0.0.1:{etcd_port}"
        self.scheduler_url, self._manager_url = (f"https://127.0.0.1:{port}" for port in (scheduler_port, manager_port))
        self.ca_file, self.kubeconfig = self.folder / "certs" / "apiserver.crt", self.folder / "kubeconfig"
        self.tokens = credentials.write_tokens(self.folder / "tokens.csv")
        credentials.write_key(self.folder / "service-accounts.pem")
        credentials.write_authority(self.folder / "clients.crt", self.folder / "clients.key")
        credentials.write_kubeconfig(self.kubeconfig, self.url, self.ca_file, self.tokens)
        credentials.write_kubeconfig(self._schedulers, self.url, self.ca_file, {SCHEDULER: self.tokens[SCHEDULER]})
        processes.start("etcd", self._etcd(f"http://127.0.0.1:{peer_port}"))
        self._wait("etcd", f"{self.etcd_url}/health")
        self._start_apiserver(processes)
        if self._with_scheduler:
            self._let_schedule()
        self._start_clients(processes)

    def _start_apiserver(self, processes: Processes) -> None:
        processes.start("kube-apiserver", self._apiserver(_port_of(self.url)))
        self._wait("kube-apiserver", f"{self.url}/readyz")

    def _start_clients(self, processes: Processes) -> None:
        if self._with_scheduler:
            processes.start("kube-scheduler", self._scheduler(_port_of(self.scheduler_url)))
            self._wait("kube-scheduler", f"{self.scheduler_url}/readyz")
        if self._controllers:
            processes.start("kube-controller-manager", self._controller_manager(_port_of(self._manager_url)))
            self._wait("kube-controller-manager", f"{self._manager_url}/healthz")

    def _let_schedule(self) -> None:
        """All that the scheduler does but Events: a third of all writes, which nobody reads here."""
        client = Client(self.url, self.ca_file, self.token)
        rights.grant(client, SCHEDULER, _SCHEDULES)
        client.close()

    def _etcd(self, peers: str) -> list[str]:
        return [
            str(self._binaries.etcd), f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn",
            f"--listen-client-urls={self.etcd_url}", f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
        ]  # fmt: skip

    def _apiserver(self, port: int) -> list[str]:
        key = self.folder / "service-accounts.pem"
        return [
            str(self._binaries.apiserver), f"--etcd-servers={self.etcd_url}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={self.folder / 'certs'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC", "--anonymous-auth=false",
            f"--client-ca-file={self.folder / 'clients.crt'}",
            "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            # Pods come without service accounts; no controller runs here that would take off taints and protections.
            "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition",
            "--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false", "--delete-collection-workers=8",
            f"--feature-gates={_GANGS}", "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
        ]  # fmt: skip

    def _scheduler(self, port: int) -> list[str]:
        file = self.folder / "scheduler.yaml"
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self._schedulers), "qps": 5000, "burst": 10000},
            "leaderElection": {"leaderElect": False},
            "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1,  # the default is up to 10: tests would wait for it
        }  # fmt: skip
        file.write_text(yaml.safe_dump(document))
        return [
            str(self._binaries.scheduler), f"--config={file}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--tls-cert-file={self.ca_file}", f"--tls-private-key-file={self.ca_file.with_suffix('.key')}",
            "--authorization-always-allow-paths=/metrics,/readyz",
        ]  # fmt: skip

    def _controller_manager(self, port: int) -> list[str]:
        return [
            str(self._binaries.controller_manager), f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
            "--bind-address=127.0.0.1", f"--secure-port={port}", f"--tls-cert-file={self.ca_file}",
            f"--tls-private-key-file={self.ca_file.with_suffix('.key')}",
            f"--cluster-signing-cert-file={self.folder / 'clients.crt'}",
            f"--cluster-signing-key-file={self.folder / 'clients.key'}",
            f"--controllers={','.join(self._controllers)}", "--kube-api-qps=5000", "--kube-api-burst=10000",
        ]  # fmt: skip

    def _wait(self, name: str, url: str) -> None:
        assert self._processes is not None
        end = monotonic() + _READY_S
        while monotonic() < end:
            if not self._processes.runs(name):
                words = self._processes.last_words(name)
                raise (_PortTaken if "address already in use" in words else RuntimeError)(
                    f"{name} ended at its start:\n{words}"
                )
            if self._answers(url):
                return
            sleep(0.05)
        raise RuntimeError(f"{name} was not ready within {_READY_S:.0f} s:\n{self._processes.last_words(name)}")

    def _answers(self, url: str) -> bool:
        try:
            context = ssl.create_default_context(cafile=str(self.ca_file)) if url.startswith("https") else None
        except (FileNotFoundError, ssl.SSLError):
            return False  # the server makes its certificate before it listens, and may be writing it just now
        with urllib3.PoolManager(ssl_context=context, retries=False, timeout=5.0) as pool:
            try:
                answer = pool.request("GET", url, headers={"Authorization": f"Bearer {self.token}"})
            except urllib3.exceptions.HTTPError:
                return False
            return answer.status == 200


def _port_of(url: str) -> int:
    return urlsplit(url).port or 0


class _PortTaken(RuntimeError):
    """Another process took the port between our look and the start."""
