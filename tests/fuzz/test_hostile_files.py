"""Files that are small and stand for much: each is one clear line, with bounded work."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from bus.errors import InputError, RecordingDamaged
from bus.port import StoredMessage
from bus.recording import open_recording
from bus.recording.frames import LARGEST_FRAME_BYTES
from features.live import checkpoint, compressed_text, node_usage
from foresail.stack.state_folder import StateFolder
from lab.rerun.changes import value_of
from lab.workloads import parquet
from projections.spans import SpanBuilder
from proofs.fuzzing.reader_entries import ALIASES, HEADERS, KUBECONFIG
from schemas.manifest import content_version
from services import model_directory
from services.model_directory import read_model
from services.model_folders import SHIPPED, read_manifest
from services.official_client import OfficialClientTransport
from twin.port.files import read_scenario
from twin.port.workloads import check_trace_file, read_trace_file
from twin.workloads import row_files

GIGABYTE = 2**30


def expect_refusal(reader: Any, path: Path, why: str) -> None:
    """Check that a file is refused in one short line that says why, with little memory."""
    tracemalloc.start()
    try:
        with pytest.raises((InputError, RecordingDamaged), match=why) as error:
            reader(path)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1_200


@pytest.mark.parametrize("unpack", [checkpoint.decode_history, node_usage.decode_usage])
def test_a_packed_state_is_unpacked_to_a_limit(
    unpack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint's text that stands for more than a state can hold is refused half way."""
    monkeypatch.setattr(compressed_text, "MOST_BYTES", 1_000_000)
    text = base64.b64encode(zlib.compress(b"[" + b"0," * 50_000_000, 9)).decode()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="unpacks to more than"):
            unpack(text)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_recording_that_unpacks_to_a_gigabyte(tmp_path: Path) -> None:
    """A frame of 30 kB that stands for a gigabyte of zeros is damage, not memory."""
    path = tmp_path / "a.fslog"
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    block = bytes(2**20)
    path.write_bytes(b"".join([*(packer.compress(block) for _ in range(1_024)), packer.flush()]))
    assert path.stat().st_size < LARGEST_FRAME_BYTES // 100

    expect_refusal(lambda file: list(open_recording(file)), path, "recording")


def test_a_frame_that_claims_a_gigabyte(tmp_path: Path) -> None:
    """A size in a frame's head is not believed."""
    path = tmp_path / "a.fslog"
    claimed = b"\x28\xb5\x2f\xfd\xe0" + GIGABYTE.to_bytes(8, "little") + b"\x01\x00\x00"
    path.write_bytes(claimed)
    expect_refusal(lambda file: list(open_recording(file)), path, "recording")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("record," + ",".join(f"c{n}" for n in range(10_000)), "line 1: header = 10001 columns"),
        ("record,name\nnode," + "x" * 70_000, "line 2: row = 70005 characters"),
        (",".join(["name"] * 10_000), "header = 10000 columns"),
    ],
    ids=["columns", "field", "double"],
)
def test_an_absurd_csv(tmp_path: Path, content: str, why: str) -> None:
    """Columns without number and fields without end are named with their line."""
    path = tmp_path / "w.csv"
    path.write_text(content)
    expect_refusal(read_trace_file, path, why)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[" * 20, "nested deeper than 8"),
        ('{"name": ' + "9" * 5_000 + "}", "more than 300 characters"),
        ('{"name": "' + "x" * 70_000 + '"}', "row = 70012 characters"),
        ('{"name": NaN}', "NaN is no number"),
    ],
    ids=["deep", "digits", "long", "nan"],
)
def test_an_absurd_json_line(tmp_path: Path, line: str, why: str) -> None:
    """Depth, digits and length are bounded for each line."""
    path = tmp_path / "w.jsonl"
    path.write_text(f"{line}\n")
    expect_refusal(read_trace_file, path, why)


def test_unknown_fields_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    """A row of thousands of unknown fields is a few complaints."""
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps({f"f{n}": 1 for n in range(3_000)}) + "\n")
    assert len(check_trace_file(path, [])[1]) <= row_files.MOST_UNKNOWN + 1


def test_a_workload_file_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the limit is not read to its end."""
    monkeypatch.setattr(row_files, "MOST_BYTES", 100)
    path = tmp_path / "w.csv"
    path.write_text("#" * 101)
    expect_refusal(read_trace_file, path, "more than 100 bytes")


def test_a_parquet_file_of_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are counted by the footer: a few kilobytes can stand for any number of equal cells."""
    path = tmp_path / "w.parquet"
    pl.DataFrame({"name": pl.repeat("n", 3_000_000, eager=True)}).write_parquet(path)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(parquet, "MOST_ROWS", 1_000_000)

    errors = parquet.check_parquet(path, [])[1]
    assert ["3000000 rows" in str(error) for error in errors] == [True]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 60 + b"PAR1", b"x" * 500])
def test_a_damaged_parquet_file(tmp_path: Path, content: bytes) -> None:
    """What is no parquet is one line, also where the library itself gives up."""
    path = tmp_path / "w.parquet"
    path.write_bytes(content)
    assert [
        "give a parquet file" in str(error) for error in parquet.check_parquet(path, [])[1]
    ] == [True]


