"""Planted defects: small careless changes to copies of the tree, each noticed by the test named for it.

`prove` first runs every named test on an unchanged copy, where all must pass, then plants one defect
after the other. The lists stand beside this file, one per part of the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.progress import track

from proofs.planted.decisions import DECISIONS
from proofs.planted.defect import Defect, copy_tree, run_tests, try_defect
from proofs.planted.execution import EXECUTION
from proofs.planted.forecast import FORECAST
from proofs.planted.guard_rails import GUARD_RAILS
from proofs.planted.log import LOG
from proofs.planted.observability import OBSERVABILITY
from proofs.planted.readers import READERS
from proofs.planted.recordings import RECORDINGS
from proofs.planted.safety import SAFETY
from proofs.planted.supervision import SUPERVISION
from proofs.planted.twin import TWIN
from proofs.planted.twin_rules import TWIN_RULES
from proofs.row import Row, Scale

REPOSITORY = Path(__file__).resolve().parents[2]
DEFECTS: tuple[Defect, ...] = (
    *DECISIONS,
    *EXECUTION,
    *FORECAST,
    *GUARD_RAILS,
    *LOG,
    *OBSERVABILITY,
    *READERS,
    *RECORDINGS,
    *SAFETY,
    *SUPERVISION,
    *TWIN,
    *TWIN_RULES,
)


def prove(scale: Scale) -> Iterator[Row]:
    """Plant every defect; the scale changes nothing."""
    del scale
    with TemporaryDirectory(prefix="planted-") as folder:
        tree = Path(folder)
        copy_tree(REPOSITORY, tree)
        tests = sorted({one.test for one in DEFECTS})
        code, output = run_tests(tree, tests)
        last = output.strip().splitlines()[-1]
        yield Row("planted", "named tests pass without a defect", 1, int(code == 0), last)
        for defect in track(DEFECTS, "planted defects", transient=True):
            tried = try_defect(tree, defect)
            yield Row("planted", defect.name, 1, int(tried.noticed), tried.detail)
