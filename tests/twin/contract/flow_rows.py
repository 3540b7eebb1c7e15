"""All flows of the contract suite."""

from __future__ import annotations

from tests.twin.contract import flow_advice, flow_lives, flow_refusals, flow_words, flow_writes
from tests.twin.contract.flows import Flow

FLOWS: list[Flow] = [
    *flow_writes.FLOWS,
    *flow_advice.FLOWS,
    *flow_lives.FLOWS,
    *flow_words.FLOWS,
    *flow_refusals.FLOWS,
]
ON_THE_WIRE: list[Flow] = flow_writes.FORMS
