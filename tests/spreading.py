"""Which worker runs which test: whole files, so that fixtures of a file are made once, but single
tests of the files whose tests are long and share nothing.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

SPREAD = (
    "tests/simulation/test_planted_defects.py",
    "tests/simulation/test_seeds.py",
    "tests/faults/test_real_faults.py",
    "tests/e2e/test_real_stack.py",
    "tests/e2e/test_replaced.py",
    "tests/traps/test_traps.py",
    "twin/tests/kubectl/test_behaviour.py",
)


class ByFile(LoadScopeScheduling):
    """Gives workers files, and single tests of spread ones, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        """Return what is never divided: the file, or a single test of a spread one."""
        file = nodeid.partition("::")[0]
        return nodeid if file in SPREAD else file
