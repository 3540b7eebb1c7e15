"""The parser of every verb: what it does not understand is one line, never the whole usage."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from bus.exit_codes import ExitCode
from foresail.output import print_error
from inputs.close_matches import remedy_for

_WORDS = (
    (r"argument (.+): invalid int value: '(.*)'", r"\1 = \2: give a whole number"),
    (r"argument (.+): invalid float value: '(.*)'", r"\1 = \2: give a number"),
    (r"argument (.+): expected .*argument.*", r"\1 = (nothing): give a value"),
    (r"argument (.+): (not allowed with) argument (.+)", r"\1: \2 \3; give one of them"),
    (r"the following arguments are required: (.+)", r"\1 = (nothing): give a value"),
    (r"argument (.+?): (.+)", r"\1: \2"),
)
"""What argparse says, and how every other error of ours is put: field, value, remedy."""
_CHOICE = re.compile(r"argument (.+): invalid choice: '(.*)' \(choose from (.*)\)")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line that names argument, value and remedy."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an argument that nobody knows ends it here, where the names that would do are known."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flag = unknown[0].partition("=")[0]
            known = [name for name in self._option_string_actions if name.startswith("--")]
            remedy = remedy_for(flag, known) if flag.startswith("-") else "leave it out"
            self.error(f"flag = {flag}: {remedy}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Print one line and end with the code for bad input.

        Raises:
            SystemExit: always.
        """
        print_error(f"{_on_one_line(message)}; see `{self.prog} --help`")
        raise SystemExit(ExitCode.BAD_INPUT)


def _on_one_line(message: str) -> str:
    text = message.replace("\n", "\\n")
    if choice := _CHOICE.fullmatch(text):
        field, value, names = choice.groups()
        return f"{field} = {value}: {remedy_for(value, names.replace(chr(39), '').split(', '))}"
    for pattern, said in _WORDS:
        if found := re.fullmatch(pattern, text):
            return found.expand(said)
    return text
