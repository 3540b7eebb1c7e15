"""Actions of a verb: `foresail VERB ACTION`, a file each in the verb's folder."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from bus.exit_codes import ExitCode
from foresail import stopping
from foresail.verbs import set_texts


@dataclass(frozen=True, slots=True)
class Actions:
    """Actions of one verb. An action's module has `EXAMPLES`, `add_arguments(parser)` and `run(arguments)`.

    Its `run` may be a coroutine; a plain one runs in the main thread, where Ctrl-C interrupts a computation at once.
    """

    package: str
    """Where the modules are."""
    help: Mapping[str, str]
    """What each action does, in one line."""
    suffix: str = "_action"
    """What the modules' names end with, so that those of other files in the folder do not look like actions."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the actions and their arguments."""
        below = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        for action, text in self.help.items():
            sub = below.add_parser(action, help=text)
            module = self._module(action)
            set_texts(sub, text, module.EXAMPLES)
            module.add_arguments(sub)
            sub.add_argument("--json", action="store_true", help="print the result as JSON")

    def main(self, arguments: argparse.Namespace) -> ExitCode:
        """Run one action and return its exit code."""
        result = self._module(arguments.action).run(arguments)
        code: ExitCode = stopping.run(result) if asyncio.iscoroutine(result) else result
        return code

    def _module(self, action: str) -> ModuleType:
        return import_module(f"{self.package}.{action.replace('-', '_')}{self.suffix}")
