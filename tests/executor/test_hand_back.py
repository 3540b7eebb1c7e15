"""The machine of a node that sleeps is handed back by whoever rented it, never with a pod on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bus.errors import ConfigError
from foresail.settings import StackSettings
from foresail.stack.virtual import run_virtual_stack
from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import Mode, Operation, OutcomeExecution, Verb
from schemas.outcome import VerificationStatus as Status
from schemas.reasons import Reason
from services.cluster import JSON
from services.executor.ledger.handler import evolve
from services.executor.reading.capabilities import read_missing_capabilities
from services.executor.settings import ExecutorSettings, HandBack
from services.executor.writing.commands import run_command
from services.twin_transport import TwinTransport
from tests.builders import make_action, make_control, stamp_event
from tests.executor.plant import Plant
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.settings import MachineType, ProvisioningConfig, TwinConfig

MERGE = "application/merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"
POOL = "/apis/karpenter.sh/v1/nodepools/default"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
GIB = 2**30


class Rented:
    """An executor on a cluster whose machines a provisioner has rented for a pod, which may be gone since."""

    def __init__(self, provisioner: str, mode: Mode = Mode.ACTIVE, **policy: Any) -> None:
        """Let a machine be rented."""
        self.plant = Plant(mode, policy=policy)
        machine = MachineType("m", 4_000, 16 * GIB, 0.2, boot_median_seconds=30.0)
        config = ProvisioningConfig(provisioner=provisioner, machines=(machine,))  # type: ignore[arg-type]
        self.plant.twin = InProcessTwin(Engine(TwinConfig(provisioning=config), 1))
        self.plant.transport = TwinTransport(self.plant.twin)
        self.plant.restart()
        self.cycle = 0
        if provisioner == "karpenter":
            never = {"spec": {"disruption": {"consolidateAfter": "Never"}}}
            self.ask("PATCH", POOL, never, MERGE)
        self.add_pod("first")
        self.pass_time(120.0)
        self.plant.node = self.pod("first")["spec"]["nodeName"]

    def ask(self, method: str, path: str, body: Any = None, form: str = JSON) -> dict[str, Any]:
        """Send a request as the cluster's administrator."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, answer = self.plant.twin.request(method, path, {}, sent, form)
        assert status in {200, 201}, answer
        content: dict[str, Any] = json.loads(answer)
        return content

    def add_pod(self, name: str, **spec: Any) -> None:
        """Ask for a pod of one core."""
        resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
        containers = [{"name": "c", "image": "a:1", "resources": resources}]
        body = {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}
        self.ask("POST", PODS, body)

    def pod(self, name: str) -> dict[str, Any]:
        """Return a pod."""
        return self.ask("GET", f"{PODS}/{name}")

    def empty(self) -> None:
        """Take the pod away."""
        self.ask("DELETE", f"{PODS}/first", {"gracePeriodSeconds": 0})
        self.pass_time(5.0)

    def pass_time(self, seconds: float) -> None:
        """Let the cluster run."""
        engine = self.plant.twin.engine
        engine.advance(engine.now + seconds)

    def nodes(self) -> list[str]:
        """Return the names of all nodes."""
        return [one["metadata"]["name"] for one in self.ask("GET", "/api/v1/nodes")["items"]]

    async def decide(self, state: str) -> OutcomeExecution:
        """Decide on the node's power; return how that ended."""
        self.cycle += 1
        self.plant.see(self.cycle)
        kind = ActionKind.POWER_STATE
        action = make_action(kind=kind, target=self.plant.node, power_state=state)
        self.plant.decide(action, self.cycle)
        await self.plant.act()
        return self.plant.executions()[-1]

    async def look(self, cycles: int = 3) -> Status:
        """See some more observations; return the newest verdict."""
        for _ in range(cycles):
            self.pass_time(15.0)
            self.cycle += 1
            self.plant.see(self.cycle)
            await self.plant.act()
        return self.plant.verifications()[-1].status


