"""From the setting SPILLWAY_ACCESS to a connection, and what is said when it leads to none."""

import base64
import json
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto import mock_aws

from spillway import clock
from spillway.aws import access as module
from spillway.aws import clients
from spillway.aws.access import access
from spillway.env import Env
from spillway.errors import AccessError, AwsUnavailable, ClusterUnauthorized
from spillway.kube.session import close, connect
from spillway_local.kube_api import Cluster

REGION = "us-east-1"
ENV = Env("prod", REGION, (REGION,), "spillway", "", "eks", ())
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
IN_BASE64 = base64.b64encode(PEM.encode()).decode()
KUBECONFIG = {
    "current-context": "prod",
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "spillway"}}],
    "clusters": [{"name": "prod", "cluster": {"server": "https://k8s", "certificate-authority-data": IN_BASE64}}],
    "users": [{"name": "spillway", "user": {"token": "t"}}],
}


@pytest.fixture(autouse=True)
def _fresh(aws_credentials: None) -> Iterator[None]:
    clients.clear()
    module._secret.cache_clear()
    yield
    clients.clear()


def given(document: Any) -> Env:
    return replace(ENV, access=f"json:{json.dumps(document)}")


def kubeconfig(part: str, **fields: Any) -> dict[str, Any]:
    """The kubeconfig with `fields` of its cluster or user changed; None takes a field out."""
    changed = json.loads(json.dumps(KUBECONFIG))
    inner = changed[f"{part}s"][0][part]
    inner.update(fields)
    changed[f"{part}s"][0][part] = {name: value for name, value in inner.items() if value is not None}
    return changed


def with_token(token: str, place: str, folder: Path) -> Env:
    """An access by `token`, which stands at `place`."""
    if place == "document":
        return given({"server": "https://k8s", "token": token})
    if place == "kubeconfig":
        return given(kubeconfig("user", token=token))
    (folder / "token").write_text(token, encoding="utf-8")
    (folder / "config").write_text(json.dumps(kubeconfig("user", token=None, tokenFile="token")))
    return replace(ENV, access=f"file:{folder / 'config'}")


