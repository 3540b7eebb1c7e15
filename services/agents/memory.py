"""Memory of an agent from cycle to cycle: Services' requests, the cluster's demand, its own wishes.

A pure fold of observations and own proposals. Kept small, since it is part of the agent's checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from schemas.actions import Action, ReplicateAction
from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds, rounded
from schemas.proposal import Proposal, ProposalStatus
from schemas.sizes import PredictionSizes
from schemas.view import ObservationView
from schemas.work import ServiceCounters
from services.agents.demand_sample import DemandSample, demand_sample
from services.agents.leads import Leads, leads_after
from services.agents.machine_memory import (
    MachineMemory,
    remember_disruptions,
    remember_machines,
)
from services.agents.replica_capacity import after_step, in_time_after_step
from services.agents.request_steps import bad_shares, requests_between
from services.agents.scale_up_memory import LoadStep, ScaleUpMemory, remember_scale_up, serves_more
from services.agents.sizing_memory import SizedWorkload, remember_sizes
from services.agents.value_settings import ValueSettings

KEPT_RATES = 60
"""Steps of a Service's rate: a quarter of an hour at 15 s."""
KEPT_CHANGES = 8
KEPT_SAMPLES = 240
"""Samples of the cluster's demand: an hour at 15 s."""
GROWN_STEPS = 2
"""Steps after pods became ready until the share of bad requests, which is of two, is theirs alone."""


class ServiceMemory(DataModel):
    """One Service and the workload behind it."""

    counters: ServiceCounters
    """At the newest look."""
    workload: str
    replicas: int
    """The number that can be set: spec.replicas, or the autoscaler's minReplicas."""
    wanted: int
    """spec.replicas, whoever set it."""
    ready: int
    owner_replicas: int
    """What its owner set, before we changed it."""
    base_replicas: int = 0
    """What the workload had before our raise that stands, whoever set it; 0: none stands."""
    asked_replicas: int = 0
    """What we asked for last; 0: nothing that still stands."""
    changed_seconds: Seconds = 0.0
    """Cluster time of the newest change of replicas; 0 before any was seen."""
    own_changes: tuple[Seconds, ...] = ()
    """Cluster times at which what we had asked for was seen, the newest few."""
    raises: int = 0
    """Our raises that could be judged; one after which many more are served in time, but not all, says nothing yet."""
    cures: int = 0
    """Those of them after which the objective was kept."""
    rates: tuple[Rounded, ...] = ()
    """Requests a second, step by step, newest last."""
    bad_ratio: Rounded = 0.0
    """Share of bad requests over the last two steps."""
    bad: tuple[Rounded, Rounded] = (0.0, 0.0)
    """(bad, all) requests of the newest step."""
    lost: Rounded = 0.0
    """Bad requests of the newest step that were lost with a pod or a machine, or met no pod that was ready."""
    lost_ratio: Rounded = 0.0
    """Their share over the last two steps; replicas cure the others."""
    served_rate: Rounded = 0.0
    """Requests a second that were answered in the newest step, in time or late."""
    newest_raise: ScaleUpMemory = ScaleUpMemory()
    violated_seconds: Seconds = 0.0
    """Cluster time at which the objective was violated last."""
    grown_seconds: Seconds = 0.0
    """Cluster time of the newest look at which more pods were ready than before; 0 before any was seen."""
    borne_rate: Rounded = 0.0
    """Greatest rate of one ready replica at which the objective was kept."""
    in_time_rate: Rounded = 0.0
    """Greatest rate that one ready replica served in time while others of its requests were bad."""
    broken_rate: Rounded = 0.0
    """Smallest rate of one ready replica at which it was violated for a while; 0: none was seen."""
    leads: tuple[Seconds, ...] = Field(default=(), exclude_if=lambda leads: not leads)
    """How long the newest raises took until all pods were ready; only where a forecast is acted on."""
    awaited: bool = Field(default=False, exclude_if=lambda awaited: not awaited)
    """Whether pods of our newest raise are not ready yet; likewise."""

    @property
    def overloaded_ratio(self) -> float:
        """Share of bad requests among those that ready pods kept, over the last two steps: what replicas cure."""
        kept = 1.0 - self.lost_ratio
        return rounded((self.bad_ratio - self.lost_ratio) / kept) if kept > 0.0 else 0.0

    @property
    def rate(self) -> float:
        """Requests a second in the newest step."""
        return self.rates[-1] if self.rates else 0.0

    @property
    def replica_rate(self) -> float:
        """Requests a second of one ready replica in the newest step."""
        return self.rate / max(1, self.ready)

    @property
    def load(self) -> LoadStep:
        """The newest step, to be compared with one after a raise."""
        bad, every = self.bad
        in_time_rate = self.rate * (1.0 - bad / every) if every > 0.0 else 0.0
        rates = (self.served_rate, rounded(in_time_rate))
        return LoadStep(rounded(self.replica_rate), self.overloaded_ratio, *rates)

    @property
    def raised(self) -> bool:
        """Whether it has more replicas than its owner set, by our wish."""
        return self.asked_replicas > 0 and self.replicas > self.owner_replicas

    @property
    def surge_pods(self) -> int:
        """Pods that it has by our raise."""
        return max(0, self.replicas - self.base_replicas) if self.raised else 0


