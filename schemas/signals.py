"""Provenance: where each signal came from and how old it was. A missing signal is a value of its
own.

Provenance is stated once per source, with a list of the rows for which it does not hold.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.model import DataModel
from schemas.numbers import Seconds
from schemas.reasons import Reason


class SignalStatus(StrEnum):
    """How far a signal can be trusted."""

    FRESH = "fresh"
    STALE = "stale"
    """Older than its limit."""
    MISSING = "missing"
    """Not there; cells are null."""
    ASSUMED = "assumed"
    """A constant of the settings, measured by nobody (for example the energy price)."""


class Signal(DataModel):
    """One source of an observation, and the age of what it said."""

    name: str
    """What it tells, e.g. `node_requests`, `node_usage`, `pods`, `power`, `energy_price`, `service_requests`."""
    source: str
    """Who said it: `kubernetes_api`, `metrics_server`, `prometheus`, `power_model`, `price_file`, `settings`."""
    status: SignalStatus
    observed_time_seconds: Seconds | None
    """Cluster time of the measurement; None when missing or assumed."""
    age_seconds: Seconds | None
    """Cluster time of the observation minus `observed_time_seconds`."""
    window_seconds: Seconds | None = Field(default=None, exclude_if=lambda window: window is None)
    """Seconds before `observed_time_seconds` that a value rests on, as of a rate; None where nobody says."""
    limit_seconds: Seconds | None = None
    """The age from which it counts as stale; None: no limit."""
    watched: bool = Field(default=False, exclude_if=lambda watched: not watched)
    """Whether it is followed: its age is the time since the server last spoke, and silence within the limit says
    that nothing has changed.
    """
    reason: Reason | None = None
    """Why it is missing."""
    missing_since_seconds: Seconds | None = None
    """Cluster time of the first cycle in which what it rests on could not be read; None while it can, or
    where that is not known.
    """
    exceptions: tuple[str, ...] = ()
    """Row ids for which this status does not hold: their cells are null."""
    measured: bool = Field(default=False, exclude_if=lambda measured: not measured)
    """Whether an instrument measured what is modelled elsewhere (power)."""
    modelled: tuple[str, ...] = Field(default=(), exclude_if=lambda rows: not rows)
    """Of a measured signal, the rows whose cells are the model's."""
    simulated: bool = False
    """True when the embedded cluster said it."""
