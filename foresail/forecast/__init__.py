"""`foresail forecast ACTION`: from traces to models.

Every file of this folder is one action; the first line of its docstring is its help. It has
`add_arguments(parser)` and `run(arguments) -> int`. A file is imported only when its action or its
help is asked for: the libraries behind one action take longer to load than another takes to run.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from bus.exit_codes import ExitCode
from foresail.arguments import Parser
from foresail.run_log import add_run
from foresail.verbs import Verb, set_texts

VERB = Verb(150, "build datasets from traces; train, evaluate and inspect models")

FOLDER = Path(__file__).parent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions; each adds its own arguments when it is chosen."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_ActionParser
    )
    for name, path in actions_by_file().items():
        text = _first_line(path)
        sub = actions.add_parser(name, help=f"{text[0].lower()}{text[1:]}".replace("%", "%%"))
        sub.add_argument("--json", action="store_true", help="print the result as JSON")
        add_run(sub)


def main(arguments: argparse.Namespace) -> ExitCode:
    """Run one action in the main thread, where Ctrl-C interrupts a computation at once."""
    code: ExitCode = _module(arguments.action).run(arguments)
    return code


def actions_by_file() -> dict[str, Path]:
    """Return every action's name with its file, in alphabetical order."""
    return {
        path.stem.replace("_", "-"): path
        for path in sorted(FOLDER.glob("*.py"))
        if not path.name.startswith("_")
    }


class _ActionParser(Parser):
    """A parser that asks its action for arguments only when it parses or explains itself."""

    _asked = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, with the action's arguments."""
        self._ask()
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """Return the help, with the action's arguments."""
        self._ask()
        return super().format_help()

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            name = self.prog.rpartition(" ")[2]
            module = _module(name)
            set_texts(self, _first_line(actions_by_file()[name]), module.EXAMPLES)
            module.add_arguments(self)


def _module(action: str) -> ModuleType:
    return import_module(f"foresail.forecast.{action.replace('-', '_')}")


def _first_line(path: Path) -> str:
    words: Sequence[str] = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")
    return words[0].rstrip(".")
