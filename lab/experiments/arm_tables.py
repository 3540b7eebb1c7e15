"""The report's tables of arms beside the tests: waiting over time, who bears it, what an arm is like by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from lab.experiments.by_arm import MEASURES, ArmFacts, PayerChange
from lab.experiments.metrics import BY_ITSELF
from lab.experiments.pressure import Lane
from lab.experiments.report import PROGRAMS, Report
from lab.experiments.section import Section, Table
from lab.experiments.wording import amount, metric_name, unit_of
from projections.figures import known_number, number, percent, signed_text

BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
SPARK_COLUMNS = 60
MOST_PAYERS = 40
PAYER_COLUMNS = {
    "waiting_pod_hours": "waiting, pod h",
    "held_pod_hours": "held, pod h",
    "removed_pod_hours": "removed, pod h",
    "evictions": "evicted, pods",
    "jobs_dropped": "dropped, jobs",
}


def pressure_sections(report: Report) -> Iterable[Section]:
    """Yield for each workload the arms' waiting pods over time, on one scale."""
    known = [lane for lane in report.lanes if lane.seconds]
    for place, (workload, group) in enumerate(groupby(known, lambda lane: lane.workload)):
        of_workload = list(group)
        most = max(max(lane.middle) for lane in of_workload)
        rows = tuple(
            (
                lane.arm, str(lane.seeds), spark(lane.middle, most), known_number(max(lane.middle)),
                known_number(max(lane.high)), known_number(math.fsum(lane.middle) / len(lane.middle)),
            )
            for lane in of_workload
        )  # fmt: skip
        hours = number(max(_last(lane) for lane in of_workload) / 3_600.0)
        columns = (
            "arm", "seeds", f"{hours} h from left to right", "most, median seed", "most, any seed", "mean, median seed",
        )  # fmt: skip
        about = (
            "Pods without a node over the hours that count: the median over seeds. All arms of a workload have one "
            "scale, so a lane that is higher is a cluster whose users wait more."
        )
        yield Section("pressure", f"Pressure: {workload}", about, Table(columns, rows), place=place)


def _last(lane: Lane) -> float:
    return lane.seconds[-1]


def spark(values: Sequence[float], most: float, columns: int = SPARK_COLUMNS) -> str:
    """Return values as blocks, `most` being a full one; neighbours share a column, which shows their highest."""
    if most <= 0.0:
        return BLOCKS[1] * min(columns, len(values))
    group = max(1, math.ceil(len(values) / columns))
    highest = [max(values[first : first + group]) for first in range(0, len(values), group)]
    return "".join(BLOCKS[1 + round((len(BLOCKS) - 2) * value / most)] for value in highest)


def payers_section(report: Report) -> Section | None:
    """Return who bears more or less under each arm than under the reference."""
    changes = report.payers
    if not changes:
        return None
    rows = [_payer_row(one) for one in changes[:MOST_PAYERS]]
    if len(changes) > MOST_PAYERS:
        rest = f"and {number(len(changes) - MOST_PAYERS)} more"
        rows.append((rest, *[""] * (2 + len(MEASURES))))
    columns = ("arm", "workload", "who", *(PAYER_COLUMNS[name] for name in MEASURES))
    about = (
        f"What those who asked for pods bear in the mean world, more or less than under {report.analysis.reference}: "
        "by namespace, kind and PriorityClass. An arm that helps on the whole may do so at the cost of one of them."
    )
    return Section("payers", "Who pays", about, Table(columns, tuple(rows), 3))


def _payer_row(one: PayerChange) -> tuple[str, ...]:
    return (one.arm, one.workload, one.payer, *(signed_text(one.more[name]) for name in MEASURES))


def arms_section(report: Report) -> Section | None:
    """Return what every arm is like by itself."""
    if not report.arms:
        return None
    names = [
        name for name in BY_ITSELF if any(not math.isnan(one.means[name]) for one in report.arms)
    ]
    rows = tuple(_arm_row(one, names) for one in report.arms)
    columns = (
        "arm", "trials", *(metric_name(name) for name in names), "controller's CPU for a cluster hour",
        "CPU of a trial",
    )  # fmt: skip
    about = (
        "Means over the trials that have it; not compared, since many arms have none. The controller is what decides "
        "and acts (inference, agents, referee, executor). Processor time is of the machine that played the trials."
    )
    return Section("arms", "Arms by themselves", about, Table(columns, rows))


def _arm_row(one: ArmFacts, names: Sequence[str]) -> tuple[str, ...]:
    means = (amount(one.means[name], unit_of(name)) for name in names)
    spent = (amount(value, "s") for value in (one.controller_cpu_seconds, one.cpu_seconds))
    return (one.arm, str(one.trials), *means, *spent)


def agreement_section(report: Report) -> Section | None:
    """Return how well what runs for built-in arms agrees with the real programs."""
    rows = tuple(
        (
            PROGRAMS[one.program], ", ".join(one.arms),
            *((str(one.measured.rows), str(one.measured.holding), percent(one.measured.holding / one.measured.rows))
              if one.measured is not None and one.measured.rows else ("-", "-", "-")),
        )
        for one in report.agreement
    )  # fmt: skip
    columns = ("run by", "arms", "rows measured", "that hold", "share")
    about = (
        "Arms with HPA, VPA or a node autoscaler are run by this repository's own programs. The same scenarios were "
        "played by the real ones and recorded; docs/fidelity.md has every row and what does not hold."
    )
    table = Table(columns, rows, 2)
    return Section("agreement", "Agreement with the real programs", about, table) if rows else None
