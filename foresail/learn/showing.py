"""A policy's card in words."""

from __future__ import annotations

from projections.figures import number, percent
from services.learned_policy.card import PolicyCard


def card_lines(card: PolicyCard) -> list[str]:
    """Return what people want to know of a policy before they use it."""
    arguments = ", ".join(f"{name}={value}" for name, value in card.arguments.items())
    chosen = "actions" if card.kind == "choice" else "priorities"
    chosen += ", of those that may be taken" if card.masked else ""
    lines = [
        f"{card.name}: {card.algorithm} ({card.preset}), seed {card.seed}, {card.steps} steps",
        f"  environment   {card.environment}{f' ({arguments})' if arguments else ''}",
        f"  sees          {card.observation}, {card.observation_count} numbers",
        f"  chooses       {card.action_count} {chosen}",
        f"  network       {' x '.join(map(str, card.layers)) or 'one layer'}, weights {card.weights_sha256[:16]}",
    ]
    if card.development_return is not None:
        lines.append(
            f"  development   mean return {number(card.development_return)}, by which its weights were chosen"
        )
    for figure in card.figures:
        interval = ""
        if figure.low is not None and figure.high is not None:
            interval = f" ({number(figure.low)} to {number(figure.high)})"
        lines.append(
            f"  {figure.split:<13} {figure.metric} {number(figure.value)}{interval}, {figure.workload}, "
            f"{figure.episodes} episodes"
        )
    if (same := card.agreement) is not None:
        lines.append(
            f"  as trained    the same action in {same.states - same.differing} of {same.states} states; "
            f"{percent(same.near_ties / same.states)} are near-ties, elsewhere {same.differing_elsewhere} differ"
        )
    lines.append(f"  may act       {f'no: {why}' if (why := card.why_not()) else 'yes'}")
    return lines
