"""Which value of each key an event or a row is counted under; -1: none."""

from __future__ import annotations

import numpy as np

from features.history.events import Anchors, JobEvents, TaskEvents
from features.history.keys import millionths, mix_keys
from features.history.tables import I64


def event_keys(key: str, rows: TaskEvents | Anchors) -> I64:
    """Return each row's value of a key that task events are counted under."""
    if key == "task":
        return mix_keys(rows.job, rows.task.astype(np.int64))
    if key == "cell":
        return np.zeros(len(rows), dtype=np.int64)
    if key == "shape":
        return _shapes(rows)
    if key == "place":
        return np.where(rows.name < 0, -1, mix_keys(rows.name, rows.task.astype(np.int64)))
    if key == "slot":
        return mix_keys(_shapes(rows), rows.task.astype(np.int64))
    column: I64 = getattr(rows, key)
    return column


def _shapes(rows: TaskEvents | Anchors) -> I64:
    return mix_keys(
        rows.user,
        millionths(rows.cpu_request),
        millionths(rows.memory_request),
        rows.priority.astype(np.int64),
        rows.scheduling_class.astype(np.int64),
    )


def job_event_keys(key: str, rows: JobEvents | Anchors) -> I64:
    """Return each row's value of a key that events of whole jobs are counted under."""
    return rows.user if key == "user_jobs" else rows.name


def anchor_keys(key: str, anchors: Anchors) -> I64:
    """Return the value of a key that each row asks about."""
    return job_event_keys(key, anchors) if key.endswith("_jobs") else event_keys(key, anchors)


def distinct(keys: I64, time_us: I64) -> tuple[I64, I64, I64]:
    """Return the different (key, time) pairs in their order, and which one each row has."""
    one_time = not len(keys) or time_us.min() == time_us.max()
    order = np.lexsort((keys,)) if one_time else np.lexsort((time_us, keys))
    keys, time_us = keys[order], time_us[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (time_us[1:] != time_us[:-1])
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.cumsum(new) - 1
    return keys[new], time_us[new], inverse
