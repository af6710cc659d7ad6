"""A function's cold start, the child's side: `python -m bench.first_answer FUNCTION NOW`, the event on standard input.

The last line on standard output says when the handler answered, on the clock that all processes share
(time.monotonic), what it answered, and whether it took the Kubernetes client in.
"""

import importlib.util
import json
import sys
import time
from datetime import datetime
from pathlib import Path


def main() -> None:
    function, now = sys.argv[1], datetime.fromisoformat(sys.argv[2])
    event = json.loads(sys.stdin.read())
    app = Path(__file__).resolve().parent.parent / "functions" / function / "app.py"
    spec = importlib.util.spec_from_file_location("app", app)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    from spillway import clock  # every handler has it by now

    clock.utcnow = lambda: now  # the world's time, in which plans and leases are not out of date
    answer = module.handler(event, None)
    print("\n" + json.dumps({"at": time.monotonic(), "kubernetes": "kubernetes" in sys.modules, "answer": answer}))


if __name__ == "__main__":
    main()
