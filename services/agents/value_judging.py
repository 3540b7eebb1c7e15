"""From an appraisal to a judgement: what gains most is wanted, the rest is further; without a gain, nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schemas.proposal import FurtherAction, LeftUntouched, UntouchedDraw
from schemas.reasons import Reason
from services.agents.appraisal import Appraisal, Appraise, Candidate, PolicyInput
from services.agents.calibration import calibrated
from services.agents.feasibility import possible_appraisal
from services.agents.memory import is_given_up
from services.agents.policy import Judgement, noop
from services.agents.untouched_targets import epoch_at, is_drawn, may_be_left


def judge_by_value(appraise: Appraise | None, situation: PolicyInput) -> Judgement:
    """Return what gains most by the agent's own estimate."""
    if appraise is None:
        return noop(Reason.NOTHING_TO_DO, "this agent has no policy that judges by expected value")
    appraisal = _calibrated(possible_appraisal(appraise(situation), situation.view), situation)
    gaining = sorted(
        (candidate for candidate in appraisal.candidates if candidate.effect.net > 0.0),
        key=lambda candidate: (
            -candidate.effect.per_hour, candidate.action.full_kind, candidate.action.target.name
        ),
    )  # fmt: skip
    possible = [
        candidate
        for candidate in gaining
        if not is_given_up(situation.memory, candidate.action, situation.settings)
    ]
    if not possible:
        return noop(appraisal.reason, _why_nothing(appraisal, gaining))
    wanted, draw = leave_untouched(possible[: situation.settings.most_wishes], situation)
    if not wanted:
        text = f"{appraisal.text}; {len(possible)} actions would gain, on targets that are left untouched"
        return replace(noop(Reason.LEFT_UNTOUCHED, text), untouched=draw)
    best, *others = wanted
    return Judgement(
        action=best.action,
        score=best.effect.per_hour,
        evidence=best.decisive,
        decisive=best.decisive,
        text=_text(best),
        effect=best.effect,
        forecast=best.forecast,
        further=tuple(_wish(candidate) for candidate in others),
        untouched=draw,
    )


def _calibrated(appraisal: Appraisal, situation: PolicyInput) -> Appraisal:
    factors = situation.settings.calibration
    candidates = tuple(
        replace(one, effect=calibrated(one.action, one.effect, factors))
        for one in appraisal.candidates
    )
    return replace(appraisal, candidates=candidates) if factors else appraisal


def leave_untouched(
    wanted: Sequence[Candidate], situation: PolicyInput
) -> tuple[list[Candidate], UntouchedDraw | None]:
    """Return what is proposed of what is wanted, and the draw; None where nothing could have been left."""
    settings, now = situation.settings, situation.view.cluster_time_seconds
    eligible = [one for one in wanted if may_be_left(one.action, situation.memory)]
    if not eligible or not settings.untouched_ratio:
        return list(wanted), None
    epoch = epoch_at(now, settings)
    left = [
        one
        for one in eligible
        if is_drawn(settings.untouched_seed, one.action.target, epoch, settings.untouched_ratio)
    ]
    names = (one.action.target.name for one in eligible if one not in left)
    draw = UntouchedDraw(
        seed=settings.untouched_seed,
        ratio=settings.untouched_ratio,
        epoch=epoch,
        ends_seconds=(epoch + 1) * settings.untouched_epoch_seconds,
        eligible=tuple(dict.fromkeys(names)),
        left=tuple(
            LeftUntouched(action=one.action, effect=one.effect, text=_text(one)) for one in left
        ),
    )
    return [one for one in wanted if one not in left], draw


def _why_nothing(appraisal: Appraisal, gaining: list[Candidate]) -> str:
    if gaining:
        return f"{appraisal.text}; {len(gaining)} actions would gain and were tried in vain"
    if appraisal.candidates:
        best = max(candidate.effect.net for candidate in appraisal.candidates)
        return f"{appraisal.text}; the best of {len(appraisal.candidates)} actions would bring {best:.4g}"
    return appraisal.text


def _text(candidate: Candidate) -> str:
    effect = candidate.effect
    return (
        f"{candidate.text}: {effect.net:+.4g} {effect.currency} in {effect.horizon_seconds / 60:g} min "
        f"({effect.low:+.4g} to {effect.high:+.4g})"
    )


def _wish(candidate: Candidate) -> FurtherAction:
    return FurtherAction(
        action=candidate.action,
        score=candidate.effect.per_hour,
        rule=" and ".join(item.words for item in candidate.decisive),
        evidence=candidate.decisive,
        effect=candidate.effect,
        forecast=candidate.forecast,
        text=_text(candidate),
    )
