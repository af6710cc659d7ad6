"""`python -m spillway_local.demo`: the demo, and what happens when somebody has seen enough of it."""

import signal
import sys
from types import FrameType


def interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C comes twice, from the terminal and from whoever started us: a second one must not stop the tidying up."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Python tells of one that is on its way to SIG_IGN as an error
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    try:
        from spillway_local.demo.tell import main

        sys.exit(main())
    except KeyboardInterrupt:
        print("Interrupted; nothing is left behind.")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Python's own end would let the next one kill us
        sys.exit(130)
