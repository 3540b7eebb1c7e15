"""From an appraisal to a judgement: what gains most is wanted, the rest is further; without a gain, nothing. Pure."""

from __future__ import annotations

from agent_registry.appraisal import Appraisal, Appraise, Candidate, Situation
from agent_registry.memory import is_given_up
from agent_registry.policy import Judgement, noop
from schemas.proposal import Wish
from schemas.reasons import Reason


def judge_by_value(appraise: Appraise | None, situation: Situation) -> Judgement:
    """Return what gains most by the agent's own estimate."""
    if appraise is None:
        return noop(Reason.NOTHING_TO_DO, "this agent has no policy that judges by expected value")
    appraisal = appraise(situation)
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
    best, *others = possible[: situation.settings.most_wishes]
    return Judgement(
        action=best.action,
        score=best.effect.per_hour,
        evidence=best.decisive,
        decisive=best.decisive,
        text=_text(best),
        effect=best.effect,
        further=tuple(_wish(candidate) for candidate in others),
    )


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


def _wish(candidate: Candidate) -> Wish:
    return Wish(
        action=candidate.action,
        score=candidate.effect.per_hour,
        rule=" and ".join(item.words for item in candidate.decisive),
        evidence=candidate.decisive,
        effect=candidate.effect,
        text=_text(candidate),
    )
