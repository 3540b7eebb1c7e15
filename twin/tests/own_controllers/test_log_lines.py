"""What may stand in a program's log on a twin: only what was seen in it on a real server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs.real_programs import log_lines
from proofs.real_programs.log_lines import allowed_of, complaints, known_lines, tally

PROGRAMS = {"kube-scheduler", "kube-controller-manager", "cluster-autoscaler", "karpenter", "kueue"}


@pytest.mark.parametrize("row", known_lines(), ids=lambda row: f"{row.program} {row.pattern}"[:60])
def test_an_allowed_line_was_seen_on_a_real_server(row: log_lines.KnownLine) -> None:
    """Or says that it has still to be: what the twin alone provokes is a defect of the twin."""
    assert (row.real >= 1) != row.reason.startswith("not seen yet: ")
    assert row.program in PROGRAMS
    assert re.compile(row.pattern)
    assert row.reason


def test_a_complaint_without_evidence_is_named(tmp_path: Path) -> None:
    """Lines of level error alone, in klog's form and as JSON; what is known is counted."""
    log = tmp_path / "log"
    lines = (
        "I1123 09:00:00.000000 1 a.go:1] fine",
        "E1123 09:00:00.000000 1 a.go:1] The manifest file is empty, ignoring.",
        "E1123 09:00:00.000000 1 a.go:1] never heard of",
        '{"level":"error","msg":"nor of this"}',
    )
    log.write_text("\n".join(lines), encoding="utf-8")
    allowed = allowed_of("kube-scheduler")
    assert complaints(log, allowed) == [lines[2], lines[3]]
    assert tally([log], allowed) == {"manifest file is empty": 1}


def test_evidence_that_is_not_complete_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By file and line, with what it needs."""
    file = tmp_path / "rows.tsv"
    file.write_text("# a comment\nkueue\tonly a pattern\n", encoding="utf-8")
    monkeypatch.setattr(log_lines, "_TABLE", file)
    with pytest.raises(ValueError, match=r"rows\.tsv:2: give program, version, pattern"):
        known_lines()
