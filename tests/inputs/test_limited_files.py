"""Files from others are read up to a size; settings files up to a depth and a line's length."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bus.bootstrap import declare_log
from bus.clock import ManualClock
from bus.errors import ConfigError
from bus.health import address_from
from inputs.limited_files import (
    TOML_BYTES,
    BadFile,
    read_limited,
    read_text_limited,
    read_toml,
    read_unpacked,
)


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """At the limit all is read; one byte more is refused."""
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)

    assert read_limited(path, 10) == b"x" * 10
    with pytest.raises(BadFile, match="more than 9 bytes"):
        read_limited(path, 9)


def test_a_file_without_end_is_refused() -> None:
    """A device is read no further than the limit."""
    with pytest.raises(BadFile, match="more than 1000 bytes"):
        read_limited(Path("/dev/zero"), 1_000)


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    """What is no UTF-8 is named with its place."""
    path = tmp_path / "f"
    path.write_bytes(b"ab\xff")
    with pytest.raises(BadFile, match=r"not UTF-8 \(byte 2\)"):
        read_text_limited(path, 100)


def test_what_gzip_packed_is_unpacked_up_to_its_limit(tmp_path: Path) -> None:
    """A few packed bytes may hold far more; what is cut short or not packed at all is refused, too."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"x" * 100_000))

    assert read_unpacked(path, 100_000) == b"x" * 100_000
    assert path.stat().st_size < 1_000
    with pytest.raises(BadFile, match="more than 99999 bytes"):
        read_unpacked(path, 99_999)
    whole = path.read_bytes()
    for bad in (whole[:-9], whole[:20] + b"?" * 20 + whole[40:], b"series,t_s,value\n"):
        path.write_bytes(bad)
        with pytest.raises(BadFile, match="not packed by gzip, or is cut short"):
            read_unpacked(path, 100_000)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a" + ".a" * 20_000 + " = 1", "line 1 has more than 4000 characters"),
        ("\n[" + "a" + ".a" * 3_000 + "]", "line 2 has more than 4000 characters"),
        ("a" + ".a" * 20 + " = 1", "nested deeper than 16"),
        ("a = " + "[" * 20 + "]" * 20, "nested deeper than 16"),
        ("a = " + "[" * 1_900 + "]" * 1_900, "nested deeper than 16"),
        ("#" * 1_000 + "\n" + "a\n" * TOML_BYTES, f"more than {TOML_BYTES} bytes"),
        ("a = ", "Invalid value"),
        ("a = 1\na = 2", "Cannot overwrite a value"),
    ],
    ids=lambda value: value[:16],
)
def test_hostile_settings_are_refused(tmp_path: Path, text: str, why: str) -> None:
    """A long key, deep nesting and endless text are refused before they cost anything."""
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(BadFile, match=why) as refused:
        read_toml(path)
    assert "\n" not in str(refused.value)


def test_plain_settings_are_read(tmp_path: Path) -> None:
    """Tables, arrays and dotted keys of ordinary depth are read."""
    path = tmp_path / "s.toml"
    path.write_text("[run]\nnodes = 5\n[a.b]\nc.d = [1, {e = 2}]\n")
    assert read_toml(path) == {"run": {"nodes": 5}, "a": {"b": {"c": {"d": [1, {"e": 2}]}}}}


@pytest.mark.parametrize("text", ["9" * 5_000, "-1", "65536", "1e3", "\u0661"])
def test_an_absurd_port_is_one_line(text: str) -> None:
    """A port of any text is a ConfigError, whatever the interpreter can convert."""
    with pytest.raises(ConfigError, match="FORESAIL_HEALTH_PORT"):
        address_from({"FORESAIL_HEALTH_PORT": text})


@pytest.mark.parametrize("text", ["soon", "nan", "inf", "-1", "1e9", "9" * 5_000])
async def test_an_absurd_wait_is_one_line(text: str) -> None:
    """Seconds of any text are a ConfigError, not a traceback or a wait without end."""
    environment = {
        "FORESAIL_NATS_URL": "nats://127.0.0.1:1",
        "FORESAIL_CLUSTER": "c",
        "FORESAIL_INCARNATION": "i",
        "FORESAIL_WAIT_SECONDS": text,
    }
    with pytest.raises(ConfigError, match="FORESAIL_WAIT_SECONDS"):
        await declare_log(environment, ManualClock())
