"""What every payload has: the figure that its results are ranked by."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from projections.session_state import Direction
from schemas.expressions import ExpressionError, compile_expression
from schemas.model import DataModel


class BasePayload(DataModel):
    """Common fields: what results are ranked by."""

    rank_by: str
    """A figure of the result's JSON, as an expression."""
    direction: Direction = "maximize"

    @model_validator(mode="after")
    def _check_rank(self) -> Self:
        try:
            compile_expression(self.rank_by)
        except ExpressionError as error:
            raise ValueError(f"rank_by: {error}") from error
        return self
