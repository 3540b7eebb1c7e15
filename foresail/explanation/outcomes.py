"""Outcome of the decision: guard rails, execution, verification, reward, scored predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from foresail.explanation.section import Section
from projections import figures
from projections.cycle_record import CycleRecord, PartRecord
from projections.score.text import OVERLAP, effect_text, window_text
from schemas.agents import action_label, letter_of
from schemas.band_score import band_text
from schemas.capacity_score import capacity_score_text
from schemas.foresight_score import ahead_text
from schemas.outcome import (
    ExecutionPhase,
    ForecastScore,
    GuardCheck,
    OperationResult,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeReward,
    OutcomeVerification,
    RewardPart,
)
from schemas.promotion import judgement_texts
from schemas.reasons import Reason
from services.agents.calibration import MEASURED, kind_of

MOST_OPERATIONS = 6
BASE = "base"
"""The reward of every step; it explains nothing."""


def outcome_sections(record: CycleRecord) -> Iterator[Section]:
    """Return the sections on what followed."""
    for part in record.parts:
        if len(record.parts) > 1:
            label = "" if part.action is None else f"{action_label(part.action)} "
            name = "" if part.action is None else part.action.target.name
            yield Section(f"PART {part.number}", [Text(f"{label}{name}".rstrip(), style="bold")])
        yield from _part_sections(part)
    reward = None if record.reward is None else record.reward.data
    yield Section("REWARD", _reward(reward))
    yield Section("SCORE", _score(record))
    changed = [Text(event.data.text) for event in record.breakers]
    yield Section("BREAKER", changed, "bold red")
    judged = () if record.judged is None else judgement_texts(record.judged.data)
    yield Section("JUDGED", [Text(line) for line in judged])
    yield Section("SCORED", [_forecast_text(event.data) for event in record.forecasts], "dim")


def _part_sections(part: PartRecord) -> Iterator[Section]:
    yield Section("EXPECTED", _expected(part))
    checks = [check for data in part.executions for check in data.guards]
    yield Section("GUARDS", _guards(checks), "" if all(check.passed for check in checks) else "red")
    if part.execution is not None:
        yield _execution_section("EXECUTED", part.execution)
    else:
        yield Section("EXECUTED", [Text("not yet, or the executor did not run")], "dim")
    yield Section("VERIFIED", [_verification_text(data) for data in part.verifications])
    if part.rollback is not None:
        yield _execution_section("TAKEN BACK", part.rollback)


def _expected(part: PartRecord) -> list[Text]:
    """Return what the action was expected to change, and what came of others of its kind."""
    if part.effect is None or part.action is None:
        return []
    kind = kind_of(part.action, part.effect)
    measured = MEASURED.get(kind)
    if measured is None:
        came = f"what comes of such expectations ({kind}) is not known well enough yet"
    else:
        came = (
            f"of such expectations {figures.percent(measured.ratio)} came on twin branches "
            f"({figures.percent(measured.low)} to {figures.percent(measured.high)}, {measured.samples} of {kind})"
        )
    return [Text(effect_text(part.effect)), Text(came, style="dim")]


def _guards(checks: Sequence[GuardCheck]) -> list[Text]:
    passed = [check for check in checks if check.passed]
    names = [_measured_text(one) for one in passed if not one.measured == one.limit == 0]
    rest = len(passed) - len(names)
    if rest:  # one line of their names would say no more
        names.append(f"{rest} found nothing forbidden")
    failed = [
        Text(f"{_measured_text(check)} FAILED [{check.reason}] {check.text}".rstrip(), style="red")
        for check in checks
        if not check.passed
    ]
    lines = [Text(f"{len(passed)} passed: {', '.join(names)}", style="dim")] if passed else []
    return [*failed, *lines]


def _measured_text(check: GuardCheck) -> str:
    if check.measured is None:
        return check.guard
    limit = "" if check.limit is None else f"/{figures.number_beside(check.limit, check.measured)}"
    unit = "" if check.passed else f" {check.unit}"
    return (
        f"{check.guard} {figures.number_beside(check.measured, check.limit)}{limit}{unit}".rstrip()
    )


def _execution_section(label: str, data: OutcomeExecution) -> Section:
    if data.phase is ExecutionPhase.REFUSED:
        noop = data.reason is Reason.NOOP
        why = f"nothing: refused [{data.reason}]"
        guarded = any(not check.passed and check.text == data.text for check in data.guards)
        text = "nothing, as decided" if noop else why if guarded else f"{why} {data.text}"
        return Section(label, [Text(text)], "" if noop else "red")
    ended = {None: "started, not finished yet", True: "done", False: "FAILED"}[data.succeeded]
    why = f" [{data.reason}]" if data.reason is not None else ""
    head = Text(f"{ended} in {data.mode} mode{why}: {data.text}")
    style = "green" if data.succeeded else "red"
    listed = data.operations[:MOST_OPERATIONS]
    results = [
        data.results[place] if place < len(data.results) else None for place in range(len(listed))
    ]
    if len(data.operations) == 1 and data.operations[0].text == data.text:
        return Section(label, [head.append(f": {_result(results[0])}")], style)
    lines = [
        Text(f"  {operation.text}: {_result(result)}")
        for operation, result in zip(listed, results, strict=True)
    ]
    more = len(data.operations) - len(listed)
    lines += [Text(f"  and {more} more operations")] if more > 0 else []
    return Section(label, [head, *lines], style)


def _result(result: OperationResult | None) -> str:
    if result is None:
        return "not written"
    status = f" {result.http_status}" if result.http_status else ""
    reason = f" [{result.reason}]" if result.reason is not None else ""
    return f"{result.status}{status}{reason} {result.message}".rstrip()


def _verification_text(data: OutcomeVerification) -> Text:
    why = f" [{data.reason}]" if data.reason is not None else ""
    text = f"{data.status} {figures.duration(data.lag_seconds)} later, in cycle {data.observed_cycle}{why}: {data.text}"
    return Text(text, style="" if data.reason is None else "yellow")


def _reward(data: OutcomeReward | None) -> list[Text]:
    if data is None:
        return [Text("not scored yet", style="dim")]
    predicted = f"predicted {figures.signed_score(data.predicted.total)}"
    if data.observed is None:
        return [Text(f"not observed [{data.reason}]; {predicted}")]
    seen = data.observed
    parts = _parts(data.observed_parts)
    weighted = ", ".join(
        f"{letter_of(name)} {figures.signed_score(reward)} x {figures.number(data.weights[name])}"
        for name, reward in seen.by_agent.items()
    )
    head = f"observed {figures.signed_score(seen.total)} in cycle {data.observed_cycle}, {predicted}; {weighted}"
    return [Text(head), *([Text(f"  {parts}", style="dim")] if parts else [])]


def _score(record: CycleRecord) -> list[Text]:
    """Return the score of the cycle, and what acting changed while this decision settled."""
    score = None if record.score is None else record.score.data
    worth = (
        []
        if score is None
        else [f"{figures.signed_text(score.step_money_per_hour)} {score.currency}/h"]
    )
    seen = [event.data for event in record.counterfactuals if event.cycle <= record.settled_cycle]
    after = [data for data in seen if data.cycle > record.cycle]
    if not after:
        return [Text(text) for text in worth]
    before = next((data for data in seen if data.cycle == record.cycle), None)
    window = f"acting changed {window_text(before, after[-1])}"
    caveat = "" if "nothing in" in window else f" {OVERLAP}"
    return [Text("; ".join([*worth, window + caveat]))]


def _parts(parts: Sequence[RewardPart]) -> str:
    texts = []
    for agent, parts_of_agent in groupby(parts, key=lambda part: part.agent):
        terms = [
            f"{part.term} {figures.signed_text(part.amount)} ({part.text})"
            for part in parts_of_agent
            if part.term != BASE
        ]
        texts += [f"{letter_of(agent)}: {', '.join(terms)}"] if terms else []
    return "; ".join(texts)


def _forecast_text(data: OutcomeForecast) -> Text:
    who = f"shadow {data.slot} {data.model_id}" if data.slot else data.model_id
    texts = []
    if data.risk is not None:
        score = data.risk
        texts.append(f"risk {_of(score)}, {score.positives} failed, Brier {_short(score.brier)}")
    if data.demand is not None:
        error = data.demand.mean_absolute_error_ratio
        texts.append(f"demand {_of(data.demand)}, error {_short(error)}")
    if data.bands is not None:
        texts.append(band_text(data.horizon_seconds, data.bands))
    if data.action is not None:
        texts.append(ahead_text(data.action))
    if data.capacity_so_far is not None:
        texts.append(capacity_score_text(data.capacity_so_far))
    if not texts:
        texts.append(f"not scored [{data.reason}]")
    return Text(f"{who}: {'; '.join(texts)}", style="dim")


def _of(score: ForecastScore) -> str:
    uncertain = f" (+{score.uncertain} acted upon)" if score.uncertain else ""
    return f"of {score.targets}{uncertain}"


def _short(value: float | None) -> str:
    return "unknown" if value is None else figures.number(value)
