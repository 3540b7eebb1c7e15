"""What is seen and paid of one cluster of many; as `observation` and `rewards`."""

from __future__ import annotations

from math import inf, log1p

from lab.learning import observation as plain
from lab.learning import rewards
from lab.learning.fast.arrays import Array, Clusters, Outputs, Settings, Streams
from lab.learning.fast.compiling import compiled
from lab.learning.fast.events import fits, next_event
from lab.learning.measures import SHORT_SECONDS
from lab.learning.simulator import OOM_WINDOW_SECONDS

SLOTS, CLUSTER_NUMBERS, JOB_NUMBERS = plain.SLOTS, plain.CLUSTER_NUMBERS, plain.JOB_NUMBERS
WIDE_CLUSTER_NUMBERS, WIDE_JOB_NUMBERS = plain.WIDE_CLUSTER_NUMBERS, plain.WIDE_JOB_NUMBERS
MOST_RUNNING, MOST_PRIORITY = float(plain.MOST_RUNNING), float(plain.MOST_PRIORITY)
MOST_WAIT, MOST_ESTIMATE = float(plain.MOST_WAIT_MINUTES), float(plain.MOST_ESTIMATE_MINUTES)
MINUTE, HOUR = plain.MINUTE_SECONDS, rewards.HOUR_SECONDS
LOG_SECONDS, LOG_QUEUE = log1p(plain.LONG_SECONDS), log1p(plain.LONG_QUEUE)
THROUGHPUT, UTILIZATION = rewards.THROUGHPUT, rewards.UTILIZATION
WAIT, FAILURE = rewards.WAIT, rewards.FAILURE
AGED, AGING_SECONDS = rewards.REWARDS.index("aged"), rewards.AGING_SECONDS


@compiled
def share(part: float, whole: float) -> float:
    """Return a part of a whole, 0 of nothing."""
    return part / whole if whole else 0.0


@compiled
def unit(value: float) -> float:
    """Clip to [0, 1]."""
    return min(1.0, max(0.0, value))


@compiled
def log_unit(value: float, log_most: float) -> float:
    """Return a logarithmic scale's place of a value."""
    return min(1.0, log1p(max(0.0, value)) / log_most)


@compiled
def oom_ratio(clusters: Clusters, c: int) -> float:
    """Return the share of the hour's ends that were for want of memory."""
    first = clusters.first_ended[c]
    while first < clusters.ended[c] and (
        clusters.ended_at[c, first] <= clusters.now[c] - OOM_WINDOW_SECONDS
    ):
        first += 1
    clusters.first_ended[c] = first
    count = clusters.ended[c] - first
    if count == 0:
        return 0.0
    ooms = 0
    for at in range(first, clusters.ended[c]):
        ooms += clusters.ended_oom[c, at]
    return float(ooms / count)


@compiled
def mean_wait(streams: Streams, clusters: Clusters, c: int) -> float:
    """Return the mean wait of the queue in seconds."""
    count = clusters.queued[c]
    if count == 0:
        return 0.0
    arrivals = 0.0
    for place in range(count):
        arrivals += streams.arrival[clusters.stream[c], clusters.queue[c, place]]
    return float(clusters.now[c] - arrivals / count)


@compiled
def used(streams: Streams, clusters: Clusters, c: int, resource: int) -> float:
    """Return the share of a resource that is taken."""
    quota = streams.quota[clusters.stream[c], resource]
    return float((quota - clusters.free[c, resource]) / max(quota, 1))


@compiled
def observe_skrueue(streams: Streams, clusters: Clusters, c: int, seen: Array) -> None:
    """Write the 67 numbers."""
    stream, now = clusters.stream[c], clusters.now[c]
    quota, free = streams.quota[stream], clusters.free[c]
    seen[0], seen[1] = share(free[0], quota[0]), share(free[1], quota[1])
    seen[2], seen[3] = used(streams, clusters, c, 0), used(streams, clusters, c, 1)
    seen[4] = min(clusters.running[c] / MOST_RUNNING, 1.0)
    seen[5] = seen[2]
    seen[6] = oom_ratio(clusters, c)
    count = min(SLOTS, clusters.queued[c])
    for slot in range(count):
        job, at = clusters.queue[c, slot], CLUSTER_NUMBERS + slot * JOB_NUMBERS
        seen[at] = share(streams.requests[stream, job, 0], quota[0])
        seen[at + 1] = share(streams.requests[stream, job, 1], quota[1])
        seen[at + 2] = unit(streams.priority[stream, job] / MOST_PRIORITY)
        seen[at + 3] = unit((now - streams.arrival[stream, job]) / MINUTE / MOST_WAIT)
        seen[at + 4] = unit(streams.estimate[stream, job] / MINUTE / MOST_ESTIMATE)
        seen[at + 5] = streams.kind[stream, job]
    seen[CLUSTER_NUMBERS + count * JOB_NUMBERS :] = 0.0


@compiled
def observe_wide(streams: Streams, clusters: Clusters, c: int, slots: int, seen: Array) -> None:
    """Write the numbers of the variants `score` and `continuous`."""
    seen[:] = 0.0
    observe_cluster(streams, clusters, c, slots, seen)
    for slot in range(min(slots, clusters.queued[c])):
        at = WIDE_CLUSTER_NUMBERS + slot * WIDE_JOB_NUMBERS
        observe_job(streams, clusters, c, slot, seen[at : at + WIDE_JOB_NUMBERS])


