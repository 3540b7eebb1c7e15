"""Demand by the minute as part of a service's state: as text in its checkpoint."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from features.live.demand_series import DemandSeries, decode_demand, encode_demand


def _restored(value: Any) -> DemandSeries | None:
    return value if isinstance(value, DemandSeries) else decode_demand(value)


PackedDemand = Annotated[
    DemandSeries | None, PlainValidator(_restored), PlainSerializer(encode_demand)
]