async def test_karpenter_gets_the_machine_back_by_its_claim() -> None:
    """Cordon first, then the NodeClaim goes; its node is gone a little later, and that is what was wanted."""
    rented = Rented("karpenter", hand_back="karpenter")
    rented.empty()
    done = await rented.decide("sleep")

    assert (done.succeeded, done.means) == (True, "karpenter"), done.text
    assert [(one.verb, one.resource) for one in done.operations] == [
        (Verb.PATCH, "nodes"),
        (Verb.DELETE, "nodeclaims"),
    ]
    assert await rented.look() is Status.VERIFIED
    assert rented.plant.node not in rented.nodes()
    assert rented.ask("GET", CLAIMS)["items"] == []


async def test_a_machine_with_a_pod_stays() -> None:
    """Whoever rented it: only an empty node sleeps."""
    rented = Rented("karpenter", hand_back="karpenter")
    refused = await rented.decide("sleep")
    assert refused.reason is Reason.NODE_NOT_EMPTY
    assert len(rented.ask("GET", CLAIMS)["items"]) == 1


async def test_a_pod_that_arrives_in_between_keeps_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the cordon and before the claim is deleted it is looked at once more."""
    rented = Rented("karpenter", hand_back="karpenter")
    rented.empty()
    send = rented.plant.transport.request

    async def request(method: Any, path: str, *rest: Any) -> Any:
        answer = await send(method, path, *rest)
        arrived = any(one["metadata"]["name"] == "late" for one in rented.ask("GET", PODS)["items"])
        if not arrived and method == "PATCH" and path.startswith("/api/v1/nodes/"):
            rented.add_pod("late", nodeName=rented.plant.node)
        return answer

    monkeypatch.setattr(rented.plant.transport, "request", request)
    await rented.decide("sleep")

    done, back = rented.plant.executions()[-3], rented.plant.executions()[-1]
    assert done.results[-1].reason is Reason.NODE_NOT_EMPTY
    assert back.text == "take back power_state: its machine was not handed back"
    assert "unschedulable" not in rented.plant.shown()["spec"]
    assert "default/late" in done.results[-1].message
    assert len(rented.ask("GET", CLAIMS)["items"]) == 1


async def test_a_claim_that_must_not_be_disrupted_stays() -> None:
    """Karpenter's own mark on the claim protects it from us, too."""
    rented = Rented("karpenter", hand_back="karpenter")
    rented.empty()
    (claim,) = rented.ask("GET", CLAIMS)["items"]
    mark = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    rented.ask("PATCH", f"{CLAIMS}/{claim['metadata']['name']}", mark, MERGE)
    refused = await rented.decide("sleep")
    assert refused.reason is Reason.PROTECTED
    assert rented.plant.node in rented.nodes()


async def test_a_machine_of_somebody_else_is_not_handed_to_karpenter() -> None:
    """Without a claim nothing is written: a cordon alone would save nothing."""
    plant = Plant(policy={"hand_back": "karpenter"})
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    assert plant.executions()[-1].reason is Reason.NO_MACHINE
    assert "unschedulable" not in plant.shown()["spec"]


async def test_cluster_autoscaler_removes_what_is_cordoned_and_empty() -> None:
    """Nothing but the cordon is written; the node goes after its unneeded time."""
    rented = Rented("cluster-autoscaler", hand_back="cluster-autoscaler")
    rented.empty()
    done = await rented.decide("sleep")
    assert (done.succeeded, done.means) == (True, "cluster-autoscaler"), done.text
    assert len(done.operations) == 1
    assert await rented.look() is Status.VERIFIED
    rented.pass_time(1_500.0)
    assert rented.plant.node not in rented.nodes()


