"""Effect of acting, as JSON for the page: a verdict, a sentence, figures with their texts, and the run of totals."""

from __future__ import annotations

from projections.figures import signed_text
from projections.overview import Overview
from projections.score.effect import Figure, effect_sentence, figures_of
from schemas.score import OutcomeCounterfactual, score_text, verdict_in
from services.dashboard.cycle_json import Json

BEHIND_CYCLES = 3
"""So many cycles without a comparison, and the page says how old the newest is."""
NOT_COMPARED = {
    "real": "No untouched world runs beside a real cluster, so what acting changed is not known.",
    "none": "No untouched world runs beside this one, so what acting changed is not known.",
    "soon": "The untouched world runs; what acting changes is known from the second cycle that both have seen.",
}


def acting_json(overview: Overview, *, simulated: bool) -> Json:
    """Return the section; `simulated` says whether the cluster is the twin."""
    difference, score = overview.counterfactual, overview.score
    content: Json = {
        "score": None if score is None else score_text(score),
        "verdict": None,
        "text": NOT_COMPARED[_reason(overview, simulated=simulated)],
        "figures": [],
    }
    return content if difference is None else content | _compared(overview, difference)


def _reason(overview: Overview, *, simulated: bool) -> str:
    if overview.untouched:
        return "soon"
    return "none" if simulated or overview.observation is None else "real"


def _compared(overview: Overview, difference: OutcomeCounterfactual) -> Json:
    newest = difference.cycle if overview.observation is None else overview.observation.cycle
    behind = newest - difference.cycle
    return {
        "verdict": verdict_in(difference),
        "text": effect_sentence(difference),
        "cycle": difference.cycle,
        "behind": behind if behind >= BEHIND_CYCLES else 0,
        "missing": list(difference.missing),
        "currency": difference.currency,
        "figures": [_figure(one) for one in figures_of(difference)],
        "cycles": [cycle for cycle, _ in overview.acting],
        "totals": [money for _, money in overview.acting],
    }


def _figure(figure: Figure) -> Json:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "total": signed_text(figure.total),
        "total_verdict": figure.total_verdict,
        "step": signed_text(figure.step),
        "step_verdict": figure.step_verdict,
    }
