"""Make the golden recordings again: `python tests/golden/make.py`.

They are made once for each version of the schemas and then kept: the one of today's version is made
again only when a change of behaviour is meant.

- v1.fslog: a small busy run of today's schemas.
- v0.fslog: the same run as version 0 would have told it, with predictions as rows; it needs upcasters.
- must_fail.fslog: the same run with one decision that nobody would make.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from foresail.__main__ import main as foresail
from schemas.envelope import attributes_of, schema_uri
from schemas.identity import Origin, cycle_of, event_id
from schemas.registry import to_json

FOLDER = Path(__file__).parent
FLAGS = "--virtual-time --for 60s --nodes 4 --interval 5 --speed 10 --seed 11 --exercise --json"
COLUMN = {
    "foresail.prediction.risk.v1": "risk_ratio",
    "foresail.prediction.demand.v1": "demand_ratio",
}
CHANGED_DECISION = 5


def main() -> None:
    """Make all of them."""
    with TemporaryDirectory() as folder:
        made = Path(folder) / "run.fslog"
        # Shipped models are trained anew now and then; the goldens shall outlive them.
        os.environ["FORESAIL_INFERENCE__SHADOW_MODELS"] = "[]"
        foresail(["up", *FLAGS.split(), "--record", str(made)])
        messages = [
            message for message in open_recording(made) if ".checkpoint." not in message.subject
        ]
        header = {
            name: value
            for name, value in open_recording(made).header.items()
            if name not in {"format", "version"}
        }
    origin = Origin(header["cluster"], header["incarnation"])
    _write("v1.fslog", header, messages)
    _write("v0.fslog", header, as_version_0(messages, origin))
    _write("must_fail.fslog", header, with_wrong_decision(messages))


def as_version_0(messages: Iterable[StoredMessage], origin: Origin) -> Iterator[StoredMessage]:
    """Tell predictions as version 0 did, and call them by the ids that version 0 gave."""
    names: dict[str, str] = {}
    for message in messages:
        attributes = attributes_of(message.headers)
        column = COLUMN.get(attributes["type"])
        if column is None:
            yield _rename_ids(message, names)
            continue
        old = attributes["type"].replace(".v1", ".v0")
        cycle = cycle_of(attributes["correlationid"])
        names[attributes["id"]] = event_id(origin, "inference", old, cycle=cycle)
        content = json.loads(message.data)
        table = content["nodes"]
        content["nodes"] = [
            {"node": node, column: ratio}
            for node, ratio in zip(table["ids"], table[column], strict=True)
        ]
        headers = {**message.headers, "ce-type": old, "ce-dataschema": schema_uri(old)}
        yield _rename_ids(replace(message, headers=headers, data=to_json(content)), names)


def with_wrong_decision(messages: Iterable[StoredMessage]) -> Iterator[StoredMessage]:
    """Change one decision's score."""
    for message in messages:
        content = json.loads(message.data)
        if message.subject.endswith(".decision") and content["cycle"] == CHANGED_DECISION:
            content["score"] = 0.987654
        yield replace(message, data=to_json(content))


def _rename_ids(message: StoredMessage, names: dict[str, str]) -> StoredMessage:
    headers = json.dumps(dict(message.headers))
    data = message.data.decode()
    for old, new in names.items():
        headers, data = headers.replace(old, new), data.replace(old, new)
    return replace(message, headers=json.loads(headers), data=data.encode())


def _write(name: str, header: dict[str, object], messages: Iterable[StoredMessage]) -> None:
    path = FOLDER / name
    path.unlink(missing_ok=True)
    writer = RecordingWriter(path, header)
    for message in messages:
        writer.write(message)
    writer.seal()
    sys.stdout.write(f"{name}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
