"""`python -m spillway_local.control_plane build`: have the programs ready; `… run`: a plane until Ctrl-C, for kubectl."""

import argparse
import sys
import threading

from spillway_local.control_plane import DISRUPTION, WORKLOADS, ControlPlane
from spillway_local.control_plane.binaries import NoControlPlane, find


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m spillway_local.control_plane", description=__doc__)
    parser.add_argument("verb", choices=("build", "run"))
    parser.add_argument("--workloads", action="store_true", help="also run the controllers that make and replace pods")
    arguments = parser.parse_args()
    try:
        binaries = find(lambda text: print(text, flush=True))
    except NoControlPlane as problem:
        print(f"spillway: {problem}", file=sys.stderr)
        return 1
    if arguments.verb == "build":
        return 0
    with ControlPlane(WORKLOADS if arguments.workloads else DISRUPTION, binaries) as plane:
        print(f"Kubernetes of {binaries.source}\nexport KUBECONFIG={plane.kubeconfig}\nlogs in {plane.folder}; Ctrl-C ends it")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("ending")
    return 0


if __name__ == "__main__":
    sys.exit(main())
