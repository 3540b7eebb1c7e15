"""A fourth agent is one folder: copied beside the others, it takes part in everything.

The product lies in a temporary folder in which nothing but `services/agents/unhealthy/` is new. What the page
docs/add-an-agent.md says to type is typed there, for the profile that runs unless another is named.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from bus.recording import open_recording
from foresail.__main__ import main
from schemas.envelope import Event
from schemas.registry import decode
from tests.architecture.source_tree import PACKAGES, ROOT

EXAMPLE = ROOT / "examples/agents/unhealthy"
COPIED = ("services", "deploy", "docker-compose.yml")
LINKED = ("examples", *(name for name in PACKAGES if name != "services"))
PAGE = ROOT / "docs/add-an-agent.md"
RUN = "up --virtual-time --for 60s --nodes 4 --interval 5 --speed 10 --seed 11 --exercise --json"
EAGER = {"FORESAIL_AGENTS__UNHEALTHY": '{"unhealthy_pods": 0}', "COLUMNS": "200"}
"""It always wants something, so that the referee has something to judge."""
FOUR = {"safety": 1.0, "efficiency": 0.6, "admission": 0.8, "unhealthy": 0.5}


@dataclass(frozen=True)
class Product:
    """A copy of the product with the fourth agent's folder, and a recording of its stack."""

    folder: Path
    recording: Path

    def run(
        self, *command: str, code: int = 0, errors: bool = False, given: Mapping[str, str] = EAGER
    ) -> str:
        """Run `python -m ...` there and return what it prints, or what it says of errors."""
        own = {name: value for name, value in os.environ.items() if name != "FORESAIL_DATA"}
        environment = {**own, **given, "FORESAIL_INFERENCE__SHADOW_MODELS": "[]"}
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done.stderr if errors else done.stdout

    def events(self, recording: Path | None = None) -> Iterator[Event[Any]]:
        """Yield a recording's events, read by the product without that agent."""
        for message in open_recording(recording or self.recording):
            yield decode(
                message.subject,
                message.headers,
                message.data,
                seq=message.seq,
                recorded_ns=message.time_ns,
            )

    def of_kind(self, last: str) -> list[Any]:
        """Return the data of the events whose subject ends so."""
        return [event.data for event in self.events() if event.subject.endswith(last)]


def copied_product(folder: Path) -> Path:
    """Copy the product without the example agent into a folder."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Return the product with the example agent, after one run of its stack by the baseline's rules."""
    folder = copied_product(tmp_path_factory.mktemp("product"))
    shutil.copytree(EXAMPLE, folder / "services/agents/unhealthy")
    product = Product(folder, folder / "run.fslog")
    product.run("foresail", *RUN.split(), "--record", str(product.recording))
    return product


def test_whoever_follows_the_page_has_an_agent_that_acts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The page's first commands, typed as they stand, end in a proposal that wins, is executed and is verified."""
    folder = copied_product(tmp_path_factory.mktemp("typed"))
    typed = Product(folder, folder / "unhealthy.fslog")
    copy, up, *looks = _first_commands()

    subprocess.run(copy.split(), cwd=folder, check=True)
    summary = typed.run(*up.split(), given={"COLUMNS": "200"})
    shown = [typed.run(*look.split(), given={"COLUMNS": "200"}) for look in looks]

    won = [one for one in typed.of_kind(".decision") if one.action.agent == "unhealthy"]
    assert won
    assert {one.rule for one in won} == {"highest_value"}
    cycles = {one.cycle for one in won}
    executed = {
        one.cycle
        for one in typed.of_kind(".outcome.execution")
        if one.succeeded and not one.rollback_of and one.action.agent == "unhealthy"
    }
    assert executed == cycles
    verified = {one.cycle for one in typed.of_kind(".outcome.verification")}
    assert cycles & verified
    assert f"AgentD:throttle {len(won)}" in " ".join(summary.split())
    assert all(f"throttle {won[0].action.target.name}" in text for text in shown)


