"""RS-01, from the other side: a whole burst, with a refusal and the way back down, needs nothing that a role does not allow."""

import re
import sys
from collections import defaultdict
from typing import Any

import pytest
from botocore import xform_name
from botocore.client import BaseClient

from spillway_local import iam
from spillway_local.operations import permissions
from tests.world import scene
from tests.world.test_burst import at_rest

HANDLER = re.compile(r"functions/(\w+)/app\.py$")


def caller() -> str:
    """The function whose handler is on the stack, "" for the emulated world itself."""
    frame = sys._getframe(1)
    while frame.f_back:
        if found := HANDLER.search(frame.f_code.co_filename):
            return found[1]
        frame = frame.f_back
    return ""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """IAM actions by function, as calls are made on the handler's own thread."""
    found: dict[str, set[str]] = defaultdict(set)
    call = BaseClient._make_api_call

    def noted(client: Any, operation: str, request: Any) -> Any:
        if function := caller():
            found[function].update(permissions(f"{client.meta.service_model.service_name}.{xform_name(operation)}"))
        return call(client, operation, request)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    return found


@pytest.mark.feature("RS-01")
@pytest.mark.timeout(300)
def test_a_burst_calls_nothing_that_a_role_does_not_allow(called: dict[str, set[str]]) -> None:
    with scene.world(pods=3, job_s=60) as world:
        world.run(until=world.all_pods_run, limit_s=900)
        world.run(until=lambda: world.cluster.phases() == {"Succeeded": 3}, limit_s=600)
        world.run(until=lambda: at_rest(world), limit_s=3600)

    assert {"scale_out", "verify_instances", "scale_in", "drain", "plan"} <= called.keys()  # it was a whole run
    forbidden = {function: actions - iam.granted(function) for function, actions in called.items()}
    assert not {function: sorted(actions) for function, actions in forbidden.items() if actions}
