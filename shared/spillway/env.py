"""The environment of a function, read once; a missing variable names itself."""

import os
from dataclasses import dataclass
from functools import cache

from spillway.errors import InputError


@dataclass(eq=False)
class EnvError(InputError):
    variable: str

    def __str__(self) -> str:
        return f"the environment variable {self.variable} is missing; template.yaml sets it for every function"


@dataclass(frozen=True)
class Env:
    """`regions` has the home region first. `group_names` are `region/name` of groups that no tag marks.

    `access` says how to reach the API server: `eks`, or the ARN of a secret (see aws/access.py). `cluster_role` is the ARN of
    the role in the account of the EKS cluster, `fleet_role` of that in the account of the groups, "" where that is our own.
    `watch_mode`: see docs/watch-mode.md.
    """

    cluster: str
    home_region: str
    regions: tuple[str, ...]
    table: str
    state_machine_arn: str
    access: str
    group_names: tuple[str, ...]
    cluster_role: str = ""
    watch_mode: bool = False
    fleet_role: str = ""


def _required(variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise EnvError(variable)
    return value


def _list(variable: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in os.environ.get(variable, "").split(",") if item.strip())


@cache
def env() -> Env:
    """Raises EnvError. Tests that change the environment call `env.cache_clear()`."""
    home = _required("SPILLWAY_HOME_REGION")
    others = tuple(region for region in _list("SPILLWAY_REGIONS") if region != home)
    return Env(
        cluster=_required("SPILLWAY_CLUSTER"),
        home_region=home,
        regions=(home, *others),
        table=_required("SPILLWAY_TABLE"),
        state_machine_arn=os.environ.get("SPILLWAY_STATE_MACHINE_ARN", ""),
        access=os.environ.get("SPILLWAY_ACCESS", "eks"),
        group_names=_list("SPILLWAY_GROUP_NAMES"),
        cluster_role=os.environ.get("SPILLWAY_CLUSTER_ROLE_ARN", ""),
        watch_mode=os.environ.get("SPILLWAY_WATCH_MODE", "off") == "on",
        fleet_role=os.environ.get("SPILLWAY_FLEET_ROLE_ARN", ""),
    )