class WantedAction(DataModel):
    """An action that was wanted and of which the cluster shows nothing yet."""

    first_seconds: Seconds
    last_seconds: Seconds
    times: int


class Memory(DataModel):
    """Everything an agent remembers."""

    time_seconds: Seconds = 0.0
    services: dict[str, ServiceMemory] = {}
    demand: tuple[DemandSample, ...] = ()
    wishes: dict[str, WantedAction] = {}
    """By kind and target."""
    held_pod_seconds: Rounded = 0.0
    """Counter at the newest look."""
    held_pods: Rounded = 0.0
    """Mean number of pods held back since the look before."""
    raises: int = 0
    """Violations that we answered with more replicas and that could be judged."""
    cures: int = 0
    """Those of them after which the objective was kept."""
    machines: MachineMemory = MachineMemory()
    sized: dict[str, SizedWorkload] = Field(default={}, exclude_if=lambda sized: not sized)
    """Workloads whose requests this agent wished to change."""


def wish_key(action: Action) -> str:
    """Return what tells wishes apart: kind, word and target."""
    return f"{action.full_kind} {action.target.name}"


def remember_view(memory: Memory, view: ObservationView, settings: ValueSettings) -> Memory:
    """Return the memory after an observation."""
    now = view.cluster_time_seconds
    services = _services(memory, view, settings)
    held = 0.0 if view.work is None else view.work.held_pod_seconds
    elapsed = now - memory.time_seconds if memory.demand else 0.0
    known = {name: memory.services.get(name, service) for name, service in services.items()}
    return Memory.model_construct(
        time_seconds=now,
        services=services,
        demand=(*memory.demand, demand_sample(view))[-KEPT_SAMPLES:],
        wishes={
            key: wish
            for key, wish in memory.wishes.items()
            if now - wish.last_seconds < settings.retry_seconds
        },
        held_pod_seconds=held,
        held_pods=rounded(max(0.0, held - memory.held_pod_seconds) / elapsed)
        if elapsed > 0.0
        else 0.0,
        raises=memory.raises + _growth(known, services, "raises"),
        cures=memory.cures + _growth(known, services, "cures"),
        machines=remember_machines(memory.machines, view, elapsed),
        sized=memory.sized,
    )


