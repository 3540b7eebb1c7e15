"""How good risk predictions were in runs: `python -m lab.forecast.live_skill RUN.fslog [MORE.fslog ...]`.

Prints a row for each model that predicted the risk of nodes, active or as a shadow: predictions that could be scored,
those followed by a failure, expected over observed, Brier skill against the best constant in hindsight, and lift, the
rate of failures after alarms over that after all. Intervals are jackknives that leave out whole hours of a run, and
whole runs; the wider one counts. What stands in `outcome.forecast` is taken as it is; only the predicted numbers are
added up here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bus.errors import RecordingDamaged
from bus.recording import open_recording
from projections.promotion.skill import SkillInterval, interval_of, lift_of, skill_of
from projections.promotion.sums import BlockSums, GroupSums, ModelSums

HOUR_SECONDS = 3600.0
MOST_HOURS = 10_000
"""Of one run."""
CONFIDENCE = 0.95
HEAD = (
    "| model | predictions of a node | failures | expected / observed | Brier skill | alarms that hit | lift |",
    "|---|---:|---:|---:|---:|---:|---:|",
)
READ = ("prediction.risk", "prediction.shadow", "outcome.forecast")
"""In their subjects."""
Json = dict[str, Any]


def events_of(path: Path) -> Iterator[Json]:
    """Yield subject and data of a recording's risk predictions and scores; raises RecordingDamaged."""
    for message in open_recording(path):
        if any(kind in message.subject for kind in READ):
            yield {"subject": message.subject, "data": json.loads(message.data)}


def sums_of(runs: Sequence[Iterable[Json]]) -> dict[str, ModelSums]:
    """Return the sums by model of runs, each with its events in the order of a log.

    A block is an hour of a run; a group is a run, or where there is only one, an hour too.
    """
    found: dict[str, dict[int, GroupSums]] = defaultdict(dict)
    for run, events in enumerate(runs):
        for model_id, hour, score in _scores(events):
            block = run * MOST_HOURS + hour
            group = run if len(runs) > 1 else hour
            before = found[model_id].get(block, GroupSums(group=group))
            fields = {name: getattr(before, name) + value for name, value in score.items()}
            found[model_id][block] = GroupSums(group=group, **fields)
    return {
        model_id: ModelSums(
            slot=0,
            model_id=model_id,
            blocks=tuple(BlockSums(number=key, groups=(one,)) for key, one in blocks.items()),
        )
        for model_id, blocks in found.items()
    }


def _scores(events: Iterable[Json]) -> Iterator[tuple[str, int, Json]]:
    """Yield model, hour and sums of each prediction that was scored."""
    predicted: dict[tuple[str, int], dict[str, float]] = {}
    for event in events:
        data = event["data"]
        table = data.get("nodes") or data.get("risk_table")
        if isinstance(table, dict) and "risk_ratio" in table and data["status"] == "result":
            ratios = dict(zip(table["ids"], table["risk_ratio"], strict=True))
            predicted[data["model_id"], data["cycle"]] = ratios
        if "outcome.forecast" not in event["subject"]:
            continue
        scored = data.get("risk")
        mine = predicted.pop((data["model_id"], data["cycle"]), None)
        if scored is None or scored["brier"] is None or mine is None:
            continue
        uncertain = set(data["uncertain_targets"])
        expected = sum(ratio for name, ratio in mine.items() if name not in uncertain)
        hits, alarms = scored["hits"] or 0, (scored["hits"] or 0) + (scored["false_alarms"] or 0)
        targets, positives = scored["targets"], scored["positives"]
        yield (
            data["model_id"],
            int(data["cluster_time_seconds"] // HOUR_SECONDS),
            {
                "targets": targets,
                "weight": targets,
                "positives": positives,
                "failed": positives,
                "expected": expected,
                "squares": scored["brier"] * targets,
                "alarms": alarms,
                "alarmed": alarms,
                "hits": hits,
                "hit": hits,
            },
        )


def row_of(sums: ModelSums) -> str:
    """Return one row of the table."""
    counts = sums.counts
    ratio = f"{counts.expected / counts.positives:.2f}" if counts.positives else "-"
    skill, lift = (interval_of(sums, figure, CONFIDENCE) for figure in (skill_of, lift_of))
    return (
        f"| {sums.model_id} | {counts.targets:,} | {counts.positives:,} | {ratio} | {_text(skill, '+.3f')} "
        f"| {counts.hits:,} of {counts.alarms:,} | {_text(lift, '.1f')} |"
    )


def _text(one: SkillInterval, form: str) -> str:
    if one.value is None:
        return "-"
    limits = "" if one.low is None else f" ({one.low:{form}} to {one.high:{form}})"
    return f"{one.value:{form}}{limits}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code (2: a recording that cannot be read)."""
    parser = argparse.ArgumentParser(prog="python -m lab.forecast.live_skill", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="recordings")
    options = parser.parse_args(arguments)
    try:
        sums = sums_of([list(events_of(path)) for path in options.runs])
    except (RecordingDamaged, OSError) as error:
        print(f"lab.forecast.live_skill: {error}", file=sys.stderr)
        return 2
    print("\n".join((*HEAD, *map(row_of, sums.values()))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
