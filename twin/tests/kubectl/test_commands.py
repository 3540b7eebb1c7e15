"""kubectl itself on the embedded cluster: every command of the table, one after the other."""

from __future__ import annotations

import re
import time

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.kubectl.commands import COMMANDS, Command, words
from twin.tests.kubectl.conftest import Kubectl

pytestmark = pytest.mark.twin
NODE = "node-0001"


@pytest.mark.parametrize(
    "command",
    COMMANDS,
    ids=[f"{n:02} {command.line}" for n, command in enumerate(COMMANDS, start=1)],
)
def test_command(kubectl: Kubectl, command: Command) -> None:
    """The command ends with the code and the words that it has on a real cluster."""
    deadline = time.monotonic() + HANGS_SECONDS
    while True:
        done = kubectl.run(words(command, NODE), command.stdin, command.user)
        said = done.stdout + done.stderr
        if "metrics not available yet" not in said or time.monotonic() > deadline:
            break  # a pod has been measured twice, or never will be
    assert done.returncode == command.code, said
    assert re.search(command.said, said), said