def remember_proposal(
    memory: Memory,
    proposal: Proposal,
    view: ObservationView | None,
    sizes: PredictionSizes | None = None,
) -> Memory:
    """Return the memory after the agent's own proposal was stored; `view` and `sizes` are what it was made of."""
    if proposal.status is not ProposalStatus.PROPOSED:
        return memory
    now, services = proposal.cluster_time_seconds, dict(memory.services)
    key = wish_key(proposal.action)
    known = memory.wishes.get(key)
    times, first = (1, now) if known is None else (known.times + 1, known.first_seconds)
    # Only the first wish counts as tried: the others may have had no room.
    wish = WantedAction(first_seconds=first, last_seconds=now, times=times)
    wishes = {**memory.wishes, key: wish}
    actions = (proposal.action, *(wish.action for wish in proposal.further))
    for action in actions:
        if isinstance(action, ReplicateAction) and action.replicas is not None:
            _note_asked(services, action.target.name, action.replicas)
    machines = remember_disruptions(memory.machines, actions, view, now)
    return memory.model_copy(
        update={
            "wishes": wishes,
            "services": services,
            "machines": machines,
            "sized": remember_sizes(memory.sized, actions, sizes, now),
        }
    )


def is_given_up(memory: Memory, action: Action, settings: ValueSettings) -> bool:
    """Say whether an action was wanted for a while without effect: some guard rail or right forbids it."""
    wish = memory.wishes.get(wish_key(action))
    return wish is not None and wish.times >= settings.tries


def _note_asked(services: dict[str, ServiceMemory], workload: str, replicas: int) -> None:
    for name, service in services.items():
        if service.workload == workload:
            services[name] = service.model_copy(update={"asked_replicas": replicas})


def _services(
    memory: Memory, view: ObservationView, settings: ValueSettings
) -> dict[str, ServiceMemory]:
    table, work = view.services, view.work
    if table is None or work is None or work.services is None:
        return {}
    counters = {one.service: one for one in work.services}
    services: dict[str, ServiceMemory] = {}
    for row, name in enumerate(table.ids):
        look = _ServiceRow(
            counters=counters[name],
            workload=table.workload[row],
            replicas=table.least[row] if table.autoscaled[row] else table.wanted[row],
            wanted=table.wanted[row],
            ready=table.ready[row],
            now=view.cluster_time_seconds,
        )
        before = memory.services.get(name)
        if before is None or before.workload != look.workload:
            services[name] = _first_seen(look)
        elif look.now > memory.time_seconds:
            services[name] = _next_seen(before, look, memory.time_seconds, settings)
        else:
            services[name] = before
    return services


class _ServiceRow(NamedTuple):
    """A Service as one observation shows it."""

    counters: ServiceCounters
    workload: str
    replicas: int
    wanted: int
    ready: int
    now: float


def _first_seen(look: _ServiceRow) -> ServiceMemory:
    return ServiceMemory.model_construct(
        counters=look.counters,
        workload=look.workload,
        replicas=look.replicas,
        wanted=look.wanted,
        ready=look.ready,
        owner_replicas=look.replicas,
        violated_seconds=look.now,
        grown_seconds=look.now,
    )


