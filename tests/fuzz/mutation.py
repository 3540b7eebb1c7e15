"""Broken input made from valid input: values, bytes and texts that differ in one or a few places.

The suite tries the same few inputs every time. FORESAIL_FUZZ_EXAMPLES=5000 tries more, and other
ones each time.
"""

from __future__ import annotations

import copy
import json
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

MORE = os.environ.get("FORESAIL_FUZZ_EXAMPLES")
FUZZ = settings(
    max_examples=int(MORE or 30),
    derandomize=MORE is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""How much every test of this folder tries."""

DEEP = 1_500
ODD_TEXTS = (
    "", " ", "\0", "\ud800", "é", "🙂", "NaN", "-1", "1e999", "0x10", "١٢", "a" * 5_000, "%zz", "../..", "1\n",
    "9" * 5_000, "2026-01-01", "2026-13-45T99:99:99Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59",
)  # fmt: skip
ODD_NUMBERS = (
    -1,
    0,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    1e308,
    1e-320,
    -0.0,
    float("nan"),
    float("inf"),
)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.integers(),
    st.floats(),
    st.sampled_from(ODD_TEXTS),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(
        st.text(max_size=3), st.none() | st.integers() | st.lists(st.none()), max_size=2
    ),
)
"""Values that some part of a reader may not expect."""
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def mutations(draw: st.DrawFn, value: Any) -> Any:
    """Return JSON values that differ from `value` in one to three places."""
    changed = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        changed = _change(draw, changed)
    return changed


def _change(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 7)) == 0:
        return draw(ODD)
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    match draw(st.sampled_from(("inside", "inside", "inside", "replace", "remove", "add"))):
        case "inside":
            value[key] = _change(draw, value[key])
        case "replace":
            value[key] = draw(ODD)
        case "remove":
            del value[key]
        case "add" if isinstance(value, dict):
            value[draw(st.text(max_size=4))] = draw(ODD)
        case "add":
            value.insert(key, copy.deepcopy(value[key]) if draw(st.booleans()) else draw(ODD))
    return value


@st.composite
def mutated_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Return bytes with one to four places flipped, cut, doubled or filled."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(changed) - 1)))
        match draw(st.sampled_from(("flip", "cut", "insert", "double", "end"))):
            case "flip" if changed:
                changed[at] ^= draw(st.integers(1, 255))
            case "cut":
                del changed[at : at + draw(st.integers(1, 40))]
            case "insert":
                changed[at:at] = draw(st.binary(min_size=1, max_size=12))
            case "double":
                changed[at:at] = changed[at : at + draw(st.integers(1, 40))]
            case _:
                del changed[at:]
    return bytes(changed)


def dump_json(value: Any) -> bytes:
    """Write a value as a careless JSON writer would: NaN, lone surrogates and all."""
    return json.dumps(value).encode()


def broken_encodings(value: Any) -> st.SearchStrategy[bytes]:
    """Return encodings of `value` that are broken in its values or in its bytes."""
    return (
        mutations(value).map(dump_json)
        | mutated_bytes(dump_json(value))
        | ANY_JSON.map(dump_json)
        | st.binary(max_size=40)
        | st.just(b"[" * DEEP + b"]" * DEEP)
        | st.just(b'{"a":' * DEEP + b"1" + b"}" * DEEP)
        | st.just(b"9" * 5_000)
    )
