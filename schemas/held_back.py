"""Workloads that have fewer pods than they want although no pod of theirs waits: nobody makes the pods."""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Count
from schemas.reasons import PendingClass

MOST_HELD_BACK = 100
"""Listed in one cycle, the first by name; half a kB each."""


class HeldBack(DataModel):
    """A workload that a quota or a queue holds back."""

    workload: str
    """`<namespace>/<kind>/<name>`."""
    pending_class: PendingClass
    """`quota` or `kueue`."""
    pods: Count
    """Pods that it wants and does not have."""
    message: str = ""
    """The API's own words; empty where it says none."""
