"""Each command of docs/evidence.md can be given."""

from __future__ import annotations

import re
import runpy
from importlib.util import find_spec
from typing import Any

import pytest

from foresail.verbs import verbs
from proofs.__main__ import PARTS
from tests.architecture.source_tree import ROOT

MADE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "make_evidence.py"))
COMMANDS = sorted({claim["command"] for claim in MADE["read_claims"]()})


def test_no_claim_stands_twice() -> None:
    """A claim is seen once, by its newest figure; what came before is another claim."""
    claims = [claim["claim"] + claim.get("on", "") for claim in MADE["read_claims"]()]

    assert len(claims) > 25
    assert sorted(set(claims)) == sorted(claims)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_what_exists(command: str) -> None:
    """Verb, module, part of the proofs, experiment and test folder are there."""
    paths = re.findall(r"\b(?:experiments|tests|twin)/[\w./-]+", command)
    parts = re.findall(r"PARTS=\"?(\w+)|-m proofs (\w+)", command)
    modules = re.findall(r"-m ([\w.]+)", command)
    verb = re.match(r"foresail ([a-z]+)", command)

    assert paths or parts or modules or verb
    assert [] == [path for path in paths if not (ROOT / path).exists()]
    assert {first or second for first, second in parts} <= set(PARTS)
    assert [] == [module for module in modules if find_spec(module) is None]
    assert verb is None or verb[1] in verbs()
