"""`python -m scripts.run_tuning_session_local`: `foresail session run`, under the name of the predecessors' guide."""

from __future__ import annotations

import sys

from foresail.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["session", "run", *sys.argv[1:]]))
