"""`python -m scripts.plan_tuning_session`: `foresail session plan`, under the name of the predecessors' guide."""

from __future__ import annotations

import sys

from foresail.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["session", "plan", *sys.argv[1:]]))
