"""What would happen without some nodes, and whether that is cheaper
(pkg/controllers/disruption/{helpers,consolidation,multinodeconsolidation}.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, inf

from twin.config.provisioning import KarpenterConfig, MachineType
from twin.provisioners.karpenter.candidate import DisruptionCandidate
from twin.provisioners.karpenter.candidates import DisruptionCandidates
from twin.provisioners.karpenter.names import CAPACITY_TYPE
from twin.provisioners.karpenter.requirements import Requirements, one_of
from twin.provisioners.karpenter.solver import NewMachine, Solution, Solver
from twin.provisioners.karpenter.state import ClusterState

Failures = dict[tuple[str, ...], str] | None


@dataclass(slots=True)
class Plan:
    """What a simulation comes to."""

    candidates: list[DisruptionCandidate]
    machine: NewMachine | None
    solver: Solver
    solution: Solution


class Consolidation:
    """Simulates; keeps nothing."""

    def __init__(
        self, state: ClusterState, candidates: DisruptionCandidates, config: KarpenterConfig
    ) -> None:
        self._state = state
        self._candidates = candidates
        self._config = config

    def simulate(self, chosen: list[DisruptionCandidate]) -> Plan:
        """Place the pods of nodes that would go, and all that wait, without those nodes."""
        solver = self._state.solver(one.name for one in chosen)
        pods = self._state.waiting_pods()
        for one in chosen:
            pods += self._state.movable(one.name)
        for state in self._state.leaving():
            if state.node is not None:
                pods += self._state.movable(state.name)
        solution = solver.solve(pods)
        machine = solution.machines[0] if len(solution.machines) == 1 else None
        return Plan(chosen, machine, solver, solution)

    def unplaced(self, plan: Plan) -> str:
        """Return why a pod that runs now would find no place."""
        for pod, error in plan.solution.errors.values():
            if pod.node_name:
                return f"not all pods would schedule, {pod.namespace}/{pod.name} => {error}"
        ours = {pod.uid for one in plan.candidates for pod in one.pods}
        for entry in plan.solution.existing:
            if not entry.initialized and any(pod.uid in ours for pod in entry.added):
                where = f"nodeclaim/{entry.claim}" + (f", node/{entry.node}" if entry.node else "")
                return f"would schedule against uninitialized {where}"
        return ""

    def consolidate(self, chosen: list[DisruptionCandidate], failures: Failures) -> Plan | None:
        """Return what would be cheaper than the chosen nodes (consolidation.go). What failed is not simulated
        again before something changes; `failures` are those of the state.
        """
        names = tuple([one.name for one in chosen])
        why = None if failures is None else failures.get(names)
        if why is None:
            plan = self.simulate(chosen)
            why = self._objection(plan)
            if not why:
                return plan
            if failures is not None:
                failures[names] = why
        if len(chosen) == 1:
            self._candidates.say_unconsolidatable(chosen[0], why[:1].upper() + why[1:])
        return None

    def _objection(self, plan: Plan) -> str:
        """Return what a simulation has against a consolidation, nothing when it may be done."""
        why, count = self.unplaced(plan), len(plan.solution.machines)
        if not why and count > 1:
            why = f"Can't remove without creating {count} candidates"
        if not why and plan.machine is not None:
            why = self.narrow_to_cheaper(plan.machine, plan)
        if not why and len(plan.candidates) > 1 and self._repeats_itself(plan):
            why = "Can't replace with a cheaper node"
        return why

    def narrow_to_cheaper(self, machine: NewMachine, plan: Plan) -> str:
        """Keep the types that cost less than what they replace; return why none does."""
        price = fsum(one.price for one in plan.candidates)
        spot_only = all(one.capacity_type == "spot" for one in plan.candidates)
        kinds = machine.requirements.get(CAPACITY_TYPE)
        if spot_only and (kinds is None or kinds.has("spot")) and not self._config.spot_to_spot:
            return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
        solver = plan.solver
        machine.types = [
            one for one in machine.types if _launch_price(solver, one, machine.requirements) < price
        ]
        if not machine.types:
            return "Can't replace with a cheaper node"
        if kinds is None or (kinds.has("spot") and kinds.has("on-demand")):
            machine.requirements = dict(machine.requirements)
            offered = any(_has_spot(solver, one, machine.requirements) for one in machine.types)
            if offered:
                machine.requirements[CAPACITY_TYPE] = one_of("spot")
        return ""

    def _repeats_itself(self, plan: Plan) -> bool:
        """True when several nodes would become one of a type that is among them, at no lower price
        (filterOutSameInstanceType).
        """
        machine = plan.machine
        if machine is None:
            return False
        prices: dict[str, float] = {}
        for one in plan.candidates:
            assert one.machine is not None
            prices[one.machine.name] = min(one.price, prices.get(one.machine.name, inf))
        limit = min((prices[one.name] for one in machine.types if one.name in prices), default=inf)
        machine.types = [
            one
            for one in machine.types
            if _launch_price(plan.solver, one, machine.requirements) < limit
        ]
        return not machine.types


def _launch_price(solver: Solver, machine: MachineType, requirements: Requirements) -> float:
    """Return the most that a launch would cost: of spot where spot may be, else on demand
    (cloudprovider/types.go, WorstLaunchPrice).
    """
    offers = solver.types.offerings(machine, requirements)
    spot = [one.price for one in offers if one.capacity_type == "spot"]
    return max(spot or [one.price for one in offers], default=inf)


def _has_spot(solver: Solver, machine: MachineType, requirements: Requirements) -> bool:
    offers = solver.types.offerings(machine, requirements)
    return any(one.capacity_type == "spot" for one in offers)
