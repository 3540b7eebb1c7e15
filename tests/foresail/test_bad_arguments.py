"""What a command line gets wrong is one line that names argument, value and remedy, with exit code 2."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from foresail.__main__ import main
from tests.foresail.test_help import COMMANDS


def _refuses(one: argparse.Action) -> bool:
    """Say whether an argument is checked while the command line is read."""
    if one.choices or not callable(one.type):
        return one.choices is not None
    try:
        one.type("5x")
    except (ValueError, argparse.ArgumentTypeError):
        return True
    return False


def _of_each_kind() -> Iterator[tuple[str, ...]]:
    """Yield a command line with one bad value for each kind of flag of each command."""
    for command, parser in COMMANDS.items():
        valued = [one for one in parser._actions if one.option_strings and one.nargs is None]
        kinds = {str(one.choices or one.type): one for one in valued if _refuses(one)}
        for one in kinds.values():
            yield (*command.split(), one.option_strings[-1], "5x")
        for one in valued[:1]:
            yield (*command.split(), one.option_strings[-1])
        if not any(one.required for one in parser._actions):
            yield (*command.split(), "--no-such-flag")


@pytest.mark.parametrize("words", list(_of_each_kind()), ids=" ".join)
def test_a_bad_argument_is_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The flag and its value, where to read more, and no usage."""
    try:
        code: object = main(words)
    except SystemExit as ended:
        code = ended.code
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert (2, 1, "") == (code, len(lines), printed.out), printed.err
    assert lines[0].startswith("error: ")
    assert all(word in lines[0] for word in words if word.startswith("--") or word == "5x")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("up --for 5x", "--for: '5x' is no duration; write it as 120s, 2m, 1h or 7d; see `foresail up --help`"),
        ("up --nodez 3", "flag = --nodez: did you mean --nodes, --mode?; see `foresail up --help`"),
        ("up --for", "--for = (nothing): give a value; see `foresail up --help`"),
        ("tap decision --limit x", "--limit = x: give a whole number; see `foresail tap --help`"),
        ("recording chek a", "ACTION = chek: did you mean check?; see `foresail recording --help`"),
        ("verify", "FILE = (nothing): give a value; see `foresail verify --help`"),
    ],
)  # fmt: skip
def test_the_line_names_the_remedy(
    words: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As every error of ours: field, value, remedy."""
    with pytest.raises(SystemExit):
        main(words.split())
    assert f"error: {line}\n" == capsys.readouterr().err
