"""Risk of nodes at the rates of the cluster itself: what runs there, what has failed before, what will start.

The expected failures of a node within the horizon are added up over its attempts, and 1 - exp(-sum) is its risk. An
attempt whose workload has not failed is expected to fail as often as such attempts did in training at its age, times
the factor of its program on this cluster; one whose workload has failed as the booster says, times the factor of
repetition here. What starts within the horizon is expected by what started lately. See `features.live.failure_rates`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.codes import parts_of
from features.live.age_hazard import F64, age_hazard
from features.live.failure_rates import GROUNDS_SECONDS, I64, FailureRates, RowRates
from schemas.manifest import LiveRates
from schemas.prediction import ABSTAINS
from services.inference.booster import Matrix
from services.inference.grounds import is_a_group
from services.inference.risk_inputs import Rows

LETTERS: Final = ("w", "p", "o", "m", ABSTAINS)
MOST_CERTAIN: Final = 0.999
"""Probability of the booster that counts as certain, so that its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class AdaptedRows:
    """Expected failures of each row within the horizon, and what they rest on."""

    expected: F64
    """Of all pods of the row."""
    repeats: NDArray[np.bool_]
    factor: F64
    """Of first failures: the program's factor times that of what runs; of repeated ones that of repetition."""


def hazards_of(probabilities: F64) -> list[float]:
    """Return the expected failures that probabilities stand for."""
    return [-math.log1p(-min(one, MOST_CERTAIN)) for one in probabilities.tolist()]


def adapted_rows(
    rows: Rows,
    rates: FailureRates,
    rules: LiveRates,
    probabilities: F64,
    found: RowRates,
) -> AdaptedRows:
    """Return the expected failures of every row.

    Args:
        rows: what runs.
        rates: the cluster's rates at this observation.
        rules: the model's.
        probabilities: the booster's, of the rows that repeat, in their order.
        found: what the rates know of the rows.
    """
    pods = rows.pods.astype(np.float64)
    first = age_hazard(rules.ages_seconds, rules.first).within(found.ages, rules.horizon_seconds)
    factors, running = rates.factors(found.programs, rules), rates.running_factor(rules)
    by_program = np.array([factors[name] * running for name in found.programs])
    again = rates.again_factor(rules)
    factor = np.where(found.repeats, again, by_program[found.program])
    hazard = first
    if found.repeats.any():
        hazard = first.copy()
        hazard[found.repeats] = hazards_of(probabilities)
    return AdaptedRows(hazard * factor * pods, found.repeats, factor)


def node_risk(
    ids: Sequence[str], able: Mapping[str, bool], rows: Rows, adapted: AdaptedRows,
    rates: FailureRates, rules: LiveRates,
) -> dict[str, float]:  # fmt: skip
    """Return the risk of each node.

    Args:
        ids: the nodes.
        able: whether anything can start on each.
        rows: what runs, each node's rows together.
        adapted: what is expected of the rows.
        rates: the cluster's rates.
        rules: the model's.
    """
    open_nodes = [name for name in ids if able[name]]
    each = rates.of_a_start(rules) * rates.coming_factor(rules)
    starts = rates.expected_starts(open_nodes, rules)
    expected = {name: count * each for name, count in zip(open_nodes, starts, strict=True)}
    sizes = np.diff(rows.first_rows, append=len(rows.ids))
    node_of = np.repeat(np.arange(len(rows.nodes)), sizes)
    sums = np.bincount(node_of, weights=adapted.expected, minlength=len(rows.nodes))
    for name, total in zip(rows.nodes, sums.tolist(), strict=True):
        expected[name] = expected.get(name, 0.0) + total
    machine = rates.machine_rate(rules)
    return {name: -math.expm1(-machine - expected.get(name, 0.0)) for name in ids}


def node_grounds(
    rows: Rows, adapted: AdaptedRows, rates: FailureRates, owners: I64, programs: I64
) -> dict[str, str]:
    """Return the strongest ground of each node that has rows.

    `w`: a workload on it has failed; `p`, `o`: another run of a program, another workload of an owner there within the
    hour, where that is no more than a part of the cluster; `m`: something else on the machine; `-`: nothing.

    Args:
        rows: what runs.
        adapted: what is expected of it.
        rates: the cluster's.
        owners: code of each row's owner.
        programs: number of each row's program.
    """
    workloads = [parts_of(row_id)[1] for row_id in rows.ids]
    of_program = [rates.program_failed(name, GROUNDS_SECONDS) for name in workloads]
    of_owner = [rates.owner_failed(name, GROUNDS_SECONDS) for name in workloads]
    sizes = np.diff(rows.first_rows, append=len(rows.ids))
    on_machine = [rates.has_failed(f"machine:{node}", GROUNDS_SECONDS) for node in rows.nodes]
    letters = np.full(len(rows.ids), len(LETTERS) - 1, dtype=np.int64)
    for number, speaks in (
        (3, np.repeat(np.array(on_machine, dtype=np.bool_), sizes)),
        (2, np.array(of_owner, dtype=np.bool_) & is_a_group(owners, rows.pods)),
        (1, np.array(of_program, dtype=np.bool_) & is_a_group(programs, rows.pods)),
        (0, adapted.repeats),
    ):
        letters[speaks] = number
    if not len(letters):
        return {}
    strongest = np.minimum.reduceat(letters, rows.first_rows)
    return {
        node: LETTERS[number] for node, number in zip(rows.nodes, strongest.tolist(), strict=True)
    }


def adapted_hash(rows: Rows, adapted: AdaptedRows, matrix: Matrix) -> str:
    """Return the SHA-256 of what the prediction was made from."""
    digest = hashlib.sha256("\n".join(rows.ids).encode())
    digest.update(np.ascontiguousarray(adapted.expected, dtype="<f8").data)
    digest.update(np.ascontiguousarray(matrix, dtype="<f4").data)
    return digest.hexdigest()