def _next_seen(
    before: ServiceMemory, look: _ServiceRow, last_seconds: float, settings: ValueSettings
) -> ServiceMemory:
    elapsed = look.now - last_seconds
    requests = requests_between(before.counters, look.counters, settings.slo_latency_seconds)
    bad, every = requests.bad, requests.every
    rate, ready = every / elapsed, max(1, look.ready)
    bad_ratio, lost_ratio = bad_shares(*before.bad, before.lost, requests)
    violates = bad_ratio > settings.slo_bad_ratio
    changed = look.replicas != before.replicas or look.wanted != before.wanted
    changed_seconds = look.now if changed else before.changed_seconds
    grown_seconds = look.now if look.ready > before.ready else before.grown_seconds
    rested = look.now - changed_seconds >= settings.settle_seconds
    asked, owner = _owned(before, look)
    judged = _is_judged(before, changed_seconds, last_seconds, look.now, settings)
    ours = look.replicas != before.replicas and _is_ours(before, look)
    base = before.wanted if ours and not before.raised else before.base_replicas
    # Both steps have to say the same, and lost requests say nothing of what a replica bears.
    lacks = bad_ratio - lost_ratio > settings.slo_bad_ratio
    settled = look.ready == look.wanted and rested
    settled = settled and look.now - grown_seconds >= GROWN_STEPS * elapsed
    agree = settled and lacks == violates == (bad > settings.slo_bad_ratio * every)
    borne, broken = after_step(
        before.borne_rate, before.broken_rate, rate / ready,
        violates=violates if agree else None, violated=before.bad_ratio > 0.0,
    )  # fmt: skip
    in_time = (every - bad) / elapsed / ready
    own_changes = (*before.own_changes, *((look.now,) if ours else ()))[-KEPT_CHANGES:]
    raised = ours and look.replicas > before.replicas
    leads = Leads(before.leads, before.awaited)
    if settings.forecast:
        since = look.now - (own_changes[-1] if own_changes else look.now)
        is_ready = look.ready >= max(look.wanted, look.replicas)
        leads = leads_after(leads, since, elapsed, raised=raised, ready=is_ready)
    service = ServiceMemory.model_construct(
        counters=look.counters,
        workload=look.workload,
        replicas=look.replicas,
        wanted=look.wanted,
        ready=look.ready,
        owner_replicas=owner,
        base_replicas=base if asked else 0,
        asked_replicas=asked,
        changed_seconds=changed_seconds,
        own_changes=own_changes,
        rates=(*before.rates, rounded(rate))[-KEPT_RATES:],
        bad_ratio=rounded(bad_ratio),
        bad=(rounded(bad), rounded(every)),
        lost=rounded(requests.lost),
        lost_ratio=rounded(lost_ratio),
        served_rate=rounded(requests.served / elapsed),
        violated_seconds=look.now if violates else before.violated_seconds,
        grown_seconds=grown_seconds,
        borne_rate=borne,
        in_time_rate=in_time_after_step(before.in_time_rate, in_time, violates=violates),
        broken_rate=broken,
        leads=leads.seconds,
        awaited=leads.awaited,
    )
    return _after_raise(before, service, settings, look.now, (raised, rested, judged))


def _after_raise(
    before: ServiceMemory,
    service: ServiceMemory,
    settings: ValueSettings,
    now: float,
    of_raise: tuple[bool, bool, bool],
) -> ServiceMemory:
    """Return the Service with what the newest raise says: whether it was made now, has settled, and settles now."""
    raised, settled, judged = of_raise
    cured, quiet = now != service.violated_seconds, now - service.violated_seconds
    newest_raise = remember_scale_up(
        before.newest_raise, (before.load, service.load), raised=raised, settled=settled, judged=judged,
        cured=cured, quiet=quiet >= settings.quiet_seconds, slo_bad_ratio=settings.slo_bad_ratio,
    )  # fmt: skip
    counts = judged and (cured or not serves_more(before.newest_raise, service.load))
    update = {"raises": before.raises + counts, "cures": before.cures + (judged and cured)}
    return service.model_copy(update={"newest_raise": newest_raise, **update})


def _owned(before: ServiceMemory, look: _ServiceRow) -> tuple[int, int]:
    """Return what we asked for and still stands, and the owner's own number.

    A number that changed to something that we did not ask for is its owner's.
    """
    if look.replicas == before.replicas:
        return before.asked_replicas, before.owner_replicas
    if _is_ours(before, look):
        return before.asked_replicas, before.owner_replicas
    return 0, look.replicas


def _is_ours(before: ServiceMemory, look: _ServiceRow) -> bool:
    """Say whether a changed number is what we asked for; a raise may have been cut by a quota or a maximum."""
    cut = before.replicas < look.replicas <= before.asked_replicas
    return cut or look.replicas == before.asked_replicas


def _is_judged(
    before: ServiceMemory, changed: float, last: float, now: float, settings: ValueSettings
) -> bool:
    """Say whether a raise of ours has now had time to settle: each is judged once."""
    return before.raised and last < changed + settings.settle_seconds <= now


def _growth(
    before: Mapping[str, ServiceMemory], now: Mapping[str, ServiceMemory], name: str
) -> int:
    return sum(max(0, getattr(one, name) - getattr(before[key], name)) for key, one in now.items())