@pytest.mark.feature("CS-02")
class TestSecret:
    @pytest.fixture
    def arn(self) -> Iterator[str]:
        with mock_aws():
            secret = {"server": "https://k8s:6443", "ca": PEM, "token": "t1"}
            made = clients.client("secretsmanager", REGION).create_secret(Name="k8s", SecretString=json.dumps(secret))
            yield made["ARN"]

    def test_server_ca_and_token_come_from_the_secret(self, arn: str):
        found = access(replace(ENV, access=arn))
        assert (found.cluster, found.server, found.ca, found.token) == ("prod", "https://k8s:6443", PEM, "t1")

    def test_a_kubeconfig_may_be_the_secret(self, arn: str):
        clients.client("secretsmanager", REGION).put_secret_value(SecretId=arn, SecretString=json.dumps(KUBECONFIG))
        found = access(replace(ENV, access=arn))
        assert (found.server, found.ca, found.token) == ("https://k8s", PEM, "t")

    def test_a_rotated_secret_is_seen_within_five_minutes(self, arn: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(clock, "utcnow", lambda: datetime.fromisoformat("2026-01-01T00:00:00Z"))
        access(replace(ENV, access=arn))
        rotated = json.dumps({"server": "https://k8s:6443", "token": "t2"})
        clients.client("secretsmanager", REGION).put_secret_value(SecretId=arn, SecretString=rotated)

        monkeypatch.setattr(clock, "utcnow", lambda: datetime.fromisoformat("2026-01-01T00:05:00Z"))
        assert access(replace(ENV, access=arn)).token == "t2"

    def test_what_is_refused_is_looked_up_again_at_once(self, arn: str, api_server: Cluster, monkeypatch: pytest.MonkeyPatch):
        """A secret is rotated, and the old token counts no more: the next request goes with the new one."""
        time = api_server.clock.now()
        monkeypatch.setattr(clock, "utcnow", lambda: time)

        def store(token: str) -> None:
            text = json.dumps({"server": api_server.url, "token": token})
            clients.client("secretsmanager", REGION).put_secret_value(SecretId=arn, SecretString=text)

        store("yesterday's")
        opened = connect(partial(access, replace(ENV, access=arn)))
        store(api_server.token)
        assert opened.call("GET", "/version", ("get", "/version")).status == 200

        store("tomorrow's")
        with pytest.raises(ClusterUnauthorized):
            replace(opened, access=replace(opened.access, token="wrong")).call("GET", "/version", ("get", "/version"))
        close()

    @mock_aws
    def test_a_secret_that_is_not_there_is_an_error_of_that_call(self):
        with pytest.raises(AwsUnavailable, match="secretsmanager:GetSecretValue"):
            access(replace(ENV, access="arn:aws:secretsmanager:us-east-1:123456789012:secret:none-a1b2c3"))


@pytest.mark.feature("CS-02")
class TestDocument:
    def test_a_token(self):
        found = access(given({"server": "https://k8s", "token": "t"}))
        assert (found.server, found.token, found.ca) == ("https://k8s", "t", "")

    def test_a_client_certificate_in_pem_or_base64(self):
        found = access(given({"server": "https://k8s", "certificate": PEM, "key": IN_BASE64, "ca": IN_BASE64}))
        assert (found.certificate, found.key, found.ca) == (PEM, PEM, PEM)

    def test_a_kubeconfig_as_kubectl_prints_it(self):
        found = access(given(KUBECONFIG))
        assert (found.server, found.token, found.ca) == ("https://k8s", "t", PEM)

    def test_a_kubeconfig_with_a_client_certificate(self):
        with_key = {"token": None, "client-certificate-data": IN_BASE64, "client-key-data": IN_BASE64}
        found = access(given(kubeconfig("user", **with_key)))
        assert (found.token, found.certificate, found.key) == ("", PEM, PEM)

    @pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump, lambda document: json.dumps(document, indent="\t")])
    @pytest.mark.parametrize("document", [KUBECONFIG, {"server": "https://k8s", "ca": PEM, "token": "t"}])
    def test_a_file_on_a_laptop(self, tmp_path: Path, document: Any, write: Any):
        file = tmp_path / "kubeconfig"
        file.write_text(write(document))
        found = access(replace(ENV, access=f"file:{file}"))
        assert (found.server, found.token, found.ca) == ("https://k8s", "t", PEM)

    def test_the_files_that_a_kubeconfig_on_a_laptop_names_are_read(self, tmp_path: Path):
        """As minikube writes it; kubectl looks for them beside the kubeconfig."""
        names = {"client-certificate": "me.crt", "client-key": str(tmp_path / "me.key"), "token": None}
        document = kubeconfig("user", **names)
        document["clusters"][0]["cluster"] = {"server": "https://k8s", "certificate-authority": "ca.crt"}
        (tmp_path / "config").write_text(yaml.safe_dump(document))
        for name in ("me.crt", "me.key", "ca.crt"):
            (tmp_path / name).write_text(PEM.replace("MIIB", name))

        found = access(replace(ENV, access=f"file:{tmp_path / 'config'}"))

        assert [pem.splitlines()[1] for pem in (found.certificate, found.key, found.ca)] == ["me.crt", "me.key", "ca.crt"]
        (tmp_path / "me.key").unlink()
        with pytest.raises(AccessError, match="client-key cannot be read"):
            access(replace(ENV, access=f"file:{tmp_path / 'config'}"))

    def test_a_file_that_does_not_read_never_shows_its_lines(self, tmp_path: Path):
        (tmp_path / "config").write_text("users:\n- token: 's3cret\n")
        with pytest.raises(AccessError, match=r"line \d is neither JSON nor YAML") as caught:
            access(replace(ENV, access=f"file:{tmp_path / 'config'}"))
        assert "s3cret" not in str(caught.value)

    def test_a_proxy_of_its_own(self):
        with_proxy = access(given(kubeconfig("cluster", **{"proxy-url": "http://proxy:3128"})))
        written_out = access(given({"server": "https://k8s", "token": "t", "proxy": "http://proxy:3128"}))
        assert with_proxy.proxy == written_out.proxy == "http://proxy:3128"

    @pytest.mark.parametrize(
        ("document", "problem"),
        [
            ({"token": "t"}, "server"),
            ({"server": "https://k8s"}, "neither a token"),
            ({"server": "https://k8s", "certificate": PEM}, "neither a token"),
            ({"server": "https://k8s", "token": "t", "insecure": True}, "insecure"),
            ({"server": "https://k8s", "token": "t", "ca": "bogus!"}, "ca is neither PEM"),
            ([], "JSON object|Expected `object`"),
            (kubeconfig("cluster", **{"insecure-skip-tls-verify": True}), "TLS is always verified"),
            (kubeconfig("cluster", **{"certificate-authority": "/ca.pem", "certificate-authority-data": None}), "--flatten"),
            (kubeconfig("user", token=None), "neither a token nor a client certificate"),
            (kubeconfig("user", token=None, exec={"command": "aws"}), "by the program aws, .* never run; the access `eks`"),
            (
                kubeconfig("user", token=None, exec={"command": "/opt/bin/kubelogin"}),
                "by the program kubelogin, .* a service acc",
            ),
            (kubeconfig("user", token=None, **{"auth-provider": {"name": "oidc"}}), "by the program oidc, "),
            (kubeconfig("user", token=None, exec="aws"), "neither a token nor a client certificate"),
            (KUBECONFIG | {"current-context": "other"}, "current-context"),
            (KUBECONFIG | {"users": []}, "names a user that users has not"),
            (KUBECONFIG | {"clusters": ["prod"]}, "clusters is no list of named entries"),
            (KUBECONFIG | {"clusters": "prod"}, r"Expected `array \| null`, got `str` - at `\$.clusters`"),
            (KUBECONFIG | {"clusters": [{"name": "prod", "cluster": "x"}]}, "clusters, prod: cluster is no object"),
            (
                KUBECONFIG | {"contexts": [{"name": "prod", "context": {"cluster": ["prod"], "user": "spillway"}}]},
                r"contexts, prod: Expected `str`, got `array` - at `\$.cluster`",
            ),
            (KUBECONFIG | {"contexts": [{"name": "prod", "context": ["prod"]}]}, "contexts, prod: Expected `object`"),
            (KUBECONFIG | {"current-context": ["prod"]}, "Expected `str"),
            (kubeconfig("cluster", server=5), r"clusters, prod: Expected `str`, got `int` - at `\$.server`"),
            (kubeconfig("cluster", server=None), "missing required field `server`"),
            (kubeconfig("cluster", **{"proxy-url": 5}), "proxy-url"),
            (kubeconfig("cluster", **{"certificate-authority-date": "x"}), "unknown field `certificate-authority-date`"),
            (kubeconfig("user", token=12345), r"users, spillway: Expected `str \| null`, got `int` - at `\$.token`"),
            (kubeconfig("user", **{"as": "jane"}), "users, spillway: as is set: nobody is impersonated"),
            (kubeconfig("user", **{"as-uid": "7"}), "as-uid is set: nobody is impersonated"),
            (kubeconfig("user", **{"as-groups": ["ops"]}), "as-groups is set: nobody is impersonated"),
            (kubeconfig("user", **{"as-user-extra": {"a": ["b"]}}), "as-user-extra is set: nobody is impersonated"),
            (kubeconfig("user", token=None, username="u", password="p"), "(username|password) is set: no API server takes"),
            (kubeconfig("user", **{"impersonate": "jane"}), "unknown field `impersonate`"),
        ],
    )
    def test_what_is_wrong_with_it_is_named(self, document: Any, problem: str):
        with pytest.raises(AccessError, match=problem):
            access(given(document))

    def test_what_changes_nothing_may_stand_in_it(self):
        also = {"insecure-skip-tls-verify": False, "disable-compression": True, "extensions": [{"name": "minikube"}]}
        document = kubeconfig("cluster", **also, **{"tls-server-name": "k8s.test"})
        document["contexts"][0]["context"] |= {"namespace": "prod", "extensions": []}
        document["users"].append({"name": "odd", "user": {"as": "jane"}})  # of no context of ours
        assert access(given(document)).tls_server_name == "k8s.test"

    @pytest.mark.parametrize("form", ["", "kubeconfig", "json:{", "json:", "file:/nowhere/at/all"])
    def test_a_form_that_is_none_says_what_forms_there_are(self, form: str):
        with pytest.raises(AccessError, match=r"docs/cluster-access\.md has the forms"):
            access(replace(ENV, access=form))

    @pytest.mark.parametrize("place", ["document", "kubeconfig", "token file"])
    def test_a_token_is_taken_without_the_end_of_its_line(self, tmp_path: Path, place: str):
        assert access(with_token(" s3cret\r\n", place, tmp_path)).token == "s3cret"

    @pytest.mark.feature("CS-14")
    @pytest.mark.parametrize("place", ["document", "kubeconfig", "token file"])
    @pytest.mark.parametrize("token", ["s3c\nret", "s3c ret", "s3c\u2019ret", "s3c\x00ret", "s3c\u00e4ret"])
    def test_what_can_be_no_token_is_told_without_showing_it(self, tmp_path: Path, place: str, token: str):
        """Such a one would fail in a header, with a text and a traceback that hold it."""
        with pytest.raises(AccessError, match="token holds a space, a line's end or a letter") as caught:
            access(with_token(token, place, tmp_path))
        assert "s3c" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize("name", ["config", "token"])
    def test_a_file_that_is_no_text_is_told_without_showing_it(self, tmp_path: Path, name: str):
        form = with_token("t", "token file", tmp_path)
        (tmp_path / name).write_bytes(b"s3cret\xff")
        with pytest.raises(AccessError, match="cannot be read") as caught:
            access(form)
        assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)

    def test_an_error_never_shows_a_secret(self):
        with pytest.raises(AccessError) as caught:
            access(given({"server": "https://k8s", "token": "s3cret", "ca": "s3cret"}))
        assert "s3cret" not in str(caught.value)
