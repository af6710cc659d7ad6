"""A dump keeps of user data what it tells the kubelet: it reads the same, and nothing else is left in it."""

import base64

import pytest

from spillway.aws import user_data
from spillway_local.user_data import told
from tests.functions.test_snapshot_templates import BOOTSTRAP, BOTTLEROCKET, NODEADM

RAID = NODEADM.replace("spec:\n", "spec:\n  instance: {localStorage: {strategy: RAID0}}\n")
PAGES = "#!/bin/sh\necho vm.nr_hugepages = 256 > /etc/sysctl.d/pages.conf\n"


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("text", [NODEADM, RAID, BOOTSTRAP, BOOTSTRAP + " --local-disks raid0", BOTTLEROCKET, PAGES])
def test_it_reads_the_same(text: str) -> None:
    kept = told(packed(text + "\n# hunter2"))

    assert kept is not None
    assert user_data.read(kept) == user_data.read(packed(text))
    assert "hunter2" not in base64.b64decode(kept).decode()
    assert "hello" not in base64.b64decode(kept).decode()


@pytest.mark.parametrize("text", ["", "#!/bin/sh\necho hunter2", "[settings.kubernetes]\nmax-pods = many"])
def test_of_what_tells_or_reads_nothing_nothing_is_kept(text: str) -> None:
    assert told(packed(text)) is None
