"""kubectl reaches into pods that really run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from proofs.real_programs.processes import free_port
from tests.patience import HANGS_SECONDS
from twin.tests.local_pods.conftest import LocalTwin, until

pytestmark = [
    pytest.mark.twin,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"),
]
SERVER = (
    "import http.server, sys\n"
    "class Hello(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200); self.end_headers(); self.wfile.write(b'hello ' * 20_000)\n"
    "server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Hello)\n"
    "print('up', flush=True); server.serve_forever()"
)


@pytest.fixture(scope="module")
def port(local_twin: LocalTwin) -> int:
    """A port of this machine where a pod `web` listens."""
    port = free_port()
    local_twin.python("web", SERVER, {"args": [str(port)]}, restartPolicy="Always")

    def up() -> bool:
        return local_twin.pod("web").status.phase == "Running" and "up" in local_twin.log("web")

    until(up)
    return port


def kubectl(
    twin: LocalTwin, *words: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run kubectl as the administrator."""
    command = ["kubectl", "--kubeconfig", twin.ready["admin_kubeconfig"], *words]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False
    )


@pytest.mark.usefixtures("port")
def test_exec_gives_output_and_exit_code(local_twin: LocalTwin) -> None:
    """Both are the command's."""
    ran = kubectl(
        local_twin, "exec", "web", "--", "python", "-c", "print(1); import sys; sys.exit(3)"
    )
    assert (ran.returncode, ran.stdout) == (3, "1\n")
    assert ran.stderr == "command terminated with exit code 3\n"


@pytest.mark.usefixtures("port")
def test_exec_hands_input_on_to_its_end(local_twin: LocalTwin) -> None:
    """The command reads all of it."""
    code = "import sys; print(sys.stdin.read()[::-1])"
    ran = kubectl(local_twin, "exec", "-i", "web", "--", "python", "-c", code, given="hello")
    assert (ran.returncode, ran.stdout) == (0, "olleh\n")


@pytest.mark.usefixtures("port")
def test_exec_of_a_missing_program_says_so(local_twin: LocalTwin) -> None:
    """In the words of a container runtime."""
    ran = kubectl(local_twin, "exec", "web", "--", "sh")
    assert ran.returncode == 1
    assert 'exec: "sh": executable file not found in $PATH' in ran.stderr


@pytest.fixture
def forwarded(local_twin: LocalTwin, port: int) -> Iterator[str]:
    """The address at which kubectl offers the pod's port."""
    near = free_port()
    command = ["kubectl", "--kubeconfig", local_twin.ready["admin_kubeconfig"]]
    command += ["port-forward", "--address", "127.0.0.1", "web", f"{near}:{port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("Forwarding from 127.0.0.1")
            yield f"http://127.0.0.1:{near}/"
        finally:
            process.terminate()


def test_port_forward_carries_many_connections(forwarded: str) -> None:
    """Each gets the whole answer."""
    for _ in range(3):
        with urlopen(forwarded, timeout=HANGS_SECONDS) as answer:
            assert answer.read() == b"hello " * 20_000


def test_attach_follows_what_a_pod_prints_until_it_ends(local_twin: LocalTwin) -> None:
    """Without input; the command ends with the container."""
    code = "import time\nfor n in range(40): print('line', n, flush=True); time.sleep(0.2)"
    local_twin.python("talks", code)
    until(lambda: local_twin.pod("talks").status.phase == "Running")
    until(lambda: "line 2\n" in local_twin.log("talks"))
    ran = kubectl(local_twin, "attach", "talks")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[-1] == "line 39"
    numbers = [int(line.removeprefix("line ")) for line in lines]
    assert numbers == list(range(numbers[0], 40))
    assert 2 <= numbers[0] < 39


def test_reaching_into_a_pod_is_in_the_audit_log(tmp_path: Path) -> None:
    """As upgraded requests, each with its three stages and 101."""
    log = tmp_path / "audit.jsonl"
    twin = LocalTwin(tmp_path, ("--run-commands", "true", "--audit-log", str(log)))
    twin.start()
    try:
        twin.python("web", SERVER, {"args": [str(free_port())]}, restartPolicy="Always")
        until(lambda: twin.pod("web").status.phase == "Running" and "up" in twin.log("web"))
        assert kubectl(twin, "exec", "web", "--", "python", "-c", "print(1)").stdout == "1\n"
        refused = kubectl(twin, "exec", "web", "--", "sh")
        assert refused.returncode == 1
    finally:
        twin.end()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    found = [one for one in events if (one.get("objectRef") or {}).get("subresource") == "exec"]
    assert [one["stage"] for one in found] == [
        "RequestReceived",
        "ResponseStarted",
        "ResponseComplete",
    ] * 2
    assert {
        (one["verb"], one["responseStatus"]["code"])
        for one in found
        if one["stage"] != "RequestReceived"
    } == {("get", 101)}
    assert "command=python" in found[0]["requestURI"]
    assert found[0]["objectRef"]["name"] == "web"
