"""`foresail completion SHELL`: the script that lets a shell complete verbs, flags, choices and files.

foresail completion bash > ~/.local/share/bash-completion/completions/foresail
foresail completion zsh  > ~/.zfunc/_foresail          # a folder of $fpath
foresail completion fish > ~/.config/fish/completions/foresail.fish
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.verbs import Verb, make_parser, verbs

VERB = Verb(200, "print the completion script of a shell: bash, zsh or fish")
EXAMPLES = (
    ("completion bash > ~/.local/share/bash-completion/completions/foresail", "bash"),
    ("completion fish > ~/.config/fish/completions/foresail.fish", "fish"),
)

SHELLS = ("bash", "zsh", "fish")
FILES = frozenset({"FILE", "RECORDING", "NAME|FILE"})
FOLDERS = frozenset({"FOLDER", "DIR", "NAME|FOLDER"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that you use")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Print the script.

    Raises:
        InputError: the package that writes it is not installed.
    """
    sys.stdout.write(script_for(arguments.shell))
    return ExitCode.GOOD


def script_for(shell: str) -> str:
    """Return the completion script of a shell.

    Raises:
        InputError: the package that writes it is not installed.
    """
    try:
        shtab: Any = import_module("shtab")
    except ModuleNotFoundError as error:
        raise InputError("SHELL", shell, "install the package shtab (make setup)") from error
    parser = make_parser(verbs())
    for action in _actions(parser):
        if action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell=shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of every parser below it."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for sub in action.choices.values():
                yield from _actions(sub)
        else:
            yield action
