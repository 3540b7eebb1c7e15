"""A long proof that was interrupted goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import proofs.faults
from proofs.faults import resume_or_run
from proofs.faults.verdict import LogVerdict
from proofs.results import Results
from proofs.row import ProofSize


def test_what_is_finished_is_not_tried_again(tmp_path: Path) -> None:
    """A second call finds what the first has found; other keys are tried."""
    calls: list[str] = []

    def run() -> dict[str, int]:
        calls.append("run")
        return {"held": 20}

    first = Results.open(tmp_path, "faults", "code")
    resume_or_run(first, "a", run)
    again = Results.open(tmp_path, "faults", "code")

    assert {"held": 20} == resume_or_run(again, "a", run) == resume_or_run(again, "b", run)
    assert 2 == len(calls)


def test_an_interrupted_run_of_kills_counts_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call is interrupted in its third stack; the second tries that one and the rest, and
    its row counts every kill, the one stack that failed included.
    """
    tried: list[int] = []

    async def session(_folder: Path, seed: int, count: int, *, brutal: bool) -> LogVerdict:
        del brutal
        tried.append(seed)
        if tried == [5_000, 5_001, 5_002]:
            raise KeyboardInterrupt
        verdict = LogVerdict("again", faults=["referee"] * count)
        verdict.log.events = 100
        if seed == 5_001:
            verdict.problems.append("lost")
        return verdict

    monkeypatch.setattr(proofs.faults.kills, "session", session)
    scale = ProofSize(1, 70, 1.0, seed=5, results=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        next(proofs.faults.prove(scale))
    row = next(proofs.faults.prove(scale))

    assert [5_000, 5_001, 5_002, 5_002, 5_003] == tried
    assert (70, 50) == (row.tried, row.held)
    assert row.detail.startswith("lost; faults: ")
