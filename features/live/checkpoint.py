"""Live state as text, for checkpoints: arrays as their bytes, compressed.

As JSON numbers the history of a hundred busy nodes would not fit a message; packed it takes a tenth.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from features.history import History, Kind
from features.live.compressed_text import inflate
from features.live.live_history import FEATURE_SET, LiveHistory, Machines
from features.live.placements import NUMBERS, Placements, placements_from
from features.live.pod_changes import LargestNode, PodChange, PodSnapshot
from schemas.snapshot import PodTable

VERSION = 1
CHANGE = ("time_us", "kind", "row_id", "task", "cpu_request", "memory_request", "start_us")


def encode_history(live: LiveHistory | None) -> str | None:
    """Return live state as text; None for none."""
    return None if live is None else _compress(_content(live))


def decode_history(text: str | None) -> LiveHistory | None:
    """Return the live state that `packed` made a text of.

    Raises:
        ValueError: it is no such text, or of another version.
    """
    if text is None:
        return None
    try:
        content = json.loads(inflate(text))
        if content["version"] != [VERSION, FEATURE_SET.name, FEATURE_SET.version]:
            raise ValueError("live state of another version")
        return _live(content)
    except (LookupError, TypeError, ArithmeticError, RecursionError, AttributeError) as error:
        raise ValueError(f"no live state: {error}") from error


def _compress(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _content(live: LiveHistory) -> dict[str, Any]:
    newest, history = live.newest, live.history
    same = newest is not None and newest.placed is live.placed and newest.pods is live.pods
    return {
        "version": [VERSION, FEATURE_SET.name, FEATURE_SET.version],
        "history": {name: _column(column) for name, column in history.state().items()},
        "placed": _encode_placements(live.placed),
        "pods": None if live.pods is None else live.pods.model_dump(mode="json"),
        "pods_cycle": live.pods_cycle,
        "omitted": live.omitted,
        "seen": None if newest is None else _encode_snapshot(newest, same=same),
        "scale": None if live.scale is None else [live.scale.cores, live.scale.memory_bytes],
        "starts": [list(live.starts), _column(np.array(list(live.starts.values()), np.int64))],
        "held": [[getattr(change, name) for name in CHANGE] for change in live.held],
        "trimmed_cycle": live.trimmed_cycle,
        "machines": [list(getattr(live.machines, field.name)) for field in fields(Machines)],
    }


def _live(content: Mapping[str, Any]) -> LiveHistory:
    state = {name: _array(column) for name, column in content["history"].items()}
    history = History.of_state(FEATURE_SET, state)
    placed = _decode_placements(content["placed"])
    pods = None if content["pods"] is None else PodTable.model_validate(content["pods"])
    names, times = content["starts"]
    return LiveHistory(
        history=history,
        placed=placed,
        pods=pods,
        pods_cycle=content["pods_cycle"],
        omitted=content["omitted"],
        newest=_decode_snapshot(content["seen"], placed, pods),
        scale=None if content["scale"] is None else LargestNode(*content["scale"]),
        starts=dict(zip(names, _array(times).tolist(), strict=True)),
        held=tuple(_change(change) for change in content["held"]),
        trimmed_cycle=content["trimmed_cycle"],
        machines=Machines(*(tuple(column) for column in content["machines"])),
    )


def _change(content: list[Any]) -> PodChange:
    time_us, kind, *rest = content
    return PodChange(time_us, Kind(kind), *rest)


def _encode_snapshot(snapshot: PodSnapshot, *, same: bool) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    if not same:
        tables = {
            "placed": _encode_placements(snapshot.placed),
            "pods": snapshot.pods.model_dump(mode="json"),
        }
    return {"time_us": snapshot.time_us, "omitted": snapshot.omitted, **tables}


def _decode_snapshot(
    content: Mapping[str, Any] | None, placed: Placements | None, pods: PodTable | None
) -> PodSnapshot | None:
    if content is None:
        return None
    if "placed" in content:
        placed, pods = (
            _decode_placements(content["placed"]),
            PodTable.model_validate(content["pods"]),
        )
    if placed is None or pods is None:
        raise ValueError("no live state: its snapshot is missing")
    return PodSnapshot(content["time_us"], placed, pods, content["omitted"])


def _encode_placements(placed: Placements | None) -> dict[str, Any] | None:
    if placed is None:
        return None
    numbers = {name: getattr(placed, name).tolist() for name in NUMBERS}
    return {"cycle": placed.cycle, "ids": placed.ids, **numbers}


def _decode_placements(content: Mapping[str, Any] | None) -> Placements | None:
    if content is None:
        return None
    return placements_from(content["cycle"], tuple(content["ids"]), content)


def _column(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return type, shape and bytes; the bytes of equal places of all numbers together, since most of
    them are zero.
    """
    wide = np.ascontiguousarray(array.T).astype(array.dtype.newbyteorder("<"))
    planes = wide.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T
    text = base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()
    return [array.dtype.name, list(array.shape), text]


def _array(content: list[Any]) -> np.ndarray[Any, Any]:
    name, shape, text = content
    kind = np.dtype(name)
    raw = np.frombuffer(inflate(text), dtype=np.uint8)
    planes = np.ascontiguousarray(raw.reshape(kind.itemsize, -1).T)
    flat = planes.reshape(-1).view(kind.newbyteorder("<"))
    return np.ascontiguousarray(flat.astype(kind).reshape(tuple(reversed(shape))).T)
