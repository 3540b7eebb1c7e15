"""`python -m scripts.run_k8s_tuning_pipeline`: `foresail session pipeline`, under the name of the guide."""

from __future__ import annotations

import sys

from foresail.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["session", "pipeline", *sys.argv[1:]]))
