"""A step of all clusters at once."""

from __future__ import annotations

from math import inf

from lab.learning.fast.arrays import Array, Clusters, Outputs, Settings, Streams
from lab.learning.fast.compiling import compiled
from lab.learning.fast.events import admit, begin, fits, is_over, next_event, pass_time
from lab.learning.fast.seeing import observe, reward, write_mask, write_measures

CONTINUOUS = 2


@compiled
def act(streams: Streams, clusters: Clusters, settings: Settings, c: int, action: int) -> int:
    """Admit a slot's job; 0: somebody was admitted, 1: it is time to wait, 2: the admission failed."""
    if not 0 <= action < settings.slots:
        return 1
    if action >= clusters.queued[c]:
        return 2
    if not fits(streams, clusters, c, clusters.queue[c, action]):
        return 2
    admit(streams, clusters, c, action)
    return 0


@compiled
def act_by_priority(
    streams: Streams, clusters: Clusters, settings: Settings, c: int, priorities: Array
) -> int:
    """Admit all of the slots that fit, the highest priority first; one below 0 is held back.

    Overwrites `priorities`.
    """
    count = min(settings.slots, clusters.queued[c])
    jobs = clusters.slots[c]
    for slot in range(count):
        jobs[slot] = clusters.queue[c, slot]
    admitted = False
    for _ in range(count):
        best = -1
        for slot in range(count):
            if priorities[slot] >= 0.0 and (best < 0 or priorities[slot] > priorities[best]):
                best = slot
        if best < 0:
            break
        priorities[best] = -1.0
        if fits(streams, clusters, c, jobs[best]):
            place = 0
            while clusters.queue[c, place] != jobs[best]:
                place += 1
            admit(streams, clusters, c, place)
            admitted = True
    return 0 if admitted else 1


@compiled
def admit_oldest(streams: Streams, clusters: Clusters, settings: Settings, c: int) -> bool:
    """Admit the first slot that fits where waiting would change nothing any more; say whether that was so."""
    if settings.step_seconds > 0 or next_event(streams, clusters, c) != inf:
        return False
    for slot in range(min(settings.slots, clusters.queued[c])):
        if fits(streams, clusters, c, clusters.queue[c, slot]):
            admit(streams, clusters, c, slot)
            return True
    return False


@compiled
def start_episode(streams: Streams, clusters: Clusters, settings: Settings, c: int) -> None:
    """Begin a stream, and go to the first decision where steps have no length."""
    begin(streams, clusters, c)
    if settings.step_seconds == 0:
        pass_time(streams, clusters, settings, c, False)
    clusters.money[c] = 0.0


@compiled
def step_one(
    streams: Streams,
    clusters: Clusters,
    settings: Settings,
    outputs: Outputs,
    c: int,
    action: int,
    priorities: Array,
) -> None:
    """Do what an action says, let time pass, pay, and begin anew where an episode ends."""
    then, before = clusters.now[c], clusters.queued[c]
    if settings.variant == CONTINUOUS:
        result = act_by_priority(streams, clusters, settings, c, priorities)
    else:
        result = act(streams, clusters, settings, c, action)
    clusters.steps[c] += 1
    forced = result != 0 and admit_oldest(streams, clusters, settings, c)
    waits = (result != 0 and not forced) or settings.variant == CONTINUOUS
    pass_time(streams, clusters, settings, c, waits)
    outputs.rewards[c] = reward(streams, clusters, settings, c, then, before, result == 2)
    if settings.step_seconds > 0:
        terminated = clusters.queued[c] == 0 and clusters.steps[c] > settings.least_steps
    else:
        terminated = is_over(streams, clusters, c)
    cut = clusters.steps[c] >= settings.most_steps or clusters.now[c] >= settings.most_seconds
    outputs.terminated[c] = terminated
    outputs.truncated[c] = cut and not terminated
    if terminated or cut:
        observe(streams, clusters, settings, c, outputs.final_observations[c])
        write_measures(streams, clusters, c, outputs)
        clusters.stream[c] = (clusters.stream[c] + len(clusters.stream)) % len(streams.job_count)
        start_episode(streams, clusters, settings, c)
    observe(streams, clusters, settings, c, outputs.observations[c])
    write_mask(streams, clusters, settings, c, outputs.masks[c])


@compiled
def step_all(
    streams: Streams,
    clusters: Clusters,
    settings: Settings,
    outputs: Outputs,
    actions: Array,
    priorities: Array,
) -> None:
    """Step every cluster."""
    for c in range(len(clusters.stream)):
        step_one(streams, clusters, settings, outputs, c, actions[c], priorities[c])


@compiled
def start_all(streams: Streams, clusters: Clusters, settings: Settings, outputs: Outputs) -> None:
    """Begin every cluster's stream."""
    for c in range(len(clusters.stream)):
        start_episode(streams, clusters, settings, c)
        observe(streams, clusters, settings, c, outputs.observations[c])
        write_mask(streams, clusters, settings, c, outputs.masks[c])