def _first_commands() -> list[str]:
    """Return the lines of the page's first block of commands."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("    "))
    return [line.strip() for line in takewhile(lambda line: line.startswith("    "), lines[begin:])]


def test_it_proposes_and_the_referee_judges_it(product: Product) -> None:
    """Every cycle holds its proposal, and every decision considers it; what it wants wins or names
    who won.
    """
    proposals = {one.cycle: one for one in product.of_kind(".proposal.unhealthy")}
    decisions = product.of_kind(".decision")

    assert len(proposals) > 5
    assert {proposal.rule for proposal in proposals.values()} == {"unhealthy pods >= 0"}
    assert {decision.rule for decision in decisions if decision.action.agent == "unhealthy"} == {
        "admission_protects"
    }
    assert {proposal.priority for proposal in proposals.values()} == {4}
    considered = [
        decision
        for decision in decisions
        if "unhealthy" in {each.agent for each in decision.considered}
    ]
    assert len(considered) == len(decisions)
    assert all(candidate.considered[-1].agent == "unhealthy" for candidate in considered)
    assert all(
        "unhealthy" in one.overridden or one.action.agent == "unhealthy" for one in considered
    )


def test_it_is_rewarded(product: Product) -> None:
    """Each reward holds its weight, its own sum, and a scale that says it is in the total."""
    rewards = product.of_kind(".outcome.reward")

    assert rewards
    for reward in rewards:
        assert reward.weights == FOUR
        assert reward.scale == "seed-rewards/1+unhealthy"
        assert {part.term for part in reward.predicted_parts if part.agent == "unhealthy"} >= {
            "base"
        }
        total = sum(FOUR[name] * amount for name, amount in reward.predicted.by_agent.items())
        assert reward.predicted.total == pytest.approx(total, abs=1e-5)


def test_it_has_an_identity_with_its_own_subjects_alone(product: Product, tmp_path: Path) -> None:
    """The accounts hold a user that may publish its proposals, settings and checkpoint."""
    arguments = ("--cluster", "c", "--incarnation", "i", "--out", str(tmp_path))

    product.run("services.identities", *arguments)

    assert "FORESAIL_NATS_USER=agent-unhealthy" in (
        tmp_path / "agent-unhealthy/login.env"
    ).read_text(encoding="utf-8")
    accounts = (tmp_path / "server/accounts.conf").read_text(encoding="utf-8")
    services = [line for line in accounts.splitlines() if '"agent-unhealthy"' in line]
    assert any("foresail.c.proposal.unhealthy" in line for line in services)
    assert not any("foresail.c.proposal.safety" in line for line in services)


def test_it_is_a_process_of_the_stack(product: Product) -> None:
    """The list of processes starts it as `services.agents unhealthy`."""
    code = (
        "from bus.login import ANONYMOUS\n"
        "from foresail.settings import resolve\n"
        "from foresail.stack.processes import Connections, process_specs\n"
        "files = dict.fromkeys(('collector', 'executor', 'exerciser'), 'k')\n"
        "at = Connections('c', 'i', 's', 'nats://h', files, None)\n"
        "for one in process_specs(resolve(None, {}, {}), at): print(one.name, *one.command[2:])\n"
    )
    (product.folder / "list_processes.py").write_text(code, encoding="utf-8")

    processes = product.run("list_processes").splitlines()

    assert "agent-unhealthy services.agents unhealthy" in processes
    assert len([line for line in processes if line.startswith("agent-")]) == 4


def test_compose_and_prometheus_are_written_with_it(product: Product) -> None:
    """The generators add its container, its login's volume and its numbers."""
    product.run("deploy.make_compose")
    product.run("deploy.grafana.make_prometheus")

    compose = yaml.safe_load((product.folder / "docker-compose.yml").read_text(encoding="utf-8"))
    assert compose["services"]["agent-unhealthy"]["command"] == ["services.agents", "unhealthy"]
    assert "login-agent-unhealthy" in compose["volumes"]
    mounts = compose["services"]["prepare"]["volumes"]
    assert "login-agent-unhealthy:/logins/agent-unhealthy" in mounts
    prometheus = (product.folder / "deploy/grafana/prometheus.yml").read_text(encoding="utf-8")
    assert "agent-unhealthy:9100" in prometheus


@pytest.mark.parametrize("name", ["D", "unhealthy"])
def test_it_can_be_tapped(product: Product, name: str) -> None:
    """`tap --agent` knows its letter and its name, and shows its events alone."""
    printed = product.run(
        "foresail", "tap", "--recording", str(product.recording), "--agent", name, "--json"
    )

    subjects = {json.loads(line)["subject"] for line in printed.splitlines()}
    assert any(subject.endswith(".proposal.unhealthy") for subject in subjects)
    assert not any(subject.endswith(".proposal.safety") for subject in subjects)


def test_it_is_explained(product: Product) -> None:
    """The explanation of a cycle names it by letter and name, and its reward by its weight."""
    reward = next(one for one in product.of_kind(".outcome.reward") if one.observed is not None)

    printed = product.run(
        "foresail", "explain", str(reward.cycle), "--recording", str(product.recording)
    )

    assert "D unhealthy" in printed
    assert "x 0.5" in printed


def test_its_settings_are_settings(product: Product) -> None:
    """Its thresholds can be changed by name, and a wrong one is refused with its bounds."""
    change = ("--set", "agents.unhealthy.unhealthy_pods=500")

    product.run("foresail", "what-if", str(product.recording), *change)
    product.run(
        "foresail", "what-if", str(product.recording), "--set", "agents.unhealthy.pods=1", code=2
    )


def test_recordings_verify_with_and_without_it(product: Product) -> None:
    """Its own recording is computed again to the last byte; so are those of before it came; and the
    product without it reads its recording, taking its proposals as recorded.
    """
    product.run("foresail", "verify", str(product.recording))
    for name in ("v0.fslog", "v1.fslog"):
        product.run("foresail", "verify", str(ROOT / "tests/golden" / name))

    assert main(["explain", "3", "--recording", str(product.recording)]) == 0


def test_a_folder_that_registers_nothing_usable_stops_the_start(product: Product) -> None:
    """One line names the folder, the field and what to do, with exit code 2; no traceback."""
    folder = product.folder / "services/agents/zealous"
    shutil.copytree(EXAMPLE, folder)
    try:
        printed = product.run("foresail", "up", code=2, errors=True)
    finally:
        shutil.rmtree(folder)

    assert printed.splitlines() == [
        "error: services/agents/zealous: letter = D: unhealthy has it already"
    ]
