"""`foresail up` on a cluster of the user's own: what it writes there, and clusters it refuses to start on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.real_cluster import early_label, early_note
from services.collector.cluster import STATEFUL_SETS, WATCHED
from tests.e2e.conftest import Cli, wait_until
from tests.patience import HANGS_SECONDS
from tests.safety.recorder import kubeconfig_of
from tests.safety.world import World

REPOSITORY = Path(__file__).parents[2]
EMPTY, OWN = 3, 5
LATE = 20
"""A cycle by which a node would long have been put to sleep."""
MORE = 4
"""Cycles in which a wrong write would come, too."""
ACTIVE = ("--mode", "active", "--namespaces")


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """Give the folder of a stack, whose log can be read, and which a wait that fails describes."""
    cli = Cli(tmp_path)
    yield cli
    cli.stop()


@dataclass
class Ended:
    """Outcome of a stack."""

    code: int
    summary: dict[str, Any]
    errors: str


def run(
    cli: Cli, world: World, *arguments: str, until: Callable[[], object], **settings: str
) -> Ended:
    """Run the stack until something has happened, and a few decisions longer; return how it ended."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FORESAIL_")}
    options = ("--kubeconfig", str(world.kubeconfig), "--state", str(cli.state))
    rules = ("--profile", "baseline-rules")
    timing = ("--interval", "1", "--dashboard-port", "0", "--json")
    stack = subprocess.Popen(
        [sys.executable, "-m", "foresail", "up", *options, *rules, *timing, *arguments],
        cwd=cli.folder,
        env={
            **kept,
            "FORESAIL_EXECUTOR__SETTLE_SECONDS": "0",  # the settling time has tests of its own
            **settings,
            "PYTHONPATH": str(REPOSITORY),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: until() or stack.poll() is not None, "what the test waits for")
        seen = cli.newest_decided_cycle()
        wait_until(
            lambda: cli.newest_decided_cycle() >= seen + MORE or stack.poll() is not None,
            "more decisions",
        )
        stack.send_signal(signal.SIGINT)
        output, errors = stack.communicate(timeout=HANGS_SECONDS)
    finally:
        stack.kill()
        stack.wait()
    return Ended(stack.returncode, json.loads(output or "{}"), errors)


@pytest.mark.slow
def test_the_issue_s_trials_write_nothing(cli: Cli, world: World) -> None:
    """`--mode active --namespaces shop`, as tried before: no node of anybody is put to sleep, nothing of
    another namespace is evicted, and the start says that this is early. Sleep is refused, or is not even wanted
    where the executor came first to say that no node is named.
    """
    whys: set[str] = set()

    def is_told() -> bool:
        whys.update(one["reason"] for one in cli.stored("outcome.execution"))
        means = (one for told in cli.stored("outcome.means") for one in told["missing"])
        whys.update(one["why"] for one in means if one["kind"] == "power_state")
        return "node_not_named" in whys or bool(whys and cli.newest_decided_cycle() >= LATE)

    done = run(cli, world, *ACTIVE, "shop", until=is_told)

    assert done.code == ExitCode.GOOD, done.errors
    assert "EARLY" in done.errors
    assert whys & {"node_not_named", "no_node_named"}
    assert world.recorder.writes == []


@pytest.mark.slow
def test_one_named_node_is_all_that_sleeps(cli: Cli, world: World) -> None:
    """Of seven idle nodes the one that the settings name by its label is put to sleep, and only that."""
    node = world.nodes[EMPTY]
    path = f"/api/v1/nodes/{node}"
    world.change(path, {"metadata": {"labels": {"sleeps": "yes"}}})
    named = {
        "FORESAIL_EXECUTOR__WRITABLE_NODES": "sleeps=yes",
        "FORESAIL_EXECUTOR__LEAST_READY_RATIO": "0",
    }
    try:
        done = run(cli, world, *ACTIVE, "shop", until=lambda: world.recorder.writes, **named)
        given_back = not is_asleep(world, path)
    finally:
        meta = {"labels": {"sleeps": None}, "annotations": {"foresail.dev/power-state": None}}
        world.change(path, {"spec": {"unschedulable": None}, "metadata": meta})

    assert done.code == ExitCode.GOOD, done.errors
    assert {one.path for one in world.recorder.writes} == {path}
    assert given_back
    assert done.summary["given_back"] == {"taken_back": 1, "left": []}


def is_asleep(world: World, path: str) -> bool:
    """Say whether a node is cordoned or bears our mark."""
    node = world.face.ask("GET", path).body
    marks = node["metadata"].get("annotations") or {}
    return bool(node["spec"].get("unschedulable")) or "foresail.dev/power-state" in marks


@pytest.mark.slow
def test_the_operator_takes_back_and_keep_leaves(cli: Cli, world: World) -> None:
    """`undo` names what stands and wakes the node, in front of the same server; with `--keep` what is done
    later outlives the run.
    """
    node = world.nodes[EMPTY]
    path = f"/api/v1/nodes/{node}"
    world.change(path, {"metadata": {"labels": {"sleeps": "yes"}}})
    named = {
        "FORESAIL_EXECUTOR__WRITABLE_NODES": "sleeps=yes",
        "FORESAIL_EXECUTOR__LEAST_READY_RATIO": "0",
        "FORESAIL_EXECUTOR__COOL_DOWN_SECONDS": "0",
        "FORESAIL_EXECUTOR__PING_PONG_SECONDS": "0",
    }
    answers: list[Any] = []

    def undone_and_done_again() -> bool:
        if not answers and cli.stored("outcome.execution") and is_asleep(world, path):
            answers.extend((cli.json("undo", "--list"), cli.json("undo", "--all")))
        return bool(answers) and is_asleep(world, path)

    try:
        done = run(cli, world, *ACTIVE, "shop", "--keep", until=undone_and_done_again, **named)
        kept = is_asleep(world, path)
    finally:
        meta = {"labels": {"sleeps": None}, "annotations": {"foresail.dev/power-state": None}}
        world.change(path, {"spec": {"unschedulable": None}, "metadata": meta})

    listed, undone = answers
    (standing,) = listed["standing"]
    assert standing["objects"] == [{"resource": "nodes", "namespace": "", "name": node}]
    results = {one["name"]: one["status"] for one in undone["results"]}
    assert results[standing["name"]] == "taken_back"
    assert done.code == ExitCode.GOOD, done.errors
    assert kept
    assert len(done.summary["given_back"]["left"]) == 1
    assert {one.path for one in world.recorder.writes} == {path}


@pytest.mark.slow
def test_shadow_mode_writes_nothing(cli: Cli, world: World) -> None:
    """Without a mode every write is a dry run, and some are tried; what is watched is listed once."""
    before = len(world.recorder.asked)
    done = run(cli, world, until=lambda: world.recorder.attempts)

    assert done.code == ExitCode.GOOD, done.errors
    assert world.recorder.writes == []
    assert world.recorder.attempts != []
    asked = world.recorder.asked[before:]
    assert {source.path for source in WATCHED} <= {one.path for one in asked if one.watch}
    lists = [one for one in asked if one.path == STATEFUL_SETS.path and not one.watch]
    assert len(lists) == 2  # one at the start, to see whether it may be read, and one to watch from


def test_the_start_says_what_is_early() -> None:
    """Active mode names where it writes, in its first line and in the header; shadow mode and the
    simulated cluster do not pretend.
    """
    given = {"run.kubeconfig": "k", "run.mode": "active", "run.namespaces": ("shop", "batch")}
    active = resolve(None, {}, given)
    assert early_note(active).startswith("EARLY: active mode on a real cluster")
    assert "in shop, batch and to no node" in early_note(active)
    assert early_label(active) == "EARLY: writes in shop, batch"

    shadow = resolve(None, {}, {"run.kubeconfig": "k"})
    assert "dry run" in early_note(shadow)
    assert early_label(shadow) == early_note(resolve(None, {}, {})) == ""


# ---- starts that are refused


def expect_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], *words: str
) -> None:
    """Check exit code 2, one line with these words, and that nothing began."""
    state = folder / "state"
    code = main(["up", "--for", "5s", "--dashboard-port", "0", "--state", str(state), *arguments])

    captured = capsys.readouterr()
    lines = captured.err.strip().splitlines()
    assert code == 2
    assert len(lines) == 1, captured.err
    for word in words:
        assert word in lines[0], lines[0]
    assert not state.exists()


