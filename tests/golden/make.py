"""Make the golden recordings again: `python tests/golden/make.py`.

They are made once for each version of the schemas and then kept: the one of today's version is made
again only when a change of behaviour is meant.

- v2.fslog: a small busy run of today's schemas.
- v1.fslog: such a run from before decisions had parts.
- v0.fslog: the same run with predictions as rows; both need upcasters, and are kept as they are.
- must_fail.fslog: the run of v2.fslog with one decision that nobody would make.
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
from schemas.registry import to_json

FOLDER = Path(__file__).parent
FLAGS = "--virtual-time --for 60s --nodes 4 --interval 5 --speed 10 --seed 11 --exercise --json"
CHANGED_DECISION = 5


def main() -> None:
    """Make those of today's version."""
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
    _write("v2.fslog", header, messages)
    _write("must_fail.fslog", header, with_wrong_decision(messages))


def with_wrong_decision(messages: Iterable[StoredMessage]) -> Iterator[StoredMessage]:
    """Change one decision's score."""
    for message in messages:
        content = json.loads(message.data)
        if message.subject.endswith(".decision") and content["cycle"] == CHANGED_DECISION:
            content["parts"][0]["score"] = 0.987654
        yield replace(message, data=to_json(content))


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
