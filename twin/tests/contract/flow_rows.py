"""All flows of the contract suite."""

from __future__ import annotations

from twin.tests.contract import flow_advice, flow_lives, flow_writes
from twin.tests.contract.flows import Flow

FLOWS: list[Flow] = [*flow_writes.FLOWS, *flow_advice.FLOWS, *flow_lives.FLOWS]
ON_THE_WIRE: list[Flow] = flow_writes.FORMS
