"""A job's result: JSON of any form, of which one figure is what jobs are ranked by."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from inputs.limited_json import BadJson, load_json
from lab.sessions.engines.port import RESULT_BYTES, NoResult
from schemas.expressions import compile_expression
from schemas.session import JobTraining


@dataclass(frozen=True, slots=True)
class JobResult:
    """A result that can be used."""

    content: dict[str, Any]
    value: float | None
    """What it is ranked by; None: it has no such figure."""
    sha256: str
    training: JobTraining | None = None
    """What it says of a training, where it was one."""


def read_result(data: bytes, rank_by: str) -> JobResult:
    """Return a result.

    Raises:
        NoResult: it is no JSON object, or says of itself that it is an error.
    """
    try:
        content = load_json(data, most_bytes=RESULT_BYTES)
    except BadJson as error:
        raise NoResult(f"its result is no JSON ({error})") from error
    if not isinstance(content, dict):
        raise NoResult("its result is no JSON object")
    if content.get("status") == "error":
        raise NoResult(f"its result says: {str(content.get('error', 'an error'))[:200]}")
    value = figure_of(content, rank_by)
    return JobResult(content, value, hashlib.sha256(data).hexdigest(), _training(content))


def _training(content: dict[str, Any]) -> JobTraining | None:
    """Return the part `training` of a result; None where it has none that can be read."""
    try:
        return JobTraining.model_validate(content.get("training"))
    except ValidationError:
        return None


def figure_of(content: dict[str, Any], expression: str) -> float | None:
    """Return what an expression comes to; None where that is no finite number."""
    value = compile_expression(expression).value(content)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
