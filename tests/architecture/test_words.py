"""Classes and modules are named in the field's words, and none of the private ones that those replaced."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from tests.architecture.source_tree import PACKAGES, ROOT, python_files, tree_of

PRIVATE = re.compile(
    r"looks?|sight|owed\w*|desk|shel(f|ves)|hearing|bearing|strike|near|plant|keeper|\w*means|wish|giving_back|"
    r"givenback|\w*patience|missingmeans|outcomemeans",
    re.IGNORECASE,
)
"""Words that nobody of Kubernetes, NATS or machine learning would guess."""
ONE_MEANING = (
    *(
        "Effect",
        "Candidate",
        "Snapshot",
        "Interval",
        "Sample",
        "Place",
        "Stage",
        "Situation",
        "Verdict",
        "Standing",
    ),
    "Side",
)
"""Words that each named several things."""


def _classes() -> dict[str, list[str]]:
    """Return the files of each class, by its name."""
    found = defaultdict(list)
    for path in python_files(*PACKAGES):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_no_class_or_module_has_a_private_name() -> None:
    """A word that was replaced does not come back as the name of a class or module."""
    names = {name.strip("_") for name in _classes()} | {
        path.stem for path in python_files(*PACKAGES)
    }
    assert sorted(name for name in names if PRIVATE.fullmatch(name)) == []


def test_words_that_had_several_meanings_have_one() -> None:
    """Whoever reads Effect or Snapshot need not look up where it comes from."""
    classes = _classes()
    assert {name: classes[name] for name in ONE_MEANING if len(classes.get(name, [])) > 1} == {}