@compiled
def observe_cluster(streams: Streams, clusters: Clusters, c: int, slots: int, seen: Array) -> None:
    """Write the numbers that are no slot's, over zeros."""
    quota, free = streams.quota[clusters.stream[c]], clusters.free[c]
    for resource in range(3):
        seen[resource] = share(free[resource], quota[resource])
    seen[3] = log_unit(clusters.running[c], LOG_QUEUE)
    seen[4] = oom_ratio(clusters, c)
    seen[5] = log_unit(clusters.queued[c], LOG_QUEUE)
    seen[6] = log_unit(mean_wait(streams, clusters, c), LOG_SECONDS)
    observe_beyond(streams, clusters, c, slots, seen)


@compiled
def observe_job(streams: Streams, clusters: Clusters, c: int, slot: int, seen: Array) -> None:
    """Write a slot's numbers."""
    stream, job = clusters.stream[c], clusters.queue[c, slot]
    quota = streams.quota[stream]
    for resource in range(3):
        seen[resource] = share(streams.requests[stream, job, resource], quota[resource])
    seen[3] = unit(streams.priority[stream, job] / MOST_PRIORITY)
    seen[4] = log_unit(clusters.now[c] - streams.arrival[stream, job], LOG_SECONDS)
    seen[5] = log_unit(streams.estimate[stream, job], LOG_SECONDS)
    seen[6] = streams.kind[stream, job]
    seen[7] = 1.0 if fits(streams, clusters, c, job) else 0.0
    seen[8] = 1.0


@compiled
def observe_beyond(streams: Streams, clusters: Clusters, c: int, slots: int, seen: Array) -> None:
    """Write what is told of the jobs behind the last slot."""
    stream, quota = clusters.stream[c], streams.quota[clusters.stream[c]]
    count = clusters.queued[c] - slots
    if count <= 0:
        return
    cpu = memory = gpus = fitting = 0
    estimates = 0.0
    for place in range(slots, clusters.queued[c]):
        job = clusters.queue[c, place]
        cpu += streams.requests[stream, job, 0]
        memory += streams.requests[stream, job, 1]
        gpus += streams.requests[stream, job, 2]
        estimates += streams.estimate[stream, job]
        fitting += fits(streams, clusters, c, job)
    seen[7] = log_unit(count, LOG_QUEUE)
    seen[8] = share(cpu, quota[0] * count)
    seen[9] = share(memory, quota[1] * count)
    seen[10] = share(gpus, quota[2] * count)
    seen[11] = log_unit(estimates / count, LOG_SECONDS)
    seen[12] = fitting / count


@compiled
def observe(streams: Streams, clusters: Clusters, settings: Settings, c: int, seen: Array) -> None:
    """Write what a variant sees."""
    if settings.variant == 0:
        observe_skrueue(streams, clusters, c, seen)
    else:
        observe_wide(streams, clusters, c, settings.slots, seen)


@compiled
def write_mask(
    streams: Streams, clusters: Clusters, settings: Settings, c: int, mask: Array
) -> None:
    """Write which actions would change anything."""
    any_fits = False
    mask[:] = False
    slots = settings.slots
    for slot in range(min(slots, clusters.queued[c])):
        mask[slot] = fits(streams, clusters, c, clusters.queue[c, slot])
        any_fits = any_fits or mask[slot]
    something_comes = not settings.work_conserving and next_event(streams, clusters, c) != inf
    mask[slots] = not any_fits or something_comes


@compiled
def bounded(wait: float, running: float) -> float:
    """Return bounded slowdown."""
    return max(1.0, (wait + running) / max(running, SHORT_SECONDS))


@compiled
def reward(
    streams: Streams,
    clusters: Clusters,
    settings: Settings,
    c: int,
    then: float,
    before: int,
    failed: bool,
) -> float:
    """Return what a step earned that began at `then` with `before` jobs in the queue."""
    stream, now = clusters.stream[c], clusters.now[c]
    if settings.reward == 0:
        if streams.quota[stream, 0] == 0 or streams.quota[stream, 1] == 0:
            return -1.0
        drop = max(0, before - clusters.queued[c])
        shares = used(streams, clusters, c, 0) + used(streams, clusters, c, 1)
        wait = min(mean_wait(streams, clusters, c) / HOUR, 1.0)
        earned = THROUGHPUT * drop + UTILIZATION * shares / 2 - WAIT * wait - FAILURE * failed
        return float(max(-1.0, min(1.0, earned)))
    total = 0.0
    for place in range(clusters.queued[c]):
        job = clusters.queue[c, place]
        arrival = streams.arrival[stream, job]
        if settings.reward == 1:
            total += settings.held_price * streams.pods[stream, job] * (now - max(then, arrival))
        else:
            running = streams.running[stream, job]
            wait, earlier = now - arrival, max(0.0, then - arrival)
            total += bounded(wait, running) - bounded(earlier, running)
            if settings.reward == AGED:
                total += (wait**2 - earlier**2) / AGING_SECONDS**2
    money = clusters.money[c] if settings.reward == 1 else 0.0
    clusters.money[c] = 0.0
    return float(money - total)


@compiled
def write_measures(streams: Streams, clusters: Clusters, c: int, outputs: Outputs) -> None:
    """Write how the jobs of an episode that ends now have fared."""
    stream, now = clusters.stream[c], clusters.now[c]
    started = ended = 0
    waits = slowdowns = 0.0
    for job in range(streams.job_count[stream]):
        start, running = clusters.start[c, job], streams.running[stream, job]
        if start >= 0.0:  # not NaN
            wait = start - streams.arrival[stream, job]
            started += 1
            waits += wait
            if start + running <= now:
                ended += 1
                slowdowns += bounded(wait, running)
    outputs.final_wait[c] = waits / started if started else 0.0
    outputs.final_slowdown[c] = slowdowns / ended if ended else 1.0
    outputs.final_completed[c] = clusters.completed[c]
    outputs.final_failed[c] = clusters.ended[c] - clusters.completed[c]
