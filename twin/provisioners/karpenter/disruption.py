"""Looking every ten seconds for nodes that need not be: empty, drifted, or cheaper together or alone
(pkg/controllers/disruption). A decision to consolidate is looked at again after 15 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from twin.config.provisioning import KarpenterConfig
from twin.part import Part, keepable
from twin.provisioners.client import Client
from twin.provisioners.karpenter.candidate import DisruptionCandidate, is_consolidatable
from twin.provisioners.karpenter.candidates import DisruptionCandidates
from twin.provisioners.karpenter.claims import claim_object, is_true
from twin.provisioners.karpenter.commands import Queue
from twin.provisioners.karpenter.consolidation import Consolidation, Failures, Plan
from twin.provisioners.karpenter.instance_types import cheapest
from twin.provisioners.karpenter.pools import Pool
from twin.provisioners.karpenter.provisioning import Provisioning
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.state import ClusterState
from twin.provisioners.karpenter.state_node import StateNode
from twin.records import ObjectRecord
from twin.world import World

EMPTY, DRIFTED, UNDERUTILIZED = "Empty", "Drifted", "Underutilized"
MOST_CANDIDATES = 100
"""Nodes that multi-node consolidation, and one pass of single-node consolidation, looks at; upstream ends
the latter after three minutes instead."""
_AGAIN_SECONDS = 0.1  # of a loop after one that did something: our own choice
_FORGET_SECONDS = 300.0  # state/cluster.go: consolidation is tried again after five minutes


@keepable
@dataclass(slots=True, eq=False)
class Decision:
    """A consolidation that waits for its second look."""

    method: str
    names: list[str]
    types: list[str]
    """Instance types that a replacement may have; empty: none is needed."""


class Disruption(Part):
    """The loop."""

    KEEPS = ("changes", "_decision", "_settled", "_number")

    def __init__(
        self,
        world: World,
        client: Client,
        state: ClusterState,
        candidates: DisruptionCandidates,
        queue: Queue,
        provisioning: Provisioning,
        recorder: Recorder,
        config: KarpenterConfig,
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._state = state
        self._candidates = candidates
        self._consolidation = Consolidation(state, candidates, config)
        self._queue = queue
        self._provisioning = provisioning
        self._recorder = recorder
        self._config = config
        self.changes = 0  # of pods, nodes and pools so far: nothing new, nothing to consolidate
        self._decision: Decision | None = None
        self._settled: dict[str, tuple[int, float]] = {}  # by method: changes then, and when
        self._number = 0
        self._clock.handle("karpenter.disrupt", self._loop)
        self._clock.handle("karpenter.validate", self._validate)

    def begin(self) -> None:
        """Plan the first look."""
        self._plan(self._config.poll_seconds)

    def _plan(self, wait: float) -> None:
        self._number += 1
        self._clock.after(wait, "karpenter.disrupt", self._number)

    def _loop(self, number: int) -> None:
        if number != self._number:
            return
        self._queue.free_others(self._state.disrupted())
        nodes = self._state.nodes()
        pools = {pool.name: pool for pool in self._state.pools()}
        if self._disrupt(nodes, pools):
            self._plan(_AGAIN_SECONDS)
        elif self._decision is not None:
            self._clock.after(self._config.validation_seconds, "karpenter.validate")
        else:
            self._plan(self._config.poll_seconds)

    def _disrupt(self, nodes: list[StateNode], pools: dict[str, Pool]) -> bool:
        """Try each method; True when one has begun a command. A consolidation only becomes
        `_decision`.
        """
        if not any(state.claim is not None for state in nodes):
            return False
        found = self._candidates.find(nodes, pools, eventual=False)
        ranking = self._state.candidates.ranking(found)
        if self._find_empty(ranking.special, pools):
            return False
        if self._replace_drifted(nodes, pools):
            return True
        settled = self._is_settled("several") and self._is_settled("one")
        for one in ranking.special:
            if not one.is_plain:
                self._may_consolidate(one)  # it may not, and this says why
        ranked = [] if settled else ranking.by_cost(self._client.now)
        if ranked:
            failures = self._state.failures()
            if not self._find_several(ranked, pools, failures):
                self._find_one(ranked, pools, failures)
        return False

    def _budgets(self, pools: dict[str, Pool], reason: str) -> dict[str, int]:
        """Return how many nodes of each pool may be disrupted now."""
        left, counts = {}, self._state.counts()
        for name, pool in pools.items():
            total, busy = counts.get(name, (0, 0))
            allowed = pool.allowed_disruptions(total, reason, self._client.now)
            left[name] = max(0, allowed - busy)
            record = self._client.find("nodepools", "", name)
            if total and not allowed and record is not None:
                text = (
                    f"No allowed disruptions for disruption reason {reason} due to blocking budget"
                )
                key = f"{pool.uid}/{reason}"
                self._recorder.say(record, "NodePool", "DisruptionBlocked", text, key, 60.0)
        return left

    # ---- methods

    def _find_empty(self, special: list[DisruptionCandidate], pools: dict[str, Pool]) -> bool:
        empty = []
        for one in special:
            if one.pool.consolidate_after_seconds is None:
                text = f'NodePool "{one.pool.name}" has consolidation disabled'
                self._candidates.say_unconsolidatable(one, text)
            elif not one.pods and is_consolidatable(one, self._client.now):
                empty.append(one)
        if not empty or self._is_settled(EMPTY):
            return False
        left, chosen = self._budgets(pools, EMPTY), []
        for one in self._by_cost(empty):
            if left[one.pool.name]:
                left[one.pool.name] -= 1
                chosen.append(one.name)
        if chosen:
            self._decision = Decision(EMPTY, chosen, [])
        return bool(chosen)

    def _replace_drifted(self, nodes: list[StateNode], pools: dict[str, Pool]) -> bool:
        if not self._state.candidates.any_drifted():
            return False
        found = [
            one
            for one in self._candidates.find(nodes, pools, eventual=True)
            if is_true(one.claim, DRIFTED)
        ]
        left = self._budgets(pools, DRIFTED) if found else {}
        for one in sorted(found, key=lambda entry: (bool(entry.pods), entry.claim.created_at)):
            if not left[one.pool.name]:
                continue
            plan = self._consolidation.simulate([one])
            error = self._consolidation.unplaced(plan)
            if error:
                self._candidates.say_blocked(one.state, error)
                continue
            self._execute([one.name], plan, DRIFTED)
            return True
        return False

    def _may_consolidate(self, one: DisruptionCandidate) -> bool:
        """True for a candidate of consolidation by price (consolidation.go, ShouldDisrupt)."""
        say, pool = self._candidates.say_unconsolidatable, one.pool
        if one.machine is None:
            say(
                one,
                f'Instance Type "{one.state.labels.get("node.kubernetes.io/instance-type", "")}" not found',
            )
        elif pool.consolidate_after_seconds is None:
            say(one, f'NodePool "{pool.name}" has consolidation disabled')
        elif pool.policy != "WhenEmptyOrUnderutilized":
            say(one, f'NodePool "{pool.name}" has non-empty consolidation disabled')
        else:
            return is_consolidatable(one, self._client.now)
        return False

    def _find_several(
        self, ranked: list[DisruptionCandidate], pools: dict[str, Pool], failures: Failures
    ) -> bool:
        if self._is_settled("several"):
            return False
        left, chosen, held = self._budgets(pools, UNDERUTILIZED), [], False
        for one in ranked:
            if not left[one.pool.name]:
                held = True
                if not any(left.values()):
                    break
            elif one.pods:
                left[one.pool.name] -= 1
                chosen.append(one)
        chosen = chosen[:MOST_CANDIDATES]
        least, most, best = 1, len(chosen) - 1, None
        while least <= most:
            middle = (least + most) // 2
            plan = self._consolidation.consolidate(chosen[: middle + 1], failures)
            if plan is not None:
                least, best = middle + 1, plan
            else:
                most = middle - 1
        if best is None:
            if not held:
                self._settle("several")
            return False
        self._decide("several", best)
        return True

    def _find_one(
        self, ranked: list[DisruptionCandidate], pools: dict[str, Pool], failures: Failures
    ) -> None:
        if self._is_settled("one"):
            return
        left, held = self._budgets(pools, UNDERUTILIZED), False
        for one in ranked[:MOST_CANDIDATES]:
            if not left[one.pool.name]:
                held = True
            elif one.pods:
                plan = self._consolidation.consolidate([one], failures)
                if plan is not None:
                    self._decide("one", plan)
                    return
        if not held:
            self._settle("one")

    # ---- decisions

    def _decide(self, method: str, plan: Plan) -> None:
        names = [one.name for one in plan.candidates]
        types = [] if plan.machine is None else [one.name for one in plan.machine.types]
        if plan.machine is not None:
            self._announce(plan)
        self._decision = Decision(method, names, types)

    def _announce(self, plan: Plan) -> None:
        assert plan.machine is not None
        machine, solver = plan.machine, plan.solver
        offers = solver.types.offerings(machine.types[0], machine.requirements)
        saved = fsum(one.price for one in plan.candidates) - cheapest(offers)
        for one in plan.candidates:
            several = len(plan.candidates)
            text = f"replace: [{one.name}] -> [1 replacement]"
            if several > 1:
                text = f"replace: [{one.name}] (part of {several}-node consolidation)"
            text = f"Consolidation candidate: {text} (savings: ${saved:.2f})"
            self._recorder.say(one.node, "Node", "ConsolidationCandidate", text)
            self._recorder.say(one.claim, "NodeClaim", "ConsolidationCandidate", text)

    def _validate(self) -> None:
        """Look again at a decision, and carry it out when it still holds."""
        decision, self._decision = self._decision, None
        if decision is None or not self._is_still_good(decision):
            self._plan(self._config.poll_seconds)
        else:
            self._plan(_AGAIN_SECONDS)

    def _is_still_good(self, decision: Decision) -> bool:
        nodes = self._state.nodes()
        pools = {pool.name: pool for pool in self._state.pools()}
        wanted = frozenset(decision.names)
        empty = decision.method == EMPTY
        found = [
            one
            for one in self._candidates.find(nodes, pools, eventual=False)
            if one.name in wanted
            and is_consolidatable(one, self._client.now)
            and (empty or self._may_consolidate(one))
            and not (empty and one.pods)
        ]
        left = self._budgets(pools, EMPTY if empty else UNDERUTILIZED)
        valid = []
        for one in found:
            if left[one.pool.name]:
                left[one.pool.name] -= 1
                valid.append(one)
        if empty:
            if valid:
                self._execute([one.name for one in valid], None, EMPTY)
            return bool(valid)
        if len(valid) != len(wanted):
            return False
        plan = self._consolidation.simulate(self._by_cost(valid))
        if self._consolidation.unplaced(plan) or len(plan.solution.machines) != min(
            1, len(decision.types)
        ):
            return False
        if plan.machine is not None:
            types = {one.name: one for one in plan.machine.types}
            if any(name not in types for name in decision.types):
                return False
            why = self._consolidation.narrow_to_cheaper(plan.machine, plan)
            plan.machine.types = [types[name] for name in decision.types]
            if why:
                return False
        self._execute(decision.names, plan, UNDERUTILIZED)
        return True

    def _execute(self, names: list[str], plan: Plan | None, reason: str) -> None:
        """Taint the nodes, order what replaces them, and queue them."""
        self._queue.mark(names, reason)
        made: list[ObjectRecord] = []
        if plan is not None:
            made = self._order(plan)
            for entry in plan.solution.existing:
                self._provisioning.nominate(entry)
        self._queue.start(names, [claim.name for claim in made], reason)
        self.changes += 1

    def _order(self, plan: Plan) -> list[ObjectRecord]:
        return [
            self._client.create("nodeclaims", "", claim_object(machine, plan.solver))
            for machine in plan.solution.machines
        ]

    # ---- nothing new, nothing to do

    def _is_settled(self, method: str) -> bool:
        known = self._settled.get(method)
        return (
            known is not None
            and known[0] == self.changes
            and self._client.now - known[1] < _FORGET_SECONDS
        )

    def _settle(self, method: str) -> None:
        self._settled[method] = (self.changes, self._client.now)

    def _by_cost(self, candidates: list[DisruptionCandidate]) -> list[DisruptionCandidate]:
        """Return candidates in the order in which they are disrupted."""
        now = self._client.now
        return sorted(candidates, key=lambda one: (one.cost(now), one.name))
