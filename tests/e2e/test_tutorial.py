"""The tutorial's commands run, in its order, against a stack that its first command starts."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import nats
import pytest

from foresail.__main__ import main
from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import OverHttp

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]

Foresail = Callable[..., tuple[int, str]]
REPOSITORY = Path(__file__).parents[2]
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
START_SPEED, SPEED = 0.1, 40
"""Of the cluster's time: until the first decision, so that the machine dies after it, and from then on."""
PACE = f"[agents]\nsignal_limit_intervals = {3 * SPEED / START_SPEED:g}\n"
"""An interval stays as long as the first speed makes it: as the time passes from then on, three of the reader's."""
SHORTER = {
    "--speed 20": f"--speed {START_SPEED}",
    "--interval 2s": "--interval 1s",
    "--for 60s": "--for 1s",
    "--since 1m": "--since 1h",
}
"""Times of the reader, and of the test."""
PLAYED = "replicate"
"""What the tutorial waits for: agent A's answer to the failure."""
SAYS = {
    "": "",
    "foresail status": "newest",
    "foresail tap decision --since 1m": "AgentA:replicate",
    "foresail tap proposal": "replicate",
    "foresail recording record": "messages in run.fslog",
    # Where the machine stalls the last decision may be nobody's; that of `+6m` is agent A's.
    "foresail explain last": "SIGNALS",
    "foresail explain +6m": "AgentA:replicate",
    "foresail timeline --list": "node failure",
    "foresail timeline rack-2": "is not ready any more",
    "foresail what-if": "open-loop",
    "foresail status --nats": "live.foresail.",
}
"""What the reader is told to see, by how the command begins."""


def commands() -> list[str]:
    """Return the tutorial's commands, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```", TUTORIAL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def shorten(command: str) -> list[str]:
    """Return a command's words with the test's times."""
    for given, ours in SHORTER.items():
        command = command.replace(given, ours)
    return shlex.split(command)


@pytest.fixture
def foresail(
    cli: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Foresail:
    """Run verbs as the reader does, in one folder, and return exit code and output.

    In this process: starting one for each of them takes longer than what they do.
    """
    monkeypatch.chdir(cli.folder)

    def run(*words: str) -> tuple[int, str]:
        code = main(words)
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


@pytest.mark.parametrize("given", ["", "--nodes 3 --for 1s"])
def test_make_run_hands_its_arguments_to_up(given: str) -> None:
    """What the tutorial starts with make is `foresail up` with the same arguments; alone it plays the first run."""
    command = [
        "make",
        "--no-print-directory",
        "--dry-run",
        "run",
        *([f"ARGS={given}"] if given else []),
    ]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    shown = subprocess.run(
        command, cwd=REPOSITORY, env=alone, capture_output=True, text=True, check=True
    )

    arguments = given or "--config examples/first-run.toml"
    assert shown.stdout.splitlines()[-1].endswith(f"/foresail up {arguments}")


def test_every_command_of_the_tutorial_works(
    cli: Any, foresail: Foresail, wait_until: Callable[..., Any]
) -> None:
    """Each ends with exit code 0 and shows what the text promises."""
    first, path, *rest = commands()
    assert path == 'export PATH="$PWD/.venv/bin:$PATH"'
    (cli.folder / "examples").symlink_to(REPOSITORY / "examples")
    arguments = shlex.split(first.removeprefix('make run ARGS="').removesuffix('"'))
    played = shorten(shlex.join(arguments))
    (cli.folder / "pace.toml").write_text(PACE)
    cli.start(
        "up", *played, "--config", "pace.toml", "--dashboard-port", "0", "--state", ".foresail"
    )
    wait_until(
        lambda: "{" in foresail("tap", "decision", "--limit", "1", "--json")[1], "a first decision"
    )
    _set_speed(cli.folder)

    def answered() -> bool:
        where = f"action.kind == '{PLAYED}' and action.target.name == 'rack-2'"
        code, output = foresail("tap", "decision", "--since", "1h", "--where", where)
        return code == 0 and "rack-2" in output

    wait_until(answered, "agent A answers the failure")
    wait_until(lambda: foresail("status")[0] == 0, "every process is there")
    for command in rest:
        words = shorten(command)
        assert words[0] == "foresail"
        if "+6m" in words:  # of the reader: a minute after the machine died
            words[words.index("+6m")] = f"+{math.ceil(_seconds_until_answered(foresail))}s"
        code, output = foresail(*words[1:])
        assert code == 0, f"{command}\n{output}"
        promised = SAYS[
            max((prefix for prefix in SAYS if command.startswith(prefix)), key=len, default="")
        ]
        assert promised in output, f"{command}\n{output}"
    assert "node failure" in foresail("timeline", "--list")[1]  # the same, live
    page = (cli.folder / "incident.html").read_text("utf-8")
    assert "rack-2" in page
    _attach(cli, foresail)


def _set_speed(folder: Path) -> None:
    """Let the running stack's cluster time pass as it does for the reader, or faster."""
    (kubeconfig,) = folder.glob(".foresail/incarnations/*/admin.kubeconfig")
    face = OverHttp(kubeconfig, "tutorial", simulated=True)
    assert face.ask("POST", "/foresail/v1/clock", body={"speed": SPEED}).status == 200
    face.close()


def _seconds_until_answered(foresail: Foresail) -> float:
    """Return the cluster seconds from the first decision to the first that answers the failure."""
    answering = ("--where", f"action.kind == '{PLAYED}'")
    return (_first_time(foresail, *answering) - _first_time(foresail)).total_seconds()


def _first_time(foresail: Foresail, *filters: str) -> datetime:
    tap = ("tap", "decision", "--recording", "run.fslog", "--json", "--limit", "1")
    _, output = foresail(*tap, *filters)
    events = [line for line in output.splitlines() if line.startswith("{")]
    assert events, output
    return datetime.fromisoformat(json.loads(events[0])["attributes"]["time"])


def _attach(cli: Any, foresail: Foresail) -> None:
    """Whoever uses the printed login hears what is stored."""
    content = json.loads(foresail("status", "--nats", "--json")[1])
    file = cli.folder / content["login_file"]
    assert file.stat().st_mode & 0o077 == 0
    login = dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines())
    assert login["NATS_PASSWORD"] not in foresail("status", "--nats")[1]
    assert asyncio.run(_hear(login, content["subject"])).startswith("live.foresail.")


async def _hear(login: dict[str, str], subject: str) -> str:
    client = await nats.connect(
        login["NATS_URL"], user=login["NATS_USER"], password=login["NATS_PASSWORD"]
    )
    try:
        subscription = await client.subscribe(subject)
        return str((await subscription.next_msg(timeout=HANGS_SECONDS)).subject)
    finally:
        await client.close()
