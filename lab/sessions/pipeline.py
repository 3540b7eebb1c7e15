"""The predecessors' meta-pipeline over one folder of jobs: plan, validate, run, health, history, alerts.

Pure but for the history file: what runs the jobs and who is told are arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from bus.errors import InputError
from projections.session_state import SessionState

Health = Literal["OK", "WARN", "ERROR"]
ERROR_RATIO = 0.5
"""Share of jobs that did not succeed from which on health is ERROR; below, any one is WARN."""
Mode = Literal["dry_run", "apply", "full_alerts"]


@dataclass(slots=True)
class PipelineResult:
    """The fields of the predecessors' D36 result."""

    mode: Mode
    generated_jobs: int = 0
    validated_jobs: int = 0
    applied_jobs: int = 0
    health_status: Health = "OK"
    incidents_sent: int = 0
    history_appended: bool = False
    exit_code: int = 0
    steps: list[str] = field(default_factory=list)
    """What was done, in order."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def health_of(
    state: SessionState | None, generated: int, validated: int
) -> tuple[Health, list[str]]:
    """Return how a run went, and an incident for each kind of trouble.

    Args:
        state: the session at its end; None: nothing was run.
        generated: jobs that were planned.
        validated: of them those that could be run.
    """
    incidents = []
    if validated < generated:
        incidents.append(f"{generated - validated} of {generated} jobs are invalid")
    failed = 0
    if state is not None:
        for name in ("failed", "timed-out", "unsubmitted", "cancelled"):
            count = state.counts[name]
            failed += count
            if count:
                first = next(one for one in state.failures() if one.state == name)
                incidents.append(f"{count} {name}; the first: {first.job_id}: {first.why}")
    bad = failed + generated - validated
    if bad == 0:
        return "OK", []
    return ("ERROR" if bad >= ERROR_RATIO * generated else "WARN"), incidents


def exit_code_of(health: Health, *, strict: bool) -> int:
    """Return 0 for OK, 1 for ERROR, and for WARN 1 only where health is `strict`."""
    return 0 if health == "OK" or (health == "WARN" and not strict) else 1


def append_history(path: Path, entry: dict[str, Any]) -> None:
    """Add a line to the history; raises InputError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    except OSError as error:
        remedy = f"give a file that can be written ({error.strerror})"
        raise InputError("--history-file", path, remedy) from error


def read_history(path: Path, most: int) -> list[dict[str, Any]]:
    """Return the newest entries of a history, oldest first; a line that was cut off is passed over."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    entries = []
    for line in lines[-most:] if most > 0 else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def send_incidents(incidents: Sequence[str], send: Callable[[str], bool]) -> int:
    """Send each incident; return how many were taken."""
    return sum(send(incident) for incident in incidents)
