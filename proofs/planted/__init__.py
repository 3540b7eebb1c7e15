"""Planted defects: small careless changes to copies of the tree, each noticed by the test named for it.

`prove` first runs every named test on an unchanged copy, where all must pass, then plants one defect
after the other. The lists stand beside this file, one per part of the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from rich.progress import track

from proofs.planted.approving import APPROVING
from proofs.planted.breakers import BREAKERS
from proofs.planted.decisions import DECISIONS
from proofs.planted.defect import Defect, DefectResult, copy_tree, run_tests, try_defect
from proofs.planted.execution import EXECUTION
from proofs.planted.experiments import EXPERIMENTS
from proofs.planted.explanations import EXPLANATIONS
from proofs.planted.fence import FENCE
from proofs.planted.forecast import FORECAST
from proofs.planted.guard_rails import GUARD_RAILS
from proofs.planted.health import HEALTH
from proofs.planted.leading import LEADING
from proofs.planted.left_behind import LEFT_BEHIND
from proofs.planted.live import LIVE
from proofs.planted.log import LOG
from proofs.planted.machines import MACHINES
from proofs.planted.means import MEANS
from proofs.planted.node_agent import NODE_AGENT
from proofs.planted.observability import OBSERVABILITY
from proofs.planted.promotion import PROMOTION
from proofs.planted.readers import READERS
from proofs.planted.recorder import RECORDER
from proofs.planted.recordings import RECORDINGS
from proofs.planted.safety import SAFETY
from proofs.planted.score import SCORE
from proofs.planted.several import SEVERAL
from proofs.planted.supervision import SUPERVISION
from proofs.planted.switchback import SWITCHBACK
from proofs.planted.twin import TWIN
from proofs.planted.undoing import UNDOING
from proofs.planted.watching import WATCHING
from proofs.results import Results, fingerprint
from proofs.row import Row, Scale

REPOSITORY = Path(__file__).resolve().parents[2]
TRIED = (
    "schemas",
    "projections",
    "bus",
    "features",
    "services",
    "twin",
    "lab",
    "foresail",
    "proofs",
    "tests",
    "deploy",
    "benchmarks",
)
"""Folders whose Python files decide what is noticed."""
LONGEST_RUN_SECONDS = 3_600.0
"""What all named tests together may take without a defect."""
DEFECTS: tuple[Defect, ...] = (
    *DECISIONS,
    *WATCHING,
    *EXECUTION,
    *MEANS,
    *EXPERIMENTS,
    *EXPLANATIONS,
    *FENCE,
    *FORECAST,
    *GUARD_RAILS,
    *HEALTH,
    *LEADING,
    *LEFT_BEHIND,
    *LIVE,
    *LOG,
    *MACHINES,
    *NODE_AGENT,
    *OBSERVABILITY,
    *PROMOTION,
    *READERS,
    *RECORDER,
    *RECORDINGS,
    *SAFETY,
    *SCORE,
    *SEVERAL,
    *SUPERVISION,
    *APPROVING,
    *BREAKERS,
    *SWITCHBACK,
    *TWIN,
    *UNDOING,
)


def prove(scale: Scale) -> Iterator[Row]:
    """Plant every defect, `scale.jobs` at the same time, each job in a copy of its own.

    Raises:
        InputError: the kept results are of other code.
    """
    results = Results.open(scale.results, "planted", fingerprint(TRIED))
    with TemporaryDirectory(prefix="planted-") as folder, ThreadPoolExecutor(scale.jobs) as pool:
        trees = [Path(folder) / str(number) for number in range(scale.jobs)]
        for tree in trees:
            copy_tree(REPOSITORY, tree)
        yield _without_a_defect(trees[0])
        missing = [defect for defect in DEFECTS if defect.name not in results.found]
        free: SimpleQueue[Path] = SimpleQueue()
        for tree in trees:
            free.put(tree)
        trying = [pool.submit(_try, defect, free) for defect in missing]
        done = track(as_completed(trying), "planted defects", total=len(trying), transient=True)
        for future in done:
            tried = future.result()
            value = {"noticed": tried.noticed, "detail": tried.detail}
            results.add(tried.defect.name, value)
    missed = [defect for defect in DEFECTS if not results.found[defect.name]["noticed"]]
    for defect in missed:
        yield Row("planted", defect.name, 1, 0, results.found[defect.name]["detail"])
    count = len(DEFECTS)
    yield Row("planted", "defects noticed by the test named for it", count, count - len(missed))


def _without_a_defect(tree: Path) -> Row:
    """Run every named test on an unchanged copy; a parametrised test as a whole."""
    tests = sorted({defect.test for defect in DEFECTS})
    code, output = run_tests(tree, tests, seconds=LONGEST_RUN_SECONDS)
    last = (output.strip().splitlines() or ["it printed nothing"])[-1]
    return Row("planted", "named tests pass without a defect", 1, int(code == 0), last)


def _try(defect: Defect, free: SimpleQueue[Path]) -> DefectResult:
    tree = free.get()
    try:
        return try_defect(tree, defect)
    finally:
        free.put(tree)
