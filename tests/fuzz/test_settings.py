"""Settings: from any file, environment and flags come sound settings or one ConfigError."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.errors import ConfigError
from bus.process import settings_from
from foresail.flags import add_flags, given_flags, seconds
from foresail.settings import GROUPS, StackSettings, resolve
from tests.fuzz.mutation import FUZZ, ODD, ODD_TEXTS, broken_encodings

FIELDS = sorted((group, field) for group, kind in GROUPS.items() for field in kind.model_fields)
TEXTS = st.sampled_from(ODD_TEXTS) | st.text(max_size=12) | ODD.map(str)
DEFAULTS = {name: kind().model_dump(mode="json") for name, kind in GROUPS.items()}


def sound(settings: StackSettings) -> None:
    """Check that accepted settings are read back equal by the process they are handed to."""
    for name, group in settings.groups.items():
        text = json.dumps(group.model_dump(mode="json"), allow_nan=False)
        assert group == settings_from({"FORESAIL_SETTINGS": text}, GROUPS[name])
    assert all(isinstance(line, str) for line in settings.lines())


def one_line(error: ConfigError) -> None:
    """Check that the refusal is one line that people can read."""
    assert "\n" not in str(error)
    assert error.remedy


@FUZZ
@given(st.lists(st.tuples(st.sampled_from(FIELDS), TEXTS), max_size=3))
def test_an_environment_of_any_form(given_values: list[tuple[tuple[str, str], str]]) -> None:
    """ConfigError is the only refusal of environment variables."""
    names = {f"FORESAIL_{g}__{f}".upper(): text for (g, f), text in given_values}
    try:
        sound(resolve(None, names, {}))
    except ConfigError as error:
        one_line(error)


@FUZZ
@given(st.dictionaries(st.sampled_from([f"{g}.{f}" for g, f in FIELDS]), ODD, max_size=3))
def test_flags_of_any_form(flags: dict[str, Any]) -> None:
    """ConfigError is the only refusal of what flags hold."""
    try:
        sound(resolve(None, {}, flags))
    except ConfigError as error:
        one_line(error)


@FUZZ
@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.tuples(st.sampled_from(FIELDS), TEXTS).map(
        lambda one: f"[{one[0][0]}]\n{one[0][1]} = {one[1]}".encode("utf-8", "replace")
    )
    | st.just(b"a = " + b"[" * 3_000)
    | st.just(b"[run]\nseed = " + b"9" * 5_000)
    | st.just(b"[run]\nworkload = 1979-05-27T07:32:00Z\n[x.y]\n")
)
def test_a_file_of_any_form(content: bytes) -> None:
    """ConfigError is the only refusal of a settings file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.toml"
        path.write_bytes(content)
        try:
            sound(resolve(path, {}, {}))
        except ConfigError as error:
            one_line(error)


@pytest.mark.parametrize("group", GROUPS)
@FUZZ
@given(st.data())
def test_handed_settings_of_any_form(group: str, data: st.DataObject) -> None:
    """ConfigError is the only refusal of FORESAIL_SETTINGS; what is accepted is handed on equal."""
    text = data.draw(broken_encodings(DEFAULTS[group])).decode("utf-8", "surrogateescape")
    try:
        settings = settings_from({"FORESAIL_SETTINGS": text}, GROUPS[group])
    except ConfigError as error:
        one_line(error)
        return
    again = settings.model_dump_json()
    assert settings == settings_from({"FORESAIL_SETTINGS": again}, GROUPS[group])


@FUZZ
@given(TEXTS | st.from_regex(r"[0-9]{0,400}(\.[0-9]*)?(ms|s|m|h)?", fullmatch=True))
def test_a_duration_of_any_form(text: str) -> None:
    """A duration is a finite number of seconds or refused."""
    try:
        actual = seconds(text)
    except argparse.ArgumentTypeError:
        return
    assert 0 <= actual < float("inf")


@FUZZ
@given(st.lists(st.tuples(st.sampled_from(["--nodes", "--for", "--seed", "--namespaces"]), TEXTS)))
def test_a_command_line_of_any_form(pairs: list[tuple[str, str]]) -> None:
    """Flags end in settings, in ConfigError, or in argparse's own exit."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_flags(parser, {})
    try:
        arguments = parser.parse_args([f"{flag}={text}" for flag, text in pairs])
        sound(resolve(None, {}, given_flags(arguments)))
    except (argparse.ArgumentError, ConfigError):
        return
