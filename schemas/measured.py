"""Readings of instruments and contracts beside the API server: part of a cycle's snapshot of nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds

PowerScope = Literal["platform", "package", "package+platform", "own_query"]
Watts = Annotated[Rounded, Field(ge=0)]


class MeasuredPower(DataModel):
    """Electrical power by node; all columns are of one length."""

    ids: tuple[str, ...] = ()
    """Names of the nodes, sorted."""
    watts: tuple[Watts, ...] = ()
    sample_time_seconds: tuple[Seconds, ...] = ()
    """When each was measured."""
    scope: PowerScope
    """What was measured: `platform`, the whole machine; `package`, its CPUs alone; both of different nodes; or what
    a query says that has no such label."""


class EnergyPrice(DataModel):
    """Price of a kWh now."""

    kwh: Annotated[Rounded, Field(ge=0)]
    source: str
    """`prometheus` or `price_file`."""
    asked_time_seconds: Seconds | None = None
    """Cluster time at which a server said it; None where it was read from a file."""


class Measured(DataModel):
    """Measured or given values besides."""

    power: MeasuredPower | None = None
    """None where nobody measures it."""
    energy_price: EnergyPrice | None = None
    """None: the constant of the settings."""
