"""Failure rates as text, for checkpoints."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from features.live.compressed_text import inflate
from features.live.failure_rates import Due, FailureRates, Tally

VERSION: Final = 1
TALLIES: Final = ("cluster", "again", "running", "coming", "machines")
NUMBERS: Final = ("placed", "failed", "lost", "starts", "program_starts")

RatesByModel = Mapping[str, FailureRates]


def encode_rates(rates: RatesByModel | None) -> str | None:
    """Return rates as text; None for none."""
    if rates is None:
        return None
    content = [VERSION, {model_id: _content(one) for model_id, one in rates.items()}]
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def decode_rates(text: str) -> RatesByModel:
    """Return the rates that `encode_rates` made a text of, bit for bit.

    Raises:
        ValueError: it is no such text, or of another version.
    """
    try:
        version, content = json.loads(inflate(text))
        if version != VERSION:
            raise ValueError("rates of another version")
        return {model_id: _rates(one) for model_id, one in content.items()}
    except (LookupError, TypeError, ArithmeticError, RecursionError, AttributeError) as error:
        raise ValueError(f"no rates: {error}") from error


def _content(rates: FailureRates) -> dict[str, Any]:
    due = rates.due
    return {
        "at": [rates.at, rates.begun],
        **{name: _pair(getattr(rates, name)) for name in TALLIES},
        **{name: dict(getattr(rates, name)) for name in NUMBERS},
        "levels": {name: _pair(tally) for name, tally in rates.levels.items()},
        "due": [dict(due.programs), due.running, due.coming, due.machines, due.again],
    }


def _rates(content: Mapping[str, Any]) -> FailureRates:
    at, begun = content["at"]
    kept: dict[str, Any] = {name: Tally(*content[name]) for name in TALLIES}
    kept |= {name: content[name] for name in NUMBERS}
    return FailureRates(
        at=at,
        begun=begun,
        **kept,
        levels={name: Tally(*pair) for name, pair in content["levels"].items()},
        due=Due(*content["due"]),
    )


def _pair(tally: Tally) -> list[float]:
    return [tally.observed, tally.expected]