@contextmanager
def answering(status: int, only: str = "") -> Iterator[str]:
    """Serve an API that answers every path beginning with `only` so, and any other with 200."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = status if self.path.startswith(only) else 200
            said = {"kind": "Status", "reason": f"Code{found}", "message": f"said {found}"}
            body = json.dumps(said).encode()
            self.send_response(found)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_an_unreachable_cluster_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nobody listens: exit code 2, not a run of nothing that ends with 0."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = kubeconfig_of(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}", "t")
    words = ("--kubeconfig", str(config), "does not answer", "refused")
    expect_refused(capsys, tmp_path, ["--kubeconfig", str(config)], *words)


@pytest.mark.parametrize(
    ("status", "only", "words"),
    [
        (401, "", ("refuses to be read", "401")),
        (403, "/api/v1/nodes", ("refuses to be read", "403", "real-clusters.md")),
        (403, "/apis/apps/v1/statefulsets", ("refuses to be read", "403")),
        (503, "", ("does not answer", "503")),
    ],
)
def test_a_cluster_that_says_no_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    status: int,
    only: str,
    words: tuple[str, ...],
) -> None:
    """No credentials, no rights, or a gateway without a server behind it."""
    with answering(status, only) as url:
        config = kubeconfig_of(tmp_path / "kubeconfig", url, "t")
        expect_refused(capsys, tmp_path, ["--kubeconfig", str(config)], "--kubeconfig", *words)


@pytest.mark.twin
def test_a_server_that_is_not_trusted_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, twin_world: World
) -> None:
    """A certificate of another authority ends the start."""
    server = twin_world.face.server  # type: ignore[attr-defined]
    config = kubeconfig_of(tmp_path / "kubeconfig", server, "t")
    words = ("--kubeconfig", "does not answer", "CERTIFICATE_VERIFY_FAILED")
    expect_refused(capsys, tmp_path, ["--kubeconfig", str(config)], *words)


@pytest.mark.parametrize("content", ["", "[", "clusters: 3\n", "current-context: gone\n", "\x00"])
def test_a_broken_kubeconfig_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str
) -> None:
    """Whatever the file holds, it is named."""
    config = tmp_path / "kubeconfig"
    config.write_text(content, encoding="utf-8")
    arguments = ["--kubeconfig", str(config)]
    expect_refused(capsys, tmp_path, arguments, "kubeconfig", str(config), "readable kubeconfig")


def test_a_login_program_that_fails_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What the client's library prints by itself goes into the line."""
    with answering(401) as url:
        config = kubeconfig_of(tmp_path / "kubeconfig", url, "t")
        content = yaml.safe_load(config.read_text(encoding="utf-8"))
        program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-program"}
        content["users"][0]["user"] = {"exec": {**program, "interactiveMode": "Never"}}
        config.write_text(yaml.safe_dump(content), encoding="utf-8")
        words = ("--kubeconfig", "401", "no-such-program")
        expect_refused(capsys, tmp_path, ["--kubeconfig", str(config)], *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "active"), ("--namespaces", "(none)", "exactly", "--namespaces shop,batch")),
        ((*ACTIVE, "shop,kube-system"), ("--namespaces", "kube-system", "never writes")),
        ((*ACTIVE, "team-"), ("--namespaces", "team-", "exact names")),
        ((*ACTIVE, "shop,"), ("--namespaces", "(empty)", "exact names")),
        ((*ACTIVE, "shop", "--exercise"), ("--namespaces", "foresail-exercise")),
    ],
)
def test_active_mode_needs_exact_names(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    """Who does not say where to write, or asks for what is never written, is told so before anything."""
    with answering(200) as url:
        config = kubeconfig_of(tmp_path / "kubeconfig", url, "t")
        expect_refused(capsys, tmp_path, ["--kubeconfig", str(config), *arguments], *words)


def test_active_mode_by_the_executor_s_own_setting_needs_names_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`executor.mode` is the same switch by another name."""
    monkeypatch.setenv("FORESAIL_EXECUTOR__MODE", "active")
    with answering(200) as url:
        config = kubeconfig_of(tmp_path / "kubeconfig", url, "t")
        expect_refused(capsys, tmp_path, ["--kubeconfig", str(config)], "--namespaces", "(none)")


def test_a_namespace_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A misspelt name would write nowhere, silently."""
    with answering(404, "/api/v1/namespaces/shp") as url:
        config = kubeconfig_of(tmp_path / "kubeconfig", url, "t")
        words = ("--namespaces", "shp", "no such namespace")
        expect_refused(capsys, tmp_path, ["--kubeconfig", str(config), *ACTIVE, "shp"], *words)
