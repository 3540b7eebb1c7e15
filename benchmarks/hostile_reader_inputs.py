"""Input that was made to be expensive: requests, messages and files, each with a name."""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path

import polars as pl
import zstandard

from schemas.model import MOST_OBJECTS, MOST_VALUES

HEAD = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
END = b"Connection: close\r\n\r\n"
MESSAGE = 950_000
"""Bytes of a message: a little below the server's limit."""

REQUESTS: dict[str, bytes] = {
    "headers of 5 MB": b"GET /" + HEAD + b"X: " + b"a" * 5_000_000,
    "3,000 headers": b"GET /" + HEAD + b"".join(b"X%d: 1\r\n" % n for n in range(3_000)) + END,
    "position of 5,000 digits": b"GET /api/events/" + b"9" * 5_000 + HEAD + END,
    "3,000 byte ranges": b"GET /static/main.js"
    + HEAD
    + b"Range: bytes="
    + b"0-0," * 3_000
    + b"\r\n"
    + END,
    "body that never ends": b"POST /"
    + HEAD
    + b"Content-Length: 99999999999\r\n\r\n"
    + b"a" * 2_000_000,
    "200 requests in one piece": (b"GET /healthz" + HEAD + b"\r\n") * 200
    + b"GET /healthz"
    + HEAD
    + END,
    "no HTTP": bytes(range(256)) * 20 + b"\r\n\r\n",
}
"""Sent to the dashboard and to a health port."""


def _nodes(cells: str) -> bytes:
    frame = '{"frame":"keyframe","keyframe_cycle":1,"state_hash":""}'
    return f'{{"cycle":1,"frame":{frame},"nodes":{{"ids":[{cells}]}}}}'.encode()


def _config(value: str) -> bytes:
    about = '"process":"p","config_hash":"h","code_version":"1"'
    return f'{{{about},"settings":{{"a":{value}}}}}'.encode()


