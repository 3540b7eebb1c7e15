"""Readers of what does not come from the twin's clients: messages, recordings, files, settings."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path

import zstandard
from starlette.exceptions import HTTPException

from bus.errors import BusUnavailable, InputError, RecordingDamaged
from bus.nats_wire import nanoseconds, read_ack
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.format import parse_object_line, read_message
from bus.recording.frames import FrameDamaged, read_frames
from features.live import checkpoint, node_usage
from foresail.stack.state_folder import StateFolder
from foresail.status import parse_heartbeat
from foresail.tap_filter import event_json
from inputs.limited_files import BadFile, read_toml
from inputs.limited_json import BadJson, load_json
from inputs.limited_yaml import BadYaml, load_yaml
from projections.spans import SpanBuilder
from proofs.fuzzing.entry import Entry
from schemas.decision import Decision
from schemas.identity import Origin
from schemas.registry import EVENT_TYPES, UnknownEvent, decode, encode, to_json
from schemas.subjects import build
from services.dashboard.app import linked_event_json
from services.dashboard.arrival import arrival_of
from services.dashboard.page import Page, evolve
from services.dashboard.past_routes import number_of
from services.dashboard.sections import row_json, sections_of
from services.model_folders import read_manifest
from services.official_client import OfficialClientTransport
from twin.port.files import read_scenario
from twin.port.workloads import read_trace_file

ORIGIN = Origin("c", "i")
HEADERS = {
    "ce-specversion": "1.0",
    "ce-id": "x",
    "ce-source": "/foresail/c/i/p",
    "ce-time": "2026-01-01T00:00:00.000000Z",
    "ce-correlationid": "c/i/1",
    "ce-traceparent": f"00-{'1' * 32}-{'2' * 16}-01",
}
CONTROL = b'{"command":"kill","value":"","nonce":"n","wall_time_seconds":1.5,"text":""}'
CONFIG = b'{"process":"p","settings":{"a":[1,{"b":null}]},"config_hash":"h","code_version":"1"}'
NODES = (
    b'{"cycle":1,"frame":{"frame":"delta","keyframe_cycle":1,"previous_cycle":1,"state_hash":"",'
    b'"deltas":{"nodes":{"removed":[],"added":["n"],"cells":{"ready":{"rows":[0],"values":[true]}}}}},'
    b'"cluster_time_seconds":1.0,"simulated":true,"sources":[],"nodes":null}'
)
STREAM = (
    b'{"seq":1,"time":"2026-01-01T00:00:00.000000000Z","subject":"foresail.c.control","headers":{},'
)
SCENARIO = b"faults:\n- {fault: node_death, at_seconds: 30, nodes: {count: 1}}\n"
TRAFFIC = (
    b"faults:\n- {fault: traffic, services: [a/b], traffic: 'recorded rates=0:1,2:3'}\n"
    b"- {fault: traffic, traffic: file r.csv}\n"
)
KUBECONFIG = (
    b"clusters:\n- {name: c, cluster: {server: 'http://127.0.0.1:1'}}\nusers:\n- {name: u, user: {}}\n"
    b"contexts:\n- {name: c, context: {cluster: c, user: u}}\ncurrent-context: c\n"
)
ALIASES = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 108)
)
CSV = b"record,name,cpu_millicores,memory_bytes\nnode,n-0,4000,8589934592\n"
JSON_LINE = b'{"record":"node","name":"n-0","cpu_millicores":4000,"memory_bytes":8589934592}\n'


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzzing-"))


def _file(name: str, content: bytes) -> Path:
    path = _folder() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def _one_line(error: Exception) -> None:
    if "\n" in str(error) or len(str(error)) > 1_500:
        raise AssertionError("the refusal is no short line") from error


def _message(content: bytes, kind: int) -> StoredMessage:
    event = EVENT_TYPES[kind % len(EVENT_TYPES)]
    tokens = tuple("x" if token == "*" else token for token in event.PATTERN)
    subject = build("c", tokens)
    return StoredMessage(7, 1, subject, {**HEADERS, "ce-type": event.TYPE}, content)


def read_event(content: bytes) -> None:
    """Decode an event whose type the first byte chooses; what is accepted can be written again."""
    message = _message(content[1:], content[0] if content else 0)
    try:
        event = decode(message.subject, message.headers, message.data, seq=7)
    except UnknownEvent as error:
        _one_line(error)
    else:
        encode(event)


def read_headers(content: bytes) -> None:
    """Decode an event with these bytes as its header lines."""
    text = content.decode("latin-1")
    headers = dict(line.partition(": ")[::2] for line in text.split("\r\n"))
    message = StoredMessage(7, 1, "foresail.c.control", {**HEADERS, **headers}, CONTROL)
    try:
        decode(message.subject, message.headers, message.data, seq=7)
    except UnknownEvent as error:
        _one_line(error)
    SpanBuilder().build(message)
    json.dumps(event_json(message))


def show_message(content: bytes) -> None:
    """Show any message on the dashboard, in a tap and as spans."""
    message = _message(content[1:], content[0] if content else 0)
    page = evolve(Page(), arrival_of(message))
    to_json(sections_of(page, ORIGIN))
    to_json([row_json(row) for row in page.rows])
    json.loads(linked_event_json(message, ([], [])))
    json.dumps(event_json(message))
    builder = SpanBuilder()
    builder.build(message)
    builder.finish()


def read_address(content: bytes) -> None:
    """Read a number of an address of the dashboard."""
    try:
        number_of(content.decode("latin-1"))
    except HTTPException:
        return


def read_limited_json(content: bytes) -> None:
    """Read JSON; what is accepted is written and read back equal."""
    try:
        value = load_json(content)
    except BadJson as error:
        _one_line(error)
    else:
        assert load_json(to_json(value)) == value


def read_limited_yaml(content: bytes) -> None:
    """Read YAML; what is accepted can be written as JSON."""
    try:
        json.dumps(load_yaml(content), allow_nan=False)
    except BadYaml as error:
        _one_line(error)


def read_all_frames(content: bytes) -> None:
    """Unpack the frames of a file."""
    try:
        for frame in read_frames(BytesIO(content)):
            assert frame.end <= len(content)
    except FrameDamaged as error:
        _one_line(error)


def read_lines(content: bytes) -> None:
    """Read a recording whose one frame holds these bytes."""
    for reader in (read_message, parse_object_line):
        try:
            reader(content)
        except (ValueError, BusUnavailable):
            continue
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    read_recording(packed)


def read_recording(content: bytes) -> None:
    """Read a recording as every verb does."""
    try:
        for _ in open_recording(_file("a.fslog", content)):
            pass
    except (InputError, RecordingDamaged) as error:
        _one_line(error)


def _input(
    name: str, reader: Callable[[Path], object], *, parent: bool = False
) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        path = _file(name, content)
        try:
            reader(path.parent if parent else path)
        except InputError as error:
            _one_line(error)

    return run


def read_settings_file(content: bytes) -> None:
    """Read a TOML file."""
    try:
        read_toml(_file("s.toml", content))
    except BadFile as error:
        _one_line(error)


def read_packed(content: bytes) -> None:
    """Unpack the state that a checkpoint carries as text."""
    for reader in (checkpoint.decode_history, node_usage.decode_usage):
        try:
            reader(content.decode("latin-1"))
        except ValueError:
            continue


def read_server(content: bytes) -> None:
    """Read the answers of a NATS server or of another client of the log."""
    with suppress(BusUnavailable):
        read_ack(content)
    parse_heartbeat(content)
    try:
        nanoseconds(content.decode("latin-1"))
    except ValueError:
        return


def _sealed_recording() -> bytes:
    path = _folder() / "seed.fslog"
    path.unlink(missing_ok=True)
    writer = RecordingWriter(path, {"cluster": "c"})
    for seq in range(1, 4):
        writer.write(
            StoredMessage(seq, seq * 10**9, "foresail.c.control", {"ce-id": str(seq)}, CONTROL)
        )
    writer.seal()
    return path.read_bytes()


def _nth(kind: type) -> bytes:
    return bytes([EVENT_TYPES.index(kind)])


_BY_NAME = {kind.__name__: kind for kind in EVENT_TYPES}
_EVENTS = (
    _nth(_BY_NAME["Control"]) + CONTROL,
    _nth(_BY_NAME["Config"]) + CONFIG,
    _nth(_BY_NAME["SnapshotNodes"]) + NODES,
    _nth(Decision) + b"{}",
    _nth(_BY_NAME["Config"]) + b"[" * 300,
)

ENTRIES = (
    Entry("event-data", read_event, _EVENTS),
    Entry(
        "event-headers", read_headers, (b"ce-type: foresail.control.v1", b"ce-id: %41\r\nce-x: 1")
    ),
    Entry("message-shown", show_message, _EVENTS),
    Entry("dashboard-number", read_address, (b"1", b"9" * 30, b"-1"), most_bytes=64),
    Entry("limited-json", read_limited_json, (CONTROL, b'["\\ud83d\\ude42", 1e5, []]')),
    Entry(
        "limited-yaml", read_limited_yaml, (SCENARIO, KUBECONFIG, ALIASES, b"a: &a {<<: {b: 1}}\n")
    ),
    Entry("recording-frames", read_all_frames, (_sealed_recording(),)),
    Entry(
        "recording-lines",
        read_lines,
        (STREAM + b'"data":{}}\n', STREAM + b'"data_base64":"aGk="}\n'),
    ),
    Entry("recording", read_recording, (_sealed_recording(),)),
    Entry("settings-file", read_settings_file, (b"[run]\nnodes = 5\n", b"a.b.c = [1, {d = 2}]\n")),
    Entry("workload-csv", _input("w.csv", read_trace_file), (CSV,)),
    Entry("workload-json-lines", _input("w.jsonl", read_trace_file), (JSON_LINE,)),
    Entry("scenario", _input("s.yaml", read_scenario), (SCENARIO, TRAFFIC, ALIASES)),
    Entry("kubeconfig", _input("kubeconfig", OfficialClientTransport), (KUBECONFIG, ALIASES)),
    Entry(
        "model-manifest",
        _input("model/manifest.json", read_manifest, parent=True),
        (b'{"format": 1, "name": "a"}',),
    ),
    Entry(
        "stack-file",
        _input("state/stack.json", lambda folder: StateFolder(folder).read(), parent=True),
        (
            b'{"cluster":"c","incarnation":"i","stream":"s","nats_url":"u","embedded":true,"pid":1}',
            b'{"processes":{"a":1}}',
        ),
    ),
    Entry("checkpoint-text", read_packed, (b"eJwDAAAAAAE=",)),
    Entry("server-answer", read_server, (b'{"seq":1}', b'{"pid":1,"state":"live"}')),
)
