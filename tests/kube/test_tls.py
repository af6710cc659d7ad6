"""TLS is always verified: against the CA that was given, by name, and with our own certificate where we have one."""

import base64
import json
import select
import socket
import ssl
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from moto import mock_aws
from urllib3.exceptions import SSLError

from spillway.aws import access as accesses
from spillway.aws import clients
from spillway.env import Env
from spillway.errors import AccessError, ClusterUnavailable
from spillway.kube import retry
from spillway.kube import session as sessions
from spillway.kube.connection import Connection
from spillway.kube.session import Session
from spillway.model.access import Access


@dataclass(frozen=True)
class Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        form = serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def issue(name: str, by: Pair | None = None, address: str = "127.0.0.1") -> Pair:
    """A certificate for an address, signed by another or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.now(UTC) - timedelta(days=1)  # noqa: TID251  OpenSSL looks at the real clock
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=3))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_name(address)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if by is None:
        signs = {"key_cert_sign": True, "crl_sign": True, "digital_signature": True}
        others = (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        )
        made = made.add_extension(x509.KeyUsage(**signs, **dict.fromkeys(others, False)), critical=True)
    else:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.key.public_key())
        made = made.add_extension(issuer, critical=False)
    return Pair(made.sign(by.key if by else key, hashes.SHA256()), key)


def _name(address: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(address)) if address[0].isdigit() else x509.DNSName(address)


CA, OTHER_CA = issue("test CA"), issue("another CA")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        peer = self.connection.getpeercert()  # type: ignore[attr-defined]
        name = dict(pair for rdn in peer["subject"] for pair in rdn)["commonName"] if peer else ""
        body = f'{{"who": "{name}"}}'.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up on us is what the tests are about."""


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    servers: list[Server] = []

    def start(pair: Pair) -> str:
        chain = tmp_path / "server.pem"
        chain.write_text(pair.pem + pair.key_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        context.load_verify_locations(cadata=CA.pem)
        context.verify_mode = ssl.CERT_OPTIONAL
        server = Server(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return f"https://127.0.0.1:{server.server_address[1]}"

    monkeypatch.setattr(retry, "sleep", lambda seconds: None)
    yield start
    sessions.close()
    for server in servers:
        server.shutdown()
        server.server_close()


class Proxy(BaseHTTPRequestHandler):
    """An HTTP proxy: opens a tunnel to the server on this machine, whatever name it is asked for."""

    asked: list[str]
    login: str  # "" where everybody may pass

    def do_CONNECT(self) -> None:
        if self.login and self.headers["Proxy-Authorization"] != f"Basic {base64.b64encode(self.login.encode()).decode()}":
            self.send_response(407)
            self.end_headers()
            return
        self.asked.append(self.path)
        there = socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2])))
        self.send_response(200)
        self.end_headers()
        ends = {self.connection: there, there: self.connection}
        with there, suppress(OSError):
            while ready := select.select(list(ends), [], [], 5)[0]:
                for end in ready:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def open_proxy(login: str = "") -> Iterator[tuple[str, list[str]]]:
    """The URL of a proxy, and what it was asked for by whom it let pass."""
    asked: list[str] = []
    server = Server(("127.0.0.1", 0), type("Noting", (Proxy,), {"asked": asked, "login": login}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    sessions.close()
    server.shutdown()
    server.server_close()


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    with open_proxy() as opened:
        yield opened


def ask(access: Access) -> bytes:
    return Session(access).call("GET", "/version", ("get", "/version")).body


@pytest.mark.feature("CS-02")
def test_a_server_of_the_given_ca_is_believed(serve):
    assert ask(Access("prod", serve(issue("api", CA)), ca=CA.pem, token="t")) == b'{"who": ""}'


@pytest.mark.feature("CS-02")
def test_our_certificate_is_shown(serve):
    ours = issue("spillway", CA)
    access = Access("prod", serve(issue("api", CA)), ca=CA.pem, certificate=ours.pem, key=ours.key_pem)
    assert ask(access) == b'{"who": "spillway"}'


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("ca", ["", OTHER_CA.pem], ids=["the system's", "another"])
def test_a_server_of_another_ca_is_not(serve, ca: str):
    with pytest.raises(ClusterUnavailable, match="certificate verify failed"):
        ask(Access("prod", serve(issue("api", CA)), ca=ca, token="t"))


@pytest.mark.feature("CS-02")
def test_a_server_of_another_name_is_not(serve):
    with pytest.raises(ClusterUnavailable, match=r"IP address mismatch|doesn't match"):
        ask(Access("prod", serve(issue("api", CA, address="10.0.0.1")), ca=CA.pem, token="t"))


def given(server: str, **user: str) -> dict[str, object]:
    """A kubeconfig for a server of our CA."""
    ca = base64.b64encode(CA.pem.encode()).decode()
    return {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "u", "user": user}],
    }


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("place", ["secret", "file"])
def test_a_kubeconfig_in_a_secret_or_a_file_leads_to_the_server(serve, aws_credentials: None, tmp_path: Path, place: str):
    """From the setting of the stack to an answer: CA and client certificate are those of the document."""
    ours = issue("spillway", CA)
    pair = {"client-certificate-data": ours.pem, "client-key-data": ours.key_pem}
    document = given(serve(issue("api", CA)), **{name: base64.b64encode(pem.encode()).decode() for name, pem in pair.items()})
    clients.clear()
    accesses._secret.cache_clear()
    with mock_aws():
        if place == "secret":
            secrets = clients.client("secretsmanager", "us-east-1")
            form = secrets.create_secret(Name="k8s", SecretString=json.dumps(document))["ARN"]
        else:
            (tmp_path / "config").write_text(yaml.safe_dump(document))
            form = f"file:{tmp_path / 'config'}"
        assert ask(accesses.access(Env("prod", "us-east-1", ("us-east-1",), "", "", form, ()))) == b'{"who": "spillway"}'
    clients.clear()


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("own", [True, False], ids=["the document's", "the environment's"])
def test_a_server_is_reached_and_verified_through_a_proxy(
    serve, proxy: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch, own: bool
):
    url, asked = proxy
    server = serve(issue("api", CA, address="k8s.test")).replace("127.0.0.1", "k8s.test")
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://nobody.test:1" if own else url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "k8s.test" if own else "")
    ours = issue("spillway", CA)
    told = {"server": server, "certificate": ours.pem, "key": ours.key_pem, "proxy": url if own else ""}

    assert ask(Access("prod", ca=CA.pem, **told)) == b'{"who": "spillway"}'
    with pytest.raises(ClusterUnavailable, match="certificate verify failed"):
        ask(Access("prod", ca=OTHER_CA.pem, **told))

    assert set(asked) == {server.removeprefix("https://")}


