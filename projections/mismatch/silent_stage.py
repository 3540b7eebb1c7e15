"""A stage of a run that began, and of whose samples nothing has come: what no event can say, since none comes."""

from __future__ import annotations

from projections.figures import duration

PATIENCE_SECONDS = 30.0
"""Wall seconds that processes may take to start on a busy machine before their silence is worth a warning."""


def silent_stage_text(
    stage: str, begun_seconds_ago: float, observed_seconds_ago: float | None
) -> str | None:
    """Return the warning; None where observations came since the stage began, or it is young."""
    silent = observed_seconds_ago is None or observed_seconds_ago > begun_seconds_ago
    if not silent or begun_seconds_ago < PATIENCE_SECONDS:
        return None
    return (
        f"stage {stage} began {duration(begun_seconds_ago)} ago and not one observation of the cluster has come since: "
        "look at the collector's errors (`foresail tap 'run.error.>'`)"
    )
