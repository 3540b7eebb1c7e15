"""What `foresail` says to somebody who calls it for the first time."""

from __future__ import annotations

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.first_steps import FIRST_STEPS
from foresail.verbs import verbs


def test_without_arguments_it_shows_the_five_first_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 0 and five commands, each of a verb that exists."""
    assert ExitCode.GOOD == main([])

    printed = capsys.readouterr().out
    commands = [line.split()[1] for line in printed.splitlines() if line.startswith("  foresail ")]
    assert len(commands) == len(FIRST_STEPS) == 5
    assert set(commands) <= set(verbs())


@pytest.mark.parametrize(
    ("verb", "remedy"), [("tpa", "did you mean tap?"), ("stauts", "did you mean status?")]
)
def test_a_misspelt_verb_is_one_line(
    capsys: pytest.CaptureFixture[str], verb: str, remedy: str
) -> None:
    """Exit code 2, and the verb that was probably meant."""
    assert ExitCode.BAD_INPUT == main([verb])
    assert f"error: VERB = {verb}: {remedy}\n" == capsys.readouterr().err
