"""Which risk model drives: judged once a block of time, from the tally alone.

A shadow becomes active when the whole interval of its Brier skill lies above 0 and that of its alarms' lift above 1,
at so many judgements in a row; of several the one whose skill's lower limit is highest, and never a second one beside
it. It goes back by itself when that no longer holds for as many, and at once when the whole interval of its skill lies
below 0 or a breaker tripped for what it decided.
"""

from __future__ import annotations

from dataclasses import dataclass

from projections.promotion.settings import PromotionSettings
from projections.promotion.skill import (
    SkillInterval,
    failing_clusters,
    interval_of,
    lift_of,
    skill_of,
    total_of,
)
from projections.promotion.sums import ModelSums
from projections.promotion.tally import ModelStanding, PromotionTally
from projections.promotion.text import evidence_text
from schemas.promotion import ModelEvidence, ModelState, PromotionCause

AT_ONCE = frozenset({PromotionCause.HARMFUL, PromotionCause.BREAKER})
"""Causes that take a model back without waiting for a second judgement."""


@dataclass(frozen=True, slots=True)
class PromotionJudgement:
    """Result at one observation."""

    before: str
    """Id of the model that drove; empty: what the settings name."""
    driving: str
    models: tuple[ModelEvidence, ...]


@dataclass(frozen=True, slots=True)
class _ModelResult:
    """Result of one model, and what follows from it alone."""

    sums: ModelSums
    cause: PromotionCause
    skill: SkillInterval
    lift: SkillInterval


def judge(
    tally: PromotionTally, now_seconds: float, settings: PromotionSettings
) -> tuple[PromotionTally, PromotionJudgement | None]:
    """Return the tally after an observation, and the judgement where a block has ended.

    Args:
        tally: of every prediction scored so far.
        now_seconds: cluster time of the observation.
        settings: window, blocks and bounds.
    """
    block = int(now_seconds // settings.block_seconds)
    if tally.judged_block == block:
        return tally, None
    first, before = tally.judged_block is None, tally.driving
    sums = tuple(one.within(now_seconds, settings) for one in tally.sums)
    sums = tuple(one for one in sums if one.blocks)
    tally = tally.model_copy(update={"judged_block": block, "sums": sums})
    if first or not (sums or before):
        return tally, None
    findings = [_finding_of(one, tally, settings) for one in sums]
    judged = [_judged(one, tally, now_seconds) for one in findings]
    driving = _driving(findings, judged, before, now_seconds, settings)
    standing = tuple(_settled(one, driving, now_seconds, settings) for one in judged)
    pairs = zip(findings, standing, strict=True)
    models = tuple(_evidence(finding, one, now_seconds) for finding, one in pairs)
    return tally.model_copy(update={"standing": standing}), PromotionJudgement(
        before, driving, models
    )


def _finding_of(
    sums: ModelSums, tally: PromotionTally, settings: PromotionSettings
) -> _ModelResult:
    skill = interval_of(sums, skill_of, settings.confidence_ratio)
    lift = interval_of(sums, lift_of, settings.confidence_ratio)
    return _ModelResult(sums, _cause(sums, skill, lift, tally, settings), skill, lift)


def _cause(
    sums: ModelSums,
    skill: SkillInterval,
    lift: SkillInterval,
    tally: PromotionTally,
    settings: PromotionSettings,
) -> PromotionCause:
    """Return what speaks for or against a model, looked at by itself."""
    if not sums.slot:
        return PromotionCause.NAMED
    standing, tripped = tally.standing_of(sums.model_id), tally.skill_tripped_seconds
    active = standing.state is ModelState.ACTIVE
    if active and tripped is not None and tripped >= standing.since_seconds:
        return PromotionCause.BREAKER
    blocks, groups = failing_clusters(sums)
    scarce = sums.counts.positives < settings.least_positives
    if scarce or min(blocks, groups) < settings.least_failing:
        return PromotionCause.SCARCE
    if skill.low is None or skill.high is None:
        return PromotionCause.SCARCE
    if skill.low <= 0.0:
        return PromotionCause.HARMFUL if skill.high < 0.0 else PromotionCause.NO_SKILL
    if lift.low is None:
        return PromotionCause.SCARCE
    return PromotionCause.SHOWN if lift.low > 1.0 else PromotionCause.NO_LIFT


def _judged(finding: _ModelResult, tally: PromotionTally, now: float) -> ModelStanding:
    """Return how a model stands with one more judgement, which changes no state yet."""
    standing = tally.standing_of(finding.sums.model_id)
    other = (finding.cause is PromotionCause.SHOWN) is not (standing.state is ModelState.ACTIVE)
    update = {
        "cause": finding.cause,
        "judgements": standing.judgements + 1 if other else 0,
        "since_seconds": standing.since_seconds or now,
    }
    return standing.model_copy(update=update)


def _driving(
    findings: list[_ModelResult],
    judged: list[ModelStanding],
    before: str,
    now: float,
    settings: PromotionSettings,
) -> str:
    """Return which model drives: the one that did unless it has to go back, else the best that may; empty for none."""
    if any(finding.cause is PromotionCause.NAMED for finding in findings):
        return ""
    may: list[tuple[float, int, str]] = []
    for finding, standing in zip(findings, judged, strict=True):
        turned = standing.judgements >= settings.judgements
        if standing.model_id == before:
            if not (turned or standing.cause in AT_ONCE):
                return before
        elif turned and standing.held_until_seconds <= now:
            may.append((finding.skill.low or 0.0, -finding.sums.slot, standing.model_id))
    return max(may)[2] if may else ""


def _settled(
    standing: ModelStanding, driving: str, now: float, settings: PromotionSettings
) -> ModelStanding:
    """Return how a model stands once it is known which one drives."""
    active = standing.state is ModelState.ACTIVE
    if active is (standing.model_id == driving):
        return standing
    update = {"since_seconds": now, "judgements": 0, "state": ModelState.ACTIVE}
    if active:
        doubled = settings.hold_seconds * 2.0 ** min(standing.returns, 30)
        held = now + min(doubled, settings.most_hold_seconds)
        back = {"state": ModelState.SHADOW, "returns": standing.returns + 1}
        update |= {**back, "held_until_seconds": held}
    return standing.model_copy(update=update)


def _evidence(finding: _ModelResult, standing: ModelStanding, now: float) -> ModelEvidence:
    counts, every = finding.sums.counts, total_of(finding.sums.every)
    blocks, groups = failing_clusters(finding.sums)
    constant = every.constant_brier
    named = finding.cause is PromotionCause.NAMED
    evidence = ModelEvidence(
        slot=finding.sums.slot,
        model_id=standing.model_id,
        state=ModelState.ACTIVE if named else standing.state,
        cause=standing.cause,
        since_seconds=standing.since_seconds,
        held_until_seconds=standing.held_until_seconds if standing.held_until_seconds > now else 0,
        judgements=standing.judgements,
        targets=counts.targets,
        positives=counts.positives,
        left=counts.left,
        unseen=sum(block.unseen for block in finding.sums.blocks),
        failing_blocks=blocks,
        failing_groups=groups,
        expected=counts.expected,
        observed=every.failed,
        brier=every.squares / every.weight if every.weight else None,
        constant_brier=constant,
        skill=finding.skill.value,
        skill_low=finding.skill.low,
        skill_high=finding.skill.high,
        alarms=counts.alarms,
        hits=counts.hits,
        lift=finding.lift.value,
        lift_low=finding.lift.low,
        lift_high=finding.lift.high,
        text="",
    )
    return evidence.model_copy(update={"text": evidence_text(evidence)})
