"""Which nodes may be disrupted, and what that would cost
(pkg/controllers/disruption/{types,helpers}.go, controllers/state/statenode.go, utils/disruption).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twin.machines.cloud import Cloud
from twin.provisioners.client import Client
from twin.provisioners.karpenter.candidate import (
    DisruptionCandidate,
    Facts,
    eviction_cost,
    quiet_since,
)
from twin.provisioners.karpenter.claims import INITIALIZED, is_true
from twin.provisioners.karpenter.evictability import is_evictable, is_protected
from twin.provisioners.karpenter.names import (
    CAPACITY_TYPE,
    DO_NOT_DISRUPT,
    INSTANCE_TYPE,
    POOL,
    ZONE,
)
from twin.provisioners.karpenter.pools import Pool, read_duration
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.state import ClusterState
from twin.provisioners.karpenter.state_node import StateNode
from twin.records import PodRecord


class DisruptionCandidates:
    """Finds candidates; keeps nothing."""

    def __init__(
        self,
        client: Client,
        cloud: Cloud,
        state: ClusterState,
        recorder: Recorder,
        nominated: Callable[[], Mapping[str, float]],
    ) -> None:
        self._client = client
        self._cloud = cloud
        self._state = state
        self._recorder = recorder
        self._nominated = nominated

    def find(
        self, nodes: list[StateNode], pools: dict[str, Pool], *, eventual: bool
    ) -> list[DisruptionCandidate]:
        """Return the candidates by name; blocked ones are said in events. `eventual`: a pool's
        terminationGracePeriod bounds what pods can block. Do not change the list.
        """
        known, nominated = self._state.candidates, self._nominated()
        if known.everybody is not None and not nominated:
            return known.everybody
        found, all_open = [], True
        for state in nodes:
            if state.claim is None or state.marked:
                continue
            facts = known.facts.get(state.name)
            if facts is None:
                facts = known.learn(state.name, self._facts(state, pools))
            all_open = all_open and facts.is_open
            promised = "node is nominated for a pending pod" if state.name in nominated else ""
            why = facts.barred or promised or facts.barred_after
            if why:
                self.say_blocked(state, why)
                continue
            why = (
                self._pod_block(self._client.pods_on(state.name))
                if facts.pods_block is None
                else facts.pods_block
            )
            if why and not (eventual and facts.bounded):
                self.say_blocked(state, why)
                continue
            assert facts.candidate is not None
            found.append(facts.candidate)
        if all_open and not nominated:
            known.everybody = found
        return found

    def say_blocked(self, state: StateNode, why: str) -> None:
        """Say on node and NodeClaim that something keeps the node."""
        self._say(state, "DisruptionBlocked", _sentence(why))

    def say_unconsolidatable(self, candidate: DisruptionCandidate, text: str) -> None:
        """Say on node and NodeClaim why the node is not consolidated."""
        self._say(candidate.state, "Unconsolidatable", text, 900.0)

    def _say(self, state: StateNode, reason: str, text: str, seconds: float = 120.0) -> None:
        if state.node is not None:
            self._recorder.say(state.node, "Node", reason, text, "", seconds)
        if state.claim is not None:
            self._recorder.say(state.claim, "NodeClaim", reason, text, "", seconds)

    def _facts(self, state: StateNode, pools: dict[str, Pool]) -> Facts:
        assert state.claim is not None
        drifted = is_true(state.claim, "Drifted")
        bounded = bool(state.claim.body["spec"].get("terminationGracePeriod"))
        before, after = self._bars(state, pools)
        if before or after:
            return Facts(before, after, "", bounded, drifted, None)
        pods = self._client.pods_on(state.name)
        asked = any(DO_NOT_DISRUPT in pod.annotations for pod in pods) or bool(
            self._client.count("poddisruptionbudgets")
        )
        block = None if asked else ""
        return Facts("", "", block, bounded, drifted, self._candidate(state, pools, pods))

    def _bars(self, state: StateNode, pools: dict[str, Pool]) -> tuple[str, str]:
        """Return why a node is no candidate, as far as it is asked before and after promises to pods."""
        if state.node is None:
            return "nodeclaim does not have an associated node", ""
        if not state.initialized:
            return "node isn't initialized", ""
        if state.deleting:
            return "node is deleting or marked for deletion", ""
        if state.node.annotations.get(DO_NOT_DISRUPT) == "true":
            return "", f'disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
        if POOL not in state.labels:
            return "", f"node doesn't have required label (label={POOL})"
        if state.labels[POOL] not in pools:
            return "", f"NodePool not found (NodePool={state.labels[POOL]})"
        return "", ""

    def _candidate(
        self, state: StateNode, pools: dict[str, Pool], pods: list[PodRecord]
    ) -> DisruptionCandidate:
        assert state.node is not None
        assert state.claim is not None
        labels, price = state.labels, self._state.price(state)
        return DisruptionCandidate(
            state,
            state.node,
            state.claim,
            pools[labels[POOL]],
            self._cloud.catalogue.by_name.get(labels.get(INSTANCE_TYPE, "")),
            0.0 if price is None or ZONE not in labels else price,
            labels.get(CAPACITY_TYPE, ""),
            tuple(self._state.reschedulable(state.name)),
            eviction_cost(pods),
            read_duration(state.claim.body["spec"].get("expireAfter", "Never")) or 0.0,
            is_true(state.claim, INITIALIZED),
            quiet_since(state.claim),
        )

    def _pod_block(self, pods: list[PodRecord]) -> str:
        now = self._client.now
        for pod in pods:
            if is_protected(pod, now):
                return f'pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.namespace}/{pod.name})'
        for pod in pods:
            budgets = self._client.budgets(pod) if is_evictable(pod, now) else []
            names = " ".join(f"{one.namespace}/{one.name}" for one in budgets)
            if len(budgets) > 1:
                return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{names}])"
            for budget in budgets:
                if not (budget.body.get("status") or {}).get("disruptionsAllowed", 0):
                    return f"pdb prevents pod evictions (PodDisruptionBudget=[{names}])"
        return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
