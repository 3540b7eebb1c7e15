"""Answers to the questions that people bring: why is this pod pending, why is this node avoided, why did
the autoscaler not scale, why is this workload not as wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from projections.figures import number, number_beside, percent
from projections.objects.answer import ObjectAnswer
from projections.objects.autoscaler_answers import why_not_more, wish_of
from projections.objects.entries import acts, cause_of, change_text, object_entries
from projections.objects.headroom import NodeHeadroom, headrooms
from projections.objects.history import ObjectHistory
from projections.objects.names import ObjectKind
from projections.times import clock
from schemas.agents import action_label
from schemas.outcome import ExecutionPhase
from schemas.reaction import ReactionItem, ReactionKind
from schemas.wording import count_text

QUESTIONS: Mapping[ObjectKind, str] = {
    ObjectKind.POD: "why is it pending?",
    ObjectKind.WORKLOAD: "does it have the pods that it wants?",
    ObjectKind.HPA: "did it scale, and if not, why?",
    ObjectKind.NODE: "why is it avoided?",
}
NEAREST = 3
"""Nodes that are named among those with the most room."""
GIB = 2**30
Facts = Iterator[str]


def answer_of(history: ObjectHistory) -> ObjectAnswer:
    """Return the answer for one object of which the log knows something."""
    sentence, facts = ANSWERS[history.kind]
    cycles = (event.cycle for event in acts(history) if event.data.phase is ExecutionPhase.FINISHED)
    return ObjectAnswer(
        kind=str(history.kind),
        name=history.name,
        question=QUESTIONS[history.kind],
        answer=sentence(history),
        facts=tuple(facts(history)),
        entries=object_entries(history),
        decisions=tuple(dict.fromkeys(cycles)),
        last_seconds=history.last_seconds,
        unreadable=history.unreadable,
    )


def duration(seconds: float) -> str:
    """Write a duration for people: `45 s`, `6 min 05 s`, `2 h 03 min`."""
    whole = round(max(0.0, seconds))
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _newest(history: ObjectHistory, *kinds: ReactionKind) -> ReactionItem | None:
    own = [
        reaction.item
        for reaction in history.reactions
        if reaction.item.kind in kinds and reaction.item.object == history.name
    ]
    return own[-1] if own else None


# ---- pod


def _pod_sentence(history: ObjectHistory) -> str:
    row = history.row
    if row and not history.is_gone and row["phase"] == "Pending":
        waited = duration(history.last_seconds - row["created_time_seconds"])
        since = f"since {clock(row['created_time_seconds'])} ({waited} so far)"
        if row["node"]:
            why = row["status_reason"] or "its containers are not running yet"
            return f"it has a node, {row['node']}, and is starting {since}: {why}"
        return f"it is pending {since}: {_pending_reason(history)}"
    scheduled = _newest(history, ReactionKind.POD_SCHEDULED)
    ready = _newest(history, ReactionKind.POD_READY)
    failed = _newest(history, ReactionKind.POD_FAILED)
    newest = max(
        (item for item in (scheduled, ready, failed) if item is not None),
        key=lambda item: item.time_seconds,
        default=None,
    )
    if newest is None:
        return "it is not pending: it is gone, and the log does not say that it ever got a node"
    if newest is failed:
        return f"it is not pending: {failed.text}"
    waited = ""
    if scheduled is not None and scheduled.lag_seconds is not None:
        waited = f" It waited {duration(scheduled.lag_seconds)} for its node."
    return f"it is not pending: {newest.text} at {clock(newest.time_seconds)}.{waited}"


def _pending_reason(history: ObjectHistory) -> str:
    row = history.row
    kind = history.observed.get("pending_class") or "no class yet"
    text = row["status_message"] or row["status_reason"] or "the scheduler has not judged it yet"
    return f"{kind}. The scheduler says: {text}"


def _pod_facts(history: ObjectHistory) -> Facts:
    row = history.row
    if history.workload:
        yield f"belongs to {history.workload}"
    yield from _waits(history)
    if not row:
        return
    gpus = f", {row['gpus_requested']} GPUs" if row["gpus_requested"] else ""
    memory = row["memory_request_bytes"] / GIB
    yield f"requests {number(row['cpu_request_cores'])} cores, {number(memory)} GiB{gpus}"
    if not history.is_gone and row["phase"] == "Pending" and not row["node"]:
        yield from _room_facts(history)


def _waits(history: ObjectHistory) -> Facts:
    """Yield how long each class of reason held, from its first mention to the next."""
    pending = [
        reaction.item
        for reaction in history.reactions
        if reaction.item.kind is ReactionKind.POD_PENDING and reaction.item.object == history.name
    ]
    end = _newest(history, ReactionKind.POD_SCHEDULED)
    last = history.last_seconds if end is None else end.time_seconds
    until = [*(item.time_seconds for item in pending[1:]), last]
    for item, over in zip(pending, until, strict=True):
        if item.pending_class is not None:
            waited = duration(over - item.time_seconds)
            yield f"waited for {item.pending_class} from {clock(item.time_seconds)} on, for {waited}"


def _room_facts(history: ObjectHistory) -> Facts:
    every = headrooms(history.tables)
    if not every:
        return
    fitting = [room for room in every if not room.lacks(history.row)]
    usable = [room for room in fitting if room.usable]
    if usable:
        names = ", ".join(room.name for room in usable[:NEAREST])
        yield (
            f"by requests it would fit on {len(usable)} of {len(every)} nodes, such as {names}: look "
            "for a selector, an affinity, a taint or a volume"
        )
    else:
        yield f"by requests no usable node of {len(every)} has room for it"
    for room in [room for room in fitting if not room.usable][:NEAREST]:
        yield f"{room.name} has room but is {room.obstacle}{_because(history, room)}"
    if not fitting:
        most = sorted(every, key=lambda room: (-room.cpu_cores, room.name))[:NEAREST]
        yield "most free: " + "; ".join(_room_text(room, history) for room in most)


def _room_text(room: NodeHeadroom, history: ObjectHistory) -> str:
    lacks = " and ".join(room.lacks(history.row))
    memory = room.memory_bytes / GIB
    return f"{room.name} {number(room.cpu_cores)} cores, {number(memory)} GiB (too little {lacks})"


def _because(history: ObjectHistory, room: NodeHeadroom) -> str:
    cycle = history.node_cycles.get(room.name)
    return "" if cycle is None else f" (by our decision of cycle {cycle})"


# ---- workload


def _pods(count: int) -> str:
    return count_text(count, "pod")


def _workload_sentence(history: ObjectHistory) -> str:
    row = history.row
    if not row:
        return "the log names it, but no snapshot shows how many pods it wants"
    if history.is_gone:
        return f"it is gone; it was last seen at {clock(history.seen_seconds or 0.0)}"
    desired, ready = row["wanted"], row["ready"]
    if row["suspended"]:
        return f"it is suspended: it wants {count_text(desired, 'pod')} and none may start"
    if "/Job/" in history.name:
        return f"it runs up to {_pods(desired)} at once; {row['succeeded']} succeeded, {row['failed']} failed"
    if ready >= desired:
        return f"yes: {ready} of {_pods(desired)} that it wants are ready"
    return f"no: {ready} of {_pods(desired)} are ready; {desired - ready} missing"


def _workload_facts(history: ObjectHistory) -> Facts:
    pods = history.tables.get("pods")
    if pods is not None:
        own = [pods.row(number) for number, of in enumerate(pods.workload) if of == history.name]  # type: ignore[attr-defined]
        for row in [row for row in own if row["phase"] == "Pending"][:NEAREST]:
            text = row["status_message"] or row["status_reason"] or "not judged yet"
            yield f"pod {row['ids']} is pending: {text}"
    yield from _placements(history, history.name)


def _placements(history: ObjectHistory, workload: str) -> Facts:
    placements = history.tables.get("placements")
    rows = () if placements is None else placements.ids
    nodes = sorted(name.partition("|")[0] for name in rows if name.partition("|")[2] == workload)
    if nodes:
        more = f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""
        yield f"has pods on {', '.join(nodes[:8])}{more}"


# ---- autoscaler


def _hpa_sentence(history: ObjectHistory) -> str:
    change = _newest(history, ReactionKind.HPA_CHANGE)
    reason_text = why_not_more(history.autoscaler)
    if change is None:
        return f"it changed nothing in this log{f': {reason_text}' if reason_text else ''}"
    before, after = round(change.before or 0), round(change.after or 0)
    ago = duration(history.last_seconds - change.time_seconds)
    text = f"it last scaled {history.workload} from {before} to {after} at {clock(change.time_seconds)} ({ago} ago)"
    row = history.row
    if not row:
        return text
    state = f"{row['ready']} of {row['wanted']} pods are ready"
    if row["wanted"] != after:
        return f"{text}, but {history.workload} wants {count_text(row['wanted'], 'pod')} now: somebody else changed it"
    return f"{text}; {state}{f'; {reason_text}' if reason_text else ''}"


def _hpa_facts(history: ObjectHistory) -> Facts:
    yield f"scales {history.workload}"
    if (state := history.autoscaler) is not None:
        yield (f"{wish_of(state)}, between {state.min_replicas} and {state.max_replicas}")
    changes = [
        reaction.item
        for reaction in history.reactions
        if reaction.item.kind is ReactionKind.HPA_CHANGE and reaction.item.object == history.name
    ]
    if len(changes) > 1:
        gaps = [later.time_seconds - earlier.time_seconds for earlier, later in pairwise(changes)]
        yield f"changed its target {count_text(len(changes), 'time')}, at least {duration(min(gaps))} apart"
    for change in changes[-NEAREST:]:
        yield from _time_until_ready(history, change)
    yield from _placements(history, history.workload)


def _time_until_ready(history: ObjectHistory, change: ReactionItem) -> Facts:
    """Yield how long it took until as many pods were ready as an increase had asked for."""
    target, before = round(change.after or 0), round(change.before or 0)
    if target <= before:
        return
    enough = [
        later
        for later in history.changes
        if later.field == "ready"
        and later.after >= target
        and later.time_seconds >= change.time_seconds
    ]
    at = clock(change.time_seconds)
    if enough:
        lag = duration(enough[0].time_seconds - change.time_seconds)
        yield f"the {count_text(target, 'pod')} asked for at {at} became ready within {lag}"
    else:
        yield f"the {count_text(target, 'pod')} asked for at {at} did not all become ready since"


# ---- node


def _node_sentence(history: ObjectHistory) -> str:
    row = history.row
    if not row:
        return "the log names it, but no snapshot shows it"
    if history.is_gone:
        return f"it is gone; it was last seen at {clock(history.seen_seconds or 0.0)}"
    obstacles = list(_obstacles(history))
    if not obstacles:
        return "nothing in the log makes the scheduler avoid it: it is ready, schedulable and switched on"
    return "; ".join(obstacles)


def _obstacles(history: ObjectHistory) -> Iterator[str]:
    row = history.row
    if nothing := [word for word, column in _OFFERED.items() if row[column] <= 0]:
        yield f"it takes no pods: it offers no {' and no '.join(nothing)}, or does not say how much"
    usual = {"ready": True, "schedulable": True, "power_state": "on"}
    for column, good in usual.items():
        if row[column] == good:
            continue
        change = next(change for change in reversed(history.changes) if change.field == column)
        if change.before is None:
            since = f"since the log begins for it, {clock(change.time_seconds)}"
        else:
            since = f"since {clock(change.time_seconds)}"
        text = change_text(history.kind, column, change.before, row[column])
        cause = cause_of(history, change)
        by = ""
        if cause is not None:
            by = f", by our {action_label(cause.data.action)} of cycle {cause.cycle} ({cause.data.text})"
        yield f"{text} {since}{by}"


_OFFERED = {
    "CPU": "cpu_allocatable_cores",
    "memory": "memory_allocatable_bytes",
    "pods": "pods_allocatable",
}


def _share(ratio: float | None) -> str:
    return "unknown" if ratio is None else percent(ratio)


def _node_facts(history: ObjectHistory) -> Facts:
    row, observed = history.row, history.observed
    if history.risks:
        at, ratio, alarm, seq = history.risks[-1]
        limit = "" if alarm is None else f", which acts at {number_beside(alarm, ratio)}"
        yield f"predicted risk {number_beside(ratio, alarm)} at {clock(at)} (seq {seq}){limit}"
    if observed:
        used = observed["cpu_used_ratio"]
        measured = "usage unknown" if used is None else f"{percent(used)} used"
        cpu, memory = (observed[f"{name}_requested_ratio"] for name in ("cpu", "memory"))
        yield (
            f"CPU {_share(cpu)} requested, {measured}; memory {_share(memory)} requested; "
            f"{count_text(observed['pods'], 'pod')}, {observed['unhealthy_pods']} of them unhealthy"
        )
    limits = [
        f"{name.removesuffix('_ratio').replace('_', ' ')} {number(row[name])}"
        for name in ("clock_scale_ratio", "memory_scale_ratio", "cpu_cap_ratio", "memory_cap_ratio")
        if row and row[name] != 1.0
    ]
    if limits:
        yield f"limited: {', '.join(limits)}"
    for event in acts(history)[-NEAREST:]:
        why = history.rationales.get(event.cycle)
        if why and event.data.phase is ExecutionPhase.FINISHED:
            yield f"cycle {event.cycle} decided: {why}"


ANSWERS: Mapping[
    ObjectKind, tuple[Callable[[ObjectHistory], str], Callable[[ObjectHistory], Facts]]
] = {
    ObjectKind.POD: (_pod_sentence, _pod_facts),
    ObjectKind.WORKLOAD: (_workload_sentence, _workload_facts),
    ObjectKind.HPA: (_hpa_sentence, _hpa_facts),
    ObjectKind.NODE: (_node_sentence, _node_facts),
}
