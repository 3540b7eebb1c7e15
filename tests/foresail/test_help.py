"""What every `--help` gives: a sentence, an argument's meaning with its default, and examples that run."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from foresail.flags import default_text
from foresail.forecast import actions_by_file
from foresail.verbs import make_parser, verbs

NO_DEFAULT = re.compile(r"default: ?(None|False|\(\)|\))")


def _commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that does something, with its parser."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for action in below:
        for name, sub in action.choices.items():
            yield from _commands(sub, (*words, name))
    if not below:
        parser.format_help()  # an action of `forecast` asks for its arguments only now
        yield " ".join(words), parser


COMMANDS = dict(_commands(make_parser(verbs())))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_says_what_each_argument_means(command: str) -> None:
    """A sentence, a text for each argument, and no default that means nothing to a reader."""
    parser = COMMANDS[command]
    assert re.fullmatch(r"[A-Z].*\.", parser.description or "", re.DOTALL)
    assert [] == [one.dest for one in parser._actions if not one.help]
    assert not NO_DEFAULT.search(parser.format_help())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_helps_examples_can_be_called(command: str) -> None:
    """Each stands under its own command, and its arguments are understood."""
    _, _, examples = (COMMANDS[command].epilog or "").partition("examples:")
    lines = [line.strip() for line in examples.splitlines() if line.startswith("  foresail ")]

    assert lines
    for line in lines:
        words = re.split(r"  | > ~", line)[0]
        assert words.startswith(f"foresail {command}")
        parsed = make_parser([command.split(maxsplit=1)[0]]).parse_args(shlex.split(words)[1:])
        assert parsed.verb == command.split(maxsplit=1)[0]


def test_every_command_is_tried() -> None:
    """Those of every verb, also of one that finds its actions only when it is asked."""
    assert {f"forecast {name}" for name in actions_by_file()} <= set(COMMANDS)
    assert {name.split()[0] for name in COMMANDS} == set(verbs())


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("interval_seconds", 5.0, " (default: 5 s)"),
        ("max_age_seconds", 86_400.0, " (default: 24 h)"),
        ("nodes", 100, " (default: 100)"),
        ("port", 0, " (default: 0)"),
        ("record", None, ""),
        ("exercise", False, ""),
        ("namespaces", (), ""),
    ],
)
def test_a_default_is_given_with_its_unit(name: str, value: object, text: str) -> None:
    """A setting without a default of its own says nothing instead of `None`."""
    assert text == default_text(name, value)