def ask_alone(access: Access) -> bytes:
    """Over a connection of its own, as watches have one."""
    connection = Connection(Session(access).connections())
    try:
        return connection.get("/version")[1]
    finally:
        connection.close()


@pytest.mark.feature("CS-02")
@pytest.mark.feature("CS-17")
def test_a_watchs_connection_is_verified_as_any_other(serve, proxy: tuple[str, list[str]]):
    url, asked = proxy
    server, ours = serve(issue("api", CA)), issue("spillway", CA)
    named = serve(issue("api", CA, address="k8s.test")).replace("127.0.0.1", "k8s.test")
    own = {"certificate": ours.pem, "key": ours.key_pem}

    assert ask_alone(Access("prod", server, ca=CA.pem, **own)) == b'{"who": "spillway"}'
    assert ask_alone(Access("prod", named, ca=CA.pem, proxy=url)) == b'{"who": ""}'
    assert asked == [named.removeprefix("https://")]
    for ca in ("", OTHER_CA.pem):
        with pytest.raises(SSLError, match="certificate verify failed"):
            ask_alone(Access("prod", server, ca=ca))
    with pytest.raises(SSLError, match=r"IP address mismatch|doesn't match"):
        ask_alone(Access("prod", serve(issue("api", CA, address="10.0.0.1")), ca=CA.pem))


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("asks", [ask, ask_alone], ids=["a request", "a watch"])
def test_a_server_may_show_a_certificate_of_the_name_that_is_given(serve, asks: Callable[[Access], bytes]):
    """tls-server-name of a kubeconfig, as for a tunnel to 127.0.0.1; and no other name is believed then."""
    there = Access("prod", serve(issue("api", CA, address="k8s.test")), ca=CA.pem, tls_server_name="k8s.test")
    assert asks(there) == b'{"who": ""}'
    with pytest.raises((ClusterUnavailable, SSLError), match=r"Hostname mismatch|doesn't match"):
        asks(replace(there, tls_server_name="other.test"))


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("own", [True, False], ids=["the document's", "the environment's"])
@pytest.mark.parametrize("asks", [ask, ask_alone], ids=["a request", "a watch"])
def test_a_proxy_is_told_the_user_and_password_of_its_url(
    serve, monkeypatch: pytest.MonkeyPatch, asks: Callable[[Access], bytes], own: bool
):
    with open_proxy("spill:w\u00e4y/1") as (url, asked):
        url = url.replace("http://", "http://spill:w%C3%A4y%2F1@")
        monkeypatch.setenv("HTTPS_PROXY", "" if own else url)
        for name in ("https_proxy", "NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        server = serve(issue("api", CA, address="k8s.test")).replace("127.0.0.1", "k8s.test")
        assert asks(Access("prod", server, ca=CA.pem, proxy=url if own else "")) == b'{"who": ""}'
        assert asked == [server.removeprefix("https://")]


@pytest.mark.feature("CS-02")
def test_a_password_that_a_proxy_does_not_take_is_neither_told_nor_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    with open_proxy("spill:way") as (url, asked):
        wrong = url.replace("http://", "http://spill:s3cret@")
        with pytest.raises(ClusterUnavailable, match="407") as caught:
            ask(Access("prod", "https://k8s.test", token="t", proxy=wrong))
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert asked == []
    assert not any(secret in shown for secret in ("s3cret", base64.b64encode(b"spill:s3cret").decode()))


NO_PROXIES = [
    "socks5://spill:s3cret@proxy:1080",
    "https://proxy:3128",
    "proxy.s3cret:3128",
    "http://[::s3cret",
    "http://",
    "s3cret",
]


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize("url", NO_PROXIES)
@pytest.mark.parametrize("own", [True, False], ids=["the document's", "the environment's"])
def test_what_is_no_http_proxy_is_refused_by_its_field_and_not_shown(url: str, own: bool, monkeypatch: pytest.MonkeyPatch):
    for name in ("https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "" if own else url)
    with pytest.raises(AccessError, match=r"http://HOST:PORT") as caught:
        ask(Access("prod", "https://k8s.test", token="t", proxy=url if own else ""))
    assert caught.value.field == ("proxy" if own else "HTTPS_PROXY")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.feature("CS-02")
def test_a_proxy_that_is_passed_by_is_not_judged(serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy:1080")
    monkeypatch.setenv("NO_PROXY", "k8s.test")
    monkeypatch.delenv("no_proxy", raising=False)
    client = sessions._client(Access("prod", "https://k8s.test", token="t"))
    sessions.close()
    assert client.configuration.proxy is None


@pytest.mark.feature("CS-02")
@pytest.mark.parametrize(
    "url", ["https://k8s:99999", "https://k8s:abc", "https://[::", "https://", "", "k8s:6443", "https://u:s3cret@k8s"]
)
def test_what_is_no_url_of_a_server_is_refused_before_anything_is_asked(url: str):
    with pytest.raises(AccessError) as caught:
        ask(Access("prod", url, token="t"))
    assert caught.value.field == "server"
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_the_key_of_a_client_certificate_does_not_outlive_the_connections(
    serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    ours = issue("spillway", CA)
    ask(Access("prod", serve(issue("api", CA)), ca=CA.pem, certificate=ours.pem, key=ours.key_pem))
    assert len(list(scratch.iterdir())) == 2
    sessions.close()
    assert list(scratch.iterdir()) == []


@pytest.mark.feature("CS-02")
def test_a_proxy_is_taken_from_the_environment_but_never_for_this_machine(monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://proxy.example.com:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    far = sessions._client(Access("prod", "https://k8s.example.com", token="t"))
    near = sessions._client(Access("prod", "http://127.0.0.1:1", token="t"))
    sessions.close()

    assert far.configuration.proxy == "http://proxy.example.com:3128"
    assert near.configuration.proxy is None
