"""From annotations to the values that the kernel is to have: a fold over what is asked for; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.node_annotations import NodeLimit
from schemas.node_limits import LimitRequest, LimitState, RefusedBecause, read_requests
from services.node_agent.machine import CPU_MAX, LEAST_QUOTA_MICROSECONDS, Machine
from services.node_agent.settings import NodeAgentSettings


@dataclass(frozen=True, slots=True)
class Wish:
    """One limit that is asked for: what it comes to on this machine, or why it is not held."""

    request: LimitRequest
    values: Mapping[str, str]
    """The text of each knob; empty where it is not held."""
    state: LimitState = LimitState.IN_FORCE
    reason: RefusedBecause | None = None
    text: str = ""


class _Refused(Exception):
    def __init__(self, reason: RefusedBecause, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def read_wishes(
    annotations: Mapping[str, str],
    machine: Machine,
    settings: NodeAgentSettings,
    *,
    now_seconds: float,
    allocatable_cores: float,
) -> tuple[Wish, ...]:
    """Return each limit that annotations ask for, judged.

    Args:
        annotations: of the Node.
        machine: what there is.
        settings: with the bounds.
        now_seconds: the cluster's time, by which limits end.
        allocatable_cores: what the node offers its pods, of which a CPU cap is a part.
    """
    return tuple(
        _judge(request, machine, settings, now_seconds, allocatable_cores)
        for request in read_requests(annotations)
    )


def next_end(wishes: tuple[Wish, ...]) -> float | None:
    """Return when the next limit ends that is held; None: none is."""
    ends = [wish.request.expires_seconds for wish in wishes if wish.values]
    return min((end for end in ends if end is not None), default=None)


def _judge(
    request: LimitRequest,
    machine: Machine,
    settings: NodeAgentSettings,
    now_seconds: float,
    allocatable_cores: float,
) -> Wish:
    try:
        ratio = _readable_ratio(request)
        expires_seconds = _readable_end(request)
        if expires_seconds <= now_seconds:
            return Wish(request, {}, LimitState.EXPIRED, text=f"ended at {request.expires}")
        if expires_seconds - now_seconds > settings.most_lease_seconds:
            text = f"ends at {request.expires}; at most {settings.most_lease_seconds:g} s ahead are taken"
            raise _Refused(RefusedBecause.LEASE_TOO_LONG, text)
        values = _VALUES[request.limit](ratio, machine, settings, allocatable_cores)
    except _Refused as refused:
        text = f"{request.limit.word} {request.value}: {refused}"
        return Wish(request, {}, LimitState.REFUSED, refused.reason, text)
    return Wish(request, values)


def _readable_ratio(request: LimitRequest) -> float:
    ratio = request.ratio
    if ratio is None:
        raise _Refused(RefusedBecause.UNREADABLE, "give a ratio such as 0.65")
    if not 0 < ratio <= 1:
        raise _Refused(RefusedBecause.OUT_OF_BOUNDS, "give a ratio above 0, at most 1")
    return ratio


def _readable_end(request: LimitRequest) -> float:
    limit = request.limit
    if not request.decision:
        text = f"annotation {limit.decision_key} has to say whose limit it is"
        raise _Refused(RefusedBecause.NO_DECISION, text)
    if not request.expires:
        text = f"annotation {limit.expires_key} has to say when it ends"
        raise _Refused(RefusedBecause.NO_EXPIRY, text)
    expires_seconds = request.expires_seconds
    if expires_seconds is None:
        text = f"annotation {limit.expires_key} = {request.expires[:40]}: give a time such as 2026-01-31T12:00:00Z"
        raise _Refused(RefusedBecause.UNREADABLE, text)
    return expires_seconds


def _clock_values(
    ratio: float, machine: Machine, settings: NodeAgentSettings, _cores: float
) -> dict[str, str]:
    if not machine.policies:
        text = "this machine has no cpufreq (most virtual machines have none)"
        raise _Refused(RefusedBecause.UNSUPPORTED, text)
    if ratio < settings.least_clock_ratio:
        text = f"at least {settings.least_clock_ratio:g} (least_clock_ratio)"
        raise _Refused(RefusedBecause.OUT_OF_BOUNDS, text)
    values = {}
    for policy in machine.policies:
        wanted_khz = math.floor(ratio * policy.most_khz)
        if wanted_khz < policy.least_khz:
            text = f"{wanted_khz} kHz is below the {policy.least_khz} kHz of {policy.name} (cpuinfo_min_freq)"
            raise _Refused(RefusedBecause.OUT_OF_BOUNDS, text)
        values[policy.knob] = str(wanted_khz)
    return values


def _cpu_values(
    ratio: float, machine: Machine, settings: NodeAgentSettings, cores: float
) -> dict[str, str]:
    if machine.group is None:
        raise _Refused(RefusedBecause.UNSUPPORTED, machine.why_no_group)
    if ratio < settings.least_cpu_ratio:
        text = f"at least {settings.least_cpu_ratio:g} (least_cpu_ratio)"
        raise _Refused(RefusedBecause.OUT_OF_BOUNDS, text)
    period = machine.group.period_microseconds
    quota = math.floor(ratio * cores * period)
    if quota < LEAST_QUOTA_MICROSECONDS:
        text = f"{quota} us of each {period} us is less than the kernel takes ({LEAST_QUOTA_MICROSECONDS})"
        raise _Refused(RefusedBecause.OUT_OF_BOUNDS, text)
    return {CPU_MAX: f"{quota} {period}"}


def _unsupported(
    _ratio: float, _machine: Machine, _settings: NodeAgentSettings, _cores: float
) -> dict[str, str]:
    text = "this agent limits clock and CPU time, not memory"
    raise _Refused(RefusedBecause.UNSUPPORTED, text)


_VALUES: Mapping[
    NodeLimit, Callable[[float, Machine, NodeAgentSettings, float], Mapping[str, str]]
] = {
    NodeLimit.CLOCK_SCALE: _clock_values,
    NodeLimit.CPU_CAP: _cpu_values,
    NodeLimit.MEMORY_SCALE: _unsupported,
    NodeLimit.MEMORY_CAP: _unsupported,
}