async def test_what_cluster_autoscaler_must_keep_is_not_cordoned_for_it() -> None:
    """Its documented annotation says that the owner wants the node."""
    rented = Rented("cluster-autoscaler", hand_back="cluster-autoscaler")
    rented.empty()
    mark = {
        "metadata": {
            "annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        }
    }
    rented.ask("PATCH", f"/api/v1/nodes/{rented.plant.node}", mark, MERGE)
    refused = await rented.decide("sleep")
    assert refused.reason is Reason.PROTECTED


def commands(folder: Path) -> dict[str, Any]:
    """Return settings whose commands leave the node's name in a file each."""
    script = 'echo "$1" >> "$2"'
    run = ("/bin/sh", "-c", script, "sh", "{node}")
    return {
        "hand_back": "command",
        "hand_back_command": (*run, str(folder / "back")),
        "wake_command": (*run, str(folder / "woken")),
    }


def files_in(folder: Path) -> list[Path]:
    """Return what a command has left."""
    return list(folder.iterdir())


async def test_a_command_hands_back_and_wakes(tmp_path: Path) -> None:
    """Each is run with the node's name, after the cordon and before it is taken away."""
    plant = Plant(policy={**commands(tmp_path), "ping_pong_seconds": 0.0, "cool_down_seconds": 0.0})
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    done = plant.executions()[-1]
    assert (done.succeeded, done.means) == (True, "command"), done.text
    assert (tmp_path / "back").read_text() == f"{plant.node}\n"
    assert plant.shown()["spec"]["unschedulable"] is True

    control = make_control(Command.UNDO, value="1")
    plant.state = evolve(plant.state, stamp_event(control))
    await plant.act()
    assert (tmp_path / "woken").read_text() == f"{plant.node}\n"
    assert "unschedulable" not in plant.shown()["spec"]


async def test_a_dry_run_starts_no_command(tmp_path: Path) -> None:
    """In shadow mode it is said and not done."""
    plant = Plant(Mode.SHADOW, policy=commands(tmp_path))
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    done = plant.executions()[-1]
    assert done.results[-1].message == "not started: shadow mode"
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/bin/sh", "-c", "echo no; exit 3", "n"], "/bin/sh ended with 3: no"),
        (["/nowhere/program", "n"], "/nowhere/program does not start: No such file or directory"),
        (["/bin/sleep", "60"], "/bin/sleep took longer than 0.2 s and was ended"),
    ],
)
async def test_a_command_that_fails_says_how(arguments: list[str], said: str) -> None:
    """Its own words, the system's, or ours."""
    operation = Operation(
        verb=Verb.RUN, resource="nodes", name="n", patch=json.dumps(arguments), text="run"
    )
    result = await run_command(operation, seconds=0.2, dry_run=False)
    assert (result.status, result.reason) == ("failed", Reason.COMMAND_FAILED)
    assert result.message == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"hand_back": "command"}, "give hand_back_command"),
        ({"hand_back_command": ("/bin/x", "{node}")}, "hand_back = command alone"),
        ({"hand_back": "command", "hand_back_command": ("x", "{node}")}, "a whole path first"),
        ({"hand_back": "command", "hand_back_command": ("/bin/x",)}, "{node} in an argument"),
        ({"hand_back": "aws"}, "cluster-autoscaler"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], said: str) -> None:
    """With what to give instead."""
    with pytest.raises(ValidationError, match=said.replace("{", r"\{").replace("}", r"\}")):
        ExecutorSettings(**given)


def test_virtual_time_runs_no_command() -> None:
    """A command takes real time, which such a run does not have."""
    settings = StackSettings.model_validate({"executor": commands(Path("/tmp"))})
    with pytest.raises(ConfigError, match="leave out --virtual-time"):
        run_virtual_stack(settings, quiet=True)


async def test_karpenter_that_is_not_served_is_missing_beforehand() -> None:
    """Nobody proposes to hand a machine to whom the API does not know."""
    from tests.executor.test_means import Limited

    limited = Limited(Plant().transport, unknown="nodeclaims")
    settings = ExecutorSettings(hand_back=HandBack.KARPENTER)
    (missing,) = await read_missing_capabilities(limited, settings, Mode.ACTIVE)
    assert (missing.kind, missing.needs) == (ActionKind.POWER_STATE, "delete nodeclaims")
