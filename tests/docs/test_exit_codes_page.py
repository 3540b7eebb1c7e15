"""Every verb stands in docs/exit-codes.md."""

from __future__ import annotations

import typing
from importlib import import_module
from types import ModuleType

from bus.exit_codes import ExitCode
from foresail import recording, twin
from foresail.exit_codes import codes_by_verb
from foresail.forecast import actions_by_file
from foresail.verbs import verbs

ACTIONS = {
    "recording": tuple(recording.ACTIONS.help),
    "twin": tuple(twin.ACTIONS.help),
    "forecast": tuple(actions_by_file()),
}
KNOWN = tuple(f"{verb} {action}".strip() for verb in verbs() for action in ACTIONS.get(verb, ("",)))


def module_of(verb: str) -> ModuleType:
    """Return the file behind a verb or an action."""
    name, _, action = verb.partition(" ")
    return import_module(".".join(("foresail", *f"{name} {action}".replace("-", "_").split())))


def test_every_verb_stands_in_the_table() -> None:
    """No verb and no action is left out, and none is named that does not exist."""
    assert set(KNOWN) == set(codes_by_verb())


def test_every_number_means_one_thing() -> None:
    """Scripts depend on the numbers: they stay as they are."""
    assert [0, 1, 2, 3, 4, 5, 6, 71, 130, 141] == [int(code) for code in ExitCode]
    assert ExitCode.FAILED is ExitCode.DIFFERS
    assert len({code.meaning for code in ExitCode}) == len(ExitCode)


def test_a_verb_returns_codes_of_the_table() -> None:
    """Its `main` or `run` is declared to return an ExitCode, so the type checker refuses bare numbers."""
    for verb in KNOWN:
        module = module_of(verb)
        function = getattr(module, "main", None) or module.run

        assert typing.get_type_hints(function)["return"] is ExitCode, verb