@pytest.mark.parametrize("text", [ALIASES, b"[" * 5_000, b"a: " + b"9" * 5_000, b"\xff\xfe"])
def test_absurd_yaml(tmp_path: Path, text: bytes) -> None:
    """Nested aliases in a scenario or a kubeconfig are refused before they are unfolded."""
    path = tmp_path / "s.yaml"
    path.write_bytes(text)
    expect_refusal(read_scenario, path, "unreadable")
    expect_refusal(OfficialClientTransport, path, "readable kubeconfig")


def test_a_kubeconfig_is_small(tmp_path: Path) -> None:
    """Ten thousand values are far more than a kubeconfig has; the client takes long for each."""
    path = tmp_path / "k.yaml"
    path.write_bytes(KUBECONFIG + b"extra: [" + b"1," * 10_000 + b"]\n")
    expect_refusal(OfficialClientTransport, path, "more than 10000 values")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a copy of the shipped model."""
    folder = tmp_path / "model"
    shutil.copytree(SHIPPED / "small-risk", folder)
    return folder


def edit_booster(folder: Path, **booster: Any) -> None:
    """Change the first booster's entry and make the manifest agree with itself again."""
    content = json.loads((folder / "manifest.json").read_bytes())
    content["boosters"][0] |= booster
    content["version"] = content_version(content)
    content["model_id"] = f"{content['name']}/{content['version']}"
    (folder / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize("file", ["../booster.ubj", "/etc/passwd", "a/b", "..", "", "x\0"])
def test_a_manifest_names_files_beside_it(model: Path, file: str) -> None:
    """A path out of the folder is no file's name."""
    edit_booster(model, file=file)
    expect_refusal(read_model, model, "boosters.0.file")


def test_a_booster_is_a_file_of_bounded_size(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to a device is no booster, and a booster beyond the limit is not read to its end."""
    file = model / read_manifest(model).boosters[0].file
    monkeypatch.setattr(model_directory, "BOOSTER_BYTES", 1_000)
    expect_refusal(read_model, model, "more than 1000 bytes")
    file.unlink()
    file.symlink_to("/dev/zero")
    expect_refusal(read_model, model, "no regular file")


def test_a_booster_is_hashed_before_it_is_loaded(model: Path) -> None:
    """Other bytes under the same name never reach the library: pickles neither."""
    file = model / read_manifest(model).boosters[0].file
    file.write_bytes(b"\x80\x04cos\nsystem\n.")
    expect_refusal(read_model, model, "its SHA-256 is")
    edit_booster(model, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    read_model(model)  # the library's own door, which takes no pickle, is next


@pytest.mark.parametrize("text", ["[" * 500, " " * 5_000_000, '{"format": NaN}', "[]", "9" * 5_000])
def test_an_absurd_manifest(model: Path, text: str) -> None:
    """Size, depth and digits of a manifest are bounded."""
    (model / "manifest.json").write_text(text)
    expect_refusal(read_manifest, model, "manifest.json")


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", "[" * 500, '{"pid": 1}', "9" * 5_000, " " * 2_000_000, '{"unknown": 1}', "\xff"],
)
def test_an_absurd_stack_file(tmp_path: Path, text: str) -> None:
    """stack.json of any content is the one line that says what to do."""
    (tmp_path / "stack.json").write_bytes(text.encode("latin-1"))
    expect_refusal(lambda folder: StateFolder(folder).read(), tmp_path, "no stack has run here")


def test_a_stack_file_of_other_types(tmp_path: Path) -> None:
    """A field of another type is refused where it is read, not where it is used."""
    good = {
        "cluster": "c",
        "incarnation": "i",
        "stream": "s",
        "nats_url": "u",
        "embedded": True,
        "pid": 1,
    }
    for changes in (
        {},
        {"pid": "1"},
        {"processes": {"a": "1"}},
        {"cluster": None},
        {"embedded": 1},
    ):
        (tmp_path / "stack.json").write_text(json.dumps(good | changes))
        if not changes:
            assert StateFolder(tmp_path).read().pid == 1
        else:
            expect_refusal(
                lambda folder: StateFolder(folder).read(), tmp_path, "no stack has run here"
            )


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000, "NaN", '"\\ud800"'])
def test_an_absurd_setting_is_a_text(text: str) -> None:
    """A value of --set that is no plain JSON is the text that was given."""
    assert value_of(text) == text


@pytest.mark.parametrize(
    ("headers", "data"),
    [
        ({}, b"[" * 100_000),
        ({}, b"[1]"),
        ({}, b'{"action": [1], "score": ' + b"9" * 200 + b"}"),
        ({}, b'{"action": {"kind": 1, "target": 5}, "text": "' + b"x" * 9_000 + b'"}'),
        ({"ce-correlationid": "c/i/" + "9" * 5_000}, b"{}"),
        ({"ce-traceparent": "00-" + "f" * 5_000 + "-" + "f" * 5_000 + "-01"}, b"{}"),
        ({"ce-id": ""}, b"{}"),
        ({"ce-causationid": "x " * 500_000}, b"{}"),
    ],
)
def test_an_absurd_message_is_no_span_or_a_sound_one(headers: dict[str, str], data: bytes) -> None:
    """Whatever a message holds, its span has ids of W3C's length and values that a span can carry."""
    message = StoredMessage(7, 1, "foresail.c.decision", {**HEADERS, **headers}, data)
    for span in SpanBuilder().build(message):
        assert span.context.trace_id < 2**128
        assert span.context.span_id < 2**64
        for value in span.attributes.values():
            assert len(value) <= 4_000 if isinstance(value, str) else abs(value) < 2**63
