"""The verbs of the command line: every file of this folder that declares one.

A file `foresail/some_verb.py`, or a folder with an `__init__.py`, is the verb `some-verb` when it holds

    VERB = Verb(150, "what it does, as `foresail --help` shows it")

beside `add_arguments(parser)` and `run(arguments)` (or `main(arguments)`, when it owns its loop). It may
add `EXIT_CODES`, if an exit code means something of its own there (`foresail.exit_codes`), and `EXAMPLES`,
pairs of a command line and what it does, which end its `--help`. No other file names it. The declaration
is read from the text, and a verb's module is imported only when it is asked for, so that
`foresail --help` stays quick.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import foresail
from bus.errors import InputError
from foresail.arguments import Parser

DESCRIPTION = "Watch a Kubernetes cluster, predict, decide, and say why. `foresail VERB --help` explains a verb."
WIDEST_TEXT = 100
"""Columns after which help texts are wrapped, however wide the terminal is."""
Examples = Sequence[tuple[str, str]]
"""A command line without `foresail`, and what it does."""
_DECLARATION = re.compile(r"^VERB = (.*?\))$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verb:
    """Declaration of a verb's file. Both must be literals, since they are read without an import."""

    place: int
    """Where it stands in `foresail --help`; smaller is further up."""
    help: str
    """What it does, in one line."""


@lru_cache(maxsize=1)
def verbs() -> dict[str, Verb]:
    """Return every verb by its name, in the order of `foresail --help`.

    Raises:
        InputError: a file declares a verb in a way that cannot be read.
    """
    by_name = {
        name: verb
        for folder in foresail.__path__
        for name, path in _files(Path(folder))
        if (verb := _declared_verb(path)) is not None
    }
    return dict(sorted(by_name.items(), key=lambda item: (item[1].place, item[0])))


def make_parser(with_arguments: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser over all verbs; those of `with_arguments` know their arguments.

    Raises:
        InputError: a verb's file, or a folder in `services/agents/`, declares nothing that can be used.
    """
    parser = Parser(prog="foresail", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"foresail {foresail.__version__}")
    below = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, verb in verbs().items():
        text = verb.help.replace("%", "%%")  # argparse fills in % fields of help texts
        sub = below.add_parser(name, help=text)
        module = verb_module(name) if name in with_arguments else None
        set_texts(sub, verb.help, getattr(module, "EXAMPLES", ()))
        if module is not None:
            module.add_arguments(sub)
    return parser


def set_texts(parser: argparse.ArgumentParser, summary: str, examples: Examples = ()) -> None:
    """Give a verb or action what stands above its arguments in `--help`, and its examples below."""
    columns = min(shutil.get_terminal_size().columns - 2, WIDEST_TEXT)
    sentence = f"{summary[0].upper()}{summary[1:]}."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = textwrap.fill(sentence, columns)
    if not examples:
        return
    wide = max(len(command) for command, _ in examples)
    lines = [f"  foresail {command:<{wide}}  {what}" for command, what in examples]
    if max(map(len, lines)) > columns:
        lines = [f"  foresail {command}\n      {what}" for command, what in examples]
    parser.epilog = "\n".join(["examples:", *lines])


def verb_module(verb: str) -> ModuleType:
    """Return the module of a verb.

    Raises:
        InputError: a folder in `services/agents/` registers no agent that can be used.
    """
    try:
        return import_module(f"foresail.{verb.replace('-', '_')}")
    except ValueError as error:
        from schemas.agents import BadRegistration  # noqa: PLC0415 - for what went wrong

        if not isinstance(error, BadRegistration):
            raise
        raise InputError(error.field, error.value, error.remedy) from error


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the verb that each file would be, with the file."""
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/__init__.py"))):
        stem = path.parent.name if path.name == "__init__.py" else path.stem
        if path != folder / "__init__.py":
            yield stem.replace("_", "-"), path


def _declared_verb(path: Path) -> Verb | None:
    match = _DECLARATION.search(path.read_text(encoding="utf-8"))
    if match is None:
        return None
    try:
        call = ast.parse(match[1], mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError("no call")
        place, text = (ast.literal_eval(argument) for argument in call.args)
    except (SyntaxError, ValueError) as error:
        remedy = 'write it as Verb(150, "what it does"), both as literals'
        raise InputError(f"foresail/{path.name}: VERB", match[1], remedy) from error
    return Verb(place, text)
