"""`python -m scripts.run_tuning_session_k8s`: `foresail session run`, under the name of the predecessors' guide."""

from __future__ import annotations

import sys

from foresail.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["session", "run", "--engine", "kubernetes", *sys.argv[1:]]))
