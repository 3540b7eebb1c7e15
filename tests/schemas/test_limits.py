"""What a reader of events and of JSON does with input that was made to be expensive."""

from __future__ import annotations

import json
import math
import tracemalloc

import pytest
from pydantic import ValidationError

from inputs.limited_json import BadJson, load_json
from schemas.config import Config
from schemas.decision import Decision
from schemas.identity import cycle_of
from schemas.model import (
    LARGEST_INTEGER,
    MOST_MEMBERS,
    MOST_OBJECTS,
    MOST_VALUES,
    validation_reason,
)
from schemas.registry import UnknownEvent, decode, encode
from schemas.snapshot import SnapshotWorkloads
from tests.builders import make_control, stamp_event

MESSAGE_BYTES = 1_000_000


def settings(value: str) -> bytes:
    """Return a config event's data with one setting written as `value`."""
    about = '"process": "p", "config_hash": "h", "code_version": "1"'
    return f'{{{about}, "settings": {{"a": {value}}}}}'.encode()


def pods(cells: str) -> bytes:
    """Return a snapshot's data whose pods have these ids and no other column."""
    frame = '{"frame": "keyframe", "keyframe_cycle": 1, "state_hash": ""}'
    counts = '"pods_running": 0, "pods_total": 0, "bare_pods_succeeded": 0'
    rest = f'"cycle": 1, "frame": {frame}, "cluster_time_seconds": 1.0, {counts}'
    return f'{{{rest}, "workloads": null, "pods": {{"ids": [{cells}]}}}}'.encode()


@pytest.mark.parametrize("cell", ["1", "null", "[]", "1.5"])
def test_a_list_ends_at_its_first_wrong_cell(cell: str) -> None:
    """A message full of wrong cells is one error, not one for each cell."""
    data = pods(f"{cell}," * (MOST_VALUES - 100) + cell)

    with pytest.raises(ValidationError) as refused:
        SnapshotWorkloads.read(data)
    assert refused.value.error_count() < 5


def test_wrong_cells_take_no_memory() -> None:
    """As many wrong cells as are read leave less than the message's own size behind while they are read."""
    data = pods("1," * (MOST_VALUES - 100) + "1")
    tracemalloc.start()
    try:
        with pytest.raises(ValidationError):
            SnapshotWorkloads.read(data)
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "value",
    [
        "[" * 100_000,
        "[" * 300 + "]" * 300,
        "9" * 500_000,
        "NaN",
        "Infinity",
        "1e400",
        '"\\ud800"',
        "[" + "{}," * MOST_OBJECTS + "1]",
        "[" + "1," * MOST_VALUES + "1]",
        "{" + ",".join(f'"{number}":0' for number in range(MOST_MEMBERS)) + "}",
    ],
    ids=lambda value: value[:12],
)
def test_an_absurd_setting_is_refused(value: str) -> None:
    """Depth, digits, counts and what JSON cannot hold are ValueErrors of one short line."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the documented class
        Config.read(settings(value))
    assert len(validation_reason(refused.value)) <= 300
    assert "\n" not in validation_reason(refused.value)


@pytest.mark.parametrize("value", [LARGEST_INTEGER + 1, -LARGEST_INTEGER - 2, 10**400])
def test_integers_have_64_bits(value: int) -> None:
    """What would overflow as a float is no integer of an event."""
    whole = json.loads(pods(""))
    for name, fits in (("pods_running", LARGEST_INTEGER), ("pods_running", value)):
        data = json.dumps({**whole, name: fits, "pods": None}).encode()
        if fits == value:
            with pytest.raises(ValidationError):
                SnapshotWorkloads.read(data)
        else:
            assert SnapshotWorkloads.read(data).pods_running == fits


def test_the_reason_names_the_first_field() -> None:
    """A refusal says which field is wrong and how, without the rest of the list."""
    with pytest.raises(ValidationError) as refused:
        Decision.read(b"{}")
    assert "cycle: Field required" == validation_reason(refused.value)


def test_the_error_of_a_message_is_one_line() -> None:
    """UnknownEvent never carries the message's own megabyte into a log."""
    one = encode(stamp_event(make_control()))
    with pytest.raises(UnknownEvent) as refused:
        decode(one.subject, one.headers, b'{"command": "' + b"x" * MESSAGE_BYTES + b'"}')
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("digits", ["9" * 19, "9" * 4_000, "9" * 5_000])
def test_a_cycle_is_a_plain_number(digits: str) -> None:
    """A cycle of more digits than ever occur is no cycle, whatever the interpreter can convert."""
    assert cycle_of("c/i/" + "9" * 18) == 10**18 - 1
    with pytest.raises(ValueError, match="no cycle number") as refused:
        cycle_of(f"c/i/{digits}")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 201 + "]" * 201, "nested deeper than 200"),
        ("[" * 100_000, "nested deeper than 200"),
        ('{"a":' * 100_000, "nested deeper than 200"),
        ("9" * 301, "a number has more than 300 characters"),
        ("[-1." + "9" * 500_000 + "]", "a number has more than 300 characters"),
        ("NaN", "NaN is no number in JSON"),
        ("[-Infinity]", "-Infinity is no number in JSON"),
        ("1e400", "1e400 is no finite number"),
        ('"\\ud800"', "it is not UTF-8"),
        (b"\xff", "it is not UTF-8"),
        ("", "Expecting value"),
        ("[1", "Expecting ',' delimiter"),
        (" " * 1_001, "it has 1001 bytes; at most 1000 are read"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_hostile_json_is_refused(text: str | bytes, why: str) -> None:
    """Every limit of the reader of JSON is BadJson of one short line."""
    with pytest.raises(BadJson) as refused:
        load_json(text, most_bytes=1_000 if "1001" in why else MESSAGE_BYTES)
    assert str(refused.value).startswith(why)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200 + "]" * 200,
        '"' + "[{" * 1_000 + "9" * 1_000 + '\\"[["',
        '["\\\\", [1, -2.5e3, true, null, "\\ud83d\\ude42"]]',
        "9" * 300,
    ],
    ids=lambda value: value[:12],
)
def test_plain_json_is_read_as_ever(text: str) -> None:
    """Brackets and digits inside a text are text; at the limit all is read."""
    assert load_json(text) == load_json(text.encode()) == json.loads(text)


def test_what_is_read_is_finite() -> None:
    """A number with decimals is a float that JSON can hold."""
    assert math.isfinite(load_json("1e308"))
