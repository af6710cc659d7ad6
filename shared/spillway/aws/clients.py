"""AWS clients, made at first use and kept for the life of the process, and their errors as ours.

Retries: botocore's `standard` mode (exponential, full jitter, a quota for retries), five attempts. `adaptive`
is not used: its client-side limiter blocks all threads of a client, in a function that is paid by time.
Source: botocore, docs/source/guide/retries and botocore.config.Config.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import CredentialProvider, CredentialResolver, Credentials
from botocore.exceptions import BotoCoreError, ClientError

from spillway.errors import AwsForbidden, AwsUnavailable

VERSION = "0.1.0"  # of pyproject.toml; the layer holds no package metadata to read it from

_PREFIXES = {"service-quotas": "servicequotas"}  # IAM's name of a service, where boto3's is another

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedAccess"})

FLEET = frozenset({"autoscaling", "cloudwatch", "ec2", "eks", "resource-groups", "service-quotas"})
"""Services that are asked about groups and what belongs to them, so in the account of the fleet."""

_clients: dict[tuple[str, str, str], Any] = {}  # by the role that asks, service and region
_lock = Lock()  # clients are safe to share between threads, making them is not (boto3, guide/clients)
_roles: dict[str, boto3.Session] = {}
_fleet_role = ""


def act_as(role: str, credentials: Callable[[], Credentials]) -> None:
    """Has the fleet's services asked as `role`, whose `credentials` renew themselves; "": as ourselves."""
    global _fleet_role
    with _lock:
        if role and role not in _roles:
            session = botocore.session.get_session()
            session.register_component("credential_provider", CredentialResolver([_Provider(credentials)]))
            _roles[role] = boto3.Session(botocore_session=session)
        _fleet_role = role


class _Provider(CredentialProvider):
    METHOD = "fleet-role"

    def __init__(self, credentials: Callable[[], Credentials]) -> None:
        self._credentials = credentials

    def load(self) -> Credentials:
        return self._credentials()


def client(service: str, region: str, credentials: Credentials | None = None, fleet: bool = False) -> Any:
    """The one client of `service` in `region`, as in `client("autoscaling", "us-east-1")`; `fleet`: in the fleet's account.

    With `credentials` that are not our own a new one, which is not kept, as they end.
    """
    if credentials:
        with _lock:
            return boto3.client(  # type: ignore[call-overload]
                service, region_name=region, config=_config(), aws_access_key_id=credentials.access_key,
                aws_secret_access_key=credentials.secret_key, aws_session_token=credentials.token,
            )  # fmt: skip
    role = _fleet_role if fleet else ""
    key = (role, service, region)
    if key not in _clients:
        with _lock:
            if key not in _clients:
                make = _roles[role].client if role else boto3.client
                _clients[key] = make(service, region_name=region, config=_config())  # type: ignore[call-overload]
    return _clients[key]


def clear() -> None:
    """Forgets all clients and roles; for tests that change credentials or endpoints."""
    with _lock:
        _clients.clear()
        _roles.clear()


def _config() -> Config:
    return Config(
        retries={"mode": "standard", "total_max_attempts": 5},
        connect_timeout=5,
        read_timeout=20,
        user_agent_extra=f"spillway/{VERSION}",
    )


def code(error: ClientError) -> str:
    """AWS's own name of the error, as in `ValidationError`."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_refused_as(error: AwsUnavailable, *names: str) -> bool:
    """Whether AWS answered one of these errors, in its own name of it."""
    return isinstance(error.__cause__, ClientError) and code(error.__cause__) in names


def is_silent(error: AwsUnavailable) -> bool:
    """Whether the service gave no answer after all attempts, or one that tells of its own trouble (5xx)."""
    cause = error.__cause__
    if isinstance(cause, ClientError):
        return int(cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= 500
    return isinstance(cause, BotoCoreError)


@contextmanager
def asking(region: str, action: str) -> Iterator[None]:
    """Turns botocore's errors into AwsForbidden and AwsUnavailable; `action` is IAM's, as in `ec2:DescribeInstances`."""
    try:
        yield
    except ClientError as error:
        message = str(error.response.get("Error", {}).get("Message", ""))
        if code(error) in DENIED:
            raise AwsForbidden(region, action, message) from error
        raise AwsUnavailable(region, action, f"{code(error)}: {message}") from error
    except BotoCoreError as error:
        raise AwsUnavailable(region, action, str(error)) from error


def action_of(service: str, region: str, operation: str) -> str:
    """IAM's name of a client method: `ec2:DescribeInstances` of `describe_instances`."""
    return f"{_PREFIXES.get(service, service)}:{client(service, region).meta.method_to_api_mapping[operation]}"


def ask(service: str, region: str, operation: str, **request: Any) -> dict[str, Any]:
    """One call; raises AwsForbidden or AwsUnavailable."""
    with asking(region, action_of(service, region, operation)):
        answer: dict[str, Any] = getattr(client(service, region, fleet=service in FLEET), operation)(**request)
        return answer


def pages(service: str, region: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
    """All pages of a call, one at a time; raises AwsForbidden or AwsUnavailable."""
    with asking(region, action_of(service, region, operation)):
        yield from client(service, region, fleet=service in FLEET).get_paginator(operation).paginate(**request)
