"""Who may ask the API server of a plane: one static token each, the kubeconfig of its administrator, and its keys."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from spillway.clock import utcnow
from spillway_local.kube_api.access import GROUPS

SCHEDULER = "scheduler"
_GROUPS = {"admin": "system:masters", SCHEDULER: "schedulers", **GROUPS}


def write_tokens(file: Path) -> dict[str, str]:
    """The file for --token-auth-file; gives the token of each user."""
    tokens = {user: secrets.token_hex(16) for user in _GROUPS}
    file.write_text("".join(f'{token},{user},{user},"{_GROUPS[user]}"\n' for user, token in tokens.items()))
    return tokens


def write_key(file: Path) -> rsa.RSAPrivateKey:
    """What the server signs service accounts' tokens with; it does not start without."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    file.write_bytes(key.private_bytes(*form))
    return key


def write_authority(certificate: Path, key_file: Path) -> None:
    """Of clients' certificates: the server believes it, and the controller manager signs requests with it."""
    key = write_key(key_file)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clients")])
    start = utcnow() - timedelta(hours=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))


def write_kubeconfig(file: Path, url: str, ca_file: Path, tokens: Mapping[str, str]) -> None:
    """One context for each user, the first the current one: `kubectl --context spillway …`."""
    document = {
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(tokens)),
        "clusters": [{"name": "plane", "cluster": {"server": url, "certificate-authority": str(ca_file)}}],
        "users": [{"name": user, "user": {"token": token}} for user, token in tokens.items()],
        "contexts": [{"name": user, "context": {"cluster": "plane", "user": user}} for user in tokens],
    }  # fmt: skip
    file.write_text(yaml.safe_dump(document))
