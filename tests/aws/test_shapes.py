"""AWS's answers are read in a thread for each region."""

import subprocess
import sys

import pytest

FIRST_AT_ONCE = """
import importlib, sys, threading
from spillway.aws import shapes

sys.setswitchinterval(1e-6)
ITEM = {
    "AutoScalingGroupName": "a", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 1,
    "Instances": [{"InstanceId": "i", "LifecycleState": "InService", "LaunchTemplate": {"Version": "1"}}],
    "MixedInstancesPolicy": {"LaunchTemplate": {"LaunchTemplateSpecification": {"Version": "1"}, "Overrides": [{}]}},
}
for _ in range(60):
    importlib.reload(shapes)
    together = threading.Barrier(8)

    def read():
        together.wait()
        shapes.read(ITEM, shapes.Group)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.feature("FS-01")
def test_regions_that_read_their_first_group_at_once_do_not_crash_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_AT_ONCE], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
