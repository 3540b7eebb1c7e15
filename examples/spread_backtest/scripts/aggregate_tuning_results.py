"""`python -m scripts.aggregate_tuning_results`: `foresail session aggregate`, under the guide's own name."""

from __future__ import annotations

import sys

from foresail.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["session", "aggregate", *sys.argv[1:]]))