def messages() -> dict[str, tuple[str, str, bytes]]:
    """Return (subject after the cluster, type, data) by name."""
    config, risk = "foresail.config.v1", "foresail.prediction.risk"
    rows = ",".join(
        f'{{"node":"n{number}","risk_ratio":0.5}}' for number in range(MOST_OBJECTS - 100)
    )
    return {
        "nested 100,000 deep": ("config.p", config, _config("[" * 100_000)),
        "1 MB of digits": ("config.p", config, _config("9" * MESSAGE)),
        "NaN": ("config.p", config, _config("NaN")),
        "array of 470,000 numbers": (
            "config.p",
            config,
            _config("[" + "1," * (MESSAGE // 2) + "1]"),
        ),
        "as many numbers as an event holds": (
            "config.p",
            config,
            _config("[" + "1," * (MOST_VALUES - 100) + "1]"),
        ),
        "as many wrong cells as an event holds": (
            "observation",
            "foresail.observation.v1",
            _nodes("1," * (MOST_VALUES - 100) + "1"),
        ),
        "300,000 empty objects": ("config.p", config, _config("[" + "{}," * (MESSAGE // 3) + "1]")),
        "470,000 wrong cells": (
            "observation",
            "foresail.observation.v1",
            _nodes("1," * (MESSAGE // 2) + "1"),
        ),
        "columns of other length": ("observation", "foresail.observation.v1", _nodes('"a","b"')),
        "old version, as many rows as an event holds": (
            "prediction.risk",
            f"{risk}.v0",
            f'{{"nodes":[{rows}]}}'.encode(),
        ),
        "old version, nested": ("prediction.risk", f"{risk}.v0", b"[" * MESSAGE),
        "no JSON": ("decision", "foresail.decision.v2", bytes(MESSAGE)),
        "packed gigabyte": ("checkpoint.inference", "foresail.checkpoint.v1", _checkpoint()),
    }


def _checkpoint() -> bytes:
    text = base64.b64encode(zlib.compress(bytes(400_000_000), 9)).decode()
    state = {"live": text, "usage": text}
    about = {"process": "inference", "cycle": 1, "folded_seq": 0, "state_version": 1}
    return json.dumps({**about, "state": state}).encode()


def _aliases() -> bytes:
    lines = [b"a: &a [" + b",".join([b"x"] * 9) + b"]\n"]
    lines += [b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 108)]
    return b"".join(lines)


def _bomb(megabytes: int) -> bytes:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    block = bytes(2**20)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def write_files(folder: Path) -> None:
    """Write hostile files into `folder`."""
    wide = ",".join(f"c{number}" for number in range(100_000))
    content = {
        "aliases.yaml": _aliases(),
        "nested.yaml": b"".join(b" " * depth + b"a:\n" for depth in range(1_300)),
        "digits.yaml": b"a: 1" + b":1" * 400_000,
        "tags.yaml": b"".join(b"%%TAG !a%d! a\n" % number for number in range(50_000)) + b"--- a",
        "dotted.toml": b"a" + b".a" * 100_000 + b" = 1",
        "nested.toml": b"a = " + b"[" * 50_000,
        "wide.csv": wide.encode(),
        "double.csv": b",".join([b"name"] * 100_000),
        "deep.jsonl": b"[" * 60_000,
        "digits.jsonl": b'{"time_seconds": ' + b"9" * 60_000 + b"}",
        "line.jsonl": b'{"name": "' + b"x" * 100_000_000 + b'"}',
        "gigabyte.fslog": _bomb(1_024),
        "claim.fslog": b"\x28\xb5\x2f\xfd\xe0" + (2**40).to_bytes(8, "little") + b"\x01\x00\x00",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    pl.DataFrame({"name": pl.repeat("n", 30_000_000, eager=True)}).write_parquet(
        folder / "rows.parquet"
    )
    (folder / "torn.parquet").write_bytes(b"PAR1" + b"\xff" * 200 + b"PAR1")
    (folder / "model").mkdir()
    (folder / "model" / "manifest.json").write_bytes(b'{"a":' * 200_000)
    (folder / "state").mkdir()
    (folder / "state" / "stack.json").write_bytes(b"[" * 200_000)


READ_KUBECONFIG = """
import sys
from pathlib import Path
from bus.errors import InputError
from services.official_client import OfficialClientTransport
try:
    OfficialClientTransport(Path(sys.argv[1]))
except InputError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""
"""What every process that touches the cluster does first."""


def commands() -> dict[str, tuple[str, list[str]]]:
    """Return (door, words after the interpreter) by input."""
    verbs = {
        "scenario": (
            ["twin", "validate"],
            ["aliases.yaml", "nested.yaml", "digits.yaml", "tags.yaml"],
        ),
        "settings": (["up", "--config"], ["dotted.toml", "nested.toml"]),
        "workload": (
            ["twin", "validate"],
            [
                *("wide.csv", "double.csv", "deep.jsonl", "digits.jsonl", "line.jsonl"),
                *("rows.parquet", "torn.parquet"),
            ],
        ),
        "recording": (["recording", "check"], ["gigabyte.fslog", "claim.fslog"]),
        "recording to tables": (["recording", "to-parquet"], ["gigabyte.fslog"]),
        "model": (["forecast", "inspect", "--model"], ["model"]),
        "stack.json": (["status", "--state"], ["state"]),
    }
    commands_by_name = {
        f"{door}: {name}": (door, ["-m", "foresail", *words, name])
        for door, (words, names) in verbs.items()
        for name in names
    }
    commands_by_name["recording to tables: gigabyte.fslog"][1].append("out")
    for name in ("aliases.yaml", "tags.yaml", "nested.yaml"):
        commands_by_name[f"kubeconfig: {name}"] = ("kubeconfig", ["-c", READ_KUBECONFIG, name])
    return commands_by_name


if __name__ == "__main__":
    # A process of its own: its memory must not count as that of the commands that follow.
    write_files(Path(sys.argv[1]))
