"""exec, attach and port-forward of pods that really run, by the official client."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes import client
from kubernetes.stream import portforward, stream

from proofs.real_programs.processes import free_port
from tests.patience import HANGS_SECONDS
from twin.tests.local_pods.conftest import LocalTwin, alive, until

pytestmark = [
    pytest.mark.twin,
    # The official client opens a socket that it forgets when it is refused.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SERVER = (
    "import http.server, os, sys\n"
    "class Hello(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200); self.end_headers(); self.wfile.write(b'hello ' + self.path.encode())\n"
    "server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Hello)\n"
    "print('up', flush=True); server.serve_forever()"
)


@pytest.fixture(autouse=True)
def forget_sockets() -> Iterator[None]:
    """Collect what the client has forgotten while the mark above still holds."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def port() -> int:
    """A free port of this machine."""
    return free_port()


@pytest.fixture(scope="module")
def served(local_twin: LocalTwin, port: int) -> Iterator[LocalTwin]:
    """A twin with a pod `web` that listens on `port`."""
    container = {"args": [str(port)], "env": [{"name": "COLOUR", "value": "blue"}]}
    local_twin.python("web", SERVER, container, restartPolicy="Always")

    def up() -> bool:
        return local_twin.pod("web").status.phase == "Running" and "up" in local_twin.log("web")

    until(up)
    yield local_twin
    local_twin.core.delete_namespaced_pod("web", "default")


def run(twin: LocalTwin, code: str, **options: Any) -> Any:
    """Run Python code in the pod `web` to its end; return the client's view of it."""
    wants = {"stdin": False, "stdout": True, "stderr": True, "tty": False, **options}
    words = ["python", "-c", code]
    given = wants.pop("given", None)
    # The stream changes its client for good, so it gets one of its own.
    core = client.CoreV1Api(client.ApiClient(twin.core.api_client.configuration))
    answer = stream(
        core.connect_get_namespaced_pod_exec,
        "web",
        "default",
        command=words,
        _preload_content=False,
        **wants,
    )
    if given is not None:
        answer.write_stdin(given)
    answer.run_forever(timeout=HANGS_SECONDS)
    answer.close()
    return answer


@contextmanager
def forwarded(twin: LocalTwin, port: int) -> Iterator[tuple[Any, Any]]:
    """Yield a port-forward and its socket; what the client leaves open is closed."""
    core = client.CoreV1Api(client.ApiClient(twin.core.api_client.configuration))
    forward = portforward(
        core.connect_get_namespaced_pod_portforward, "web", "default", ports=str(port)
    )
    socket = forward.socket(port)
    socket.setblocking(True)
    try:
        yield forward, socket
    finally:
        forward.websocket.close()
        for each in forward.local_ports.values():
            each.socket.close()
            each.python.close()


def test_output_and_exit_code_are_the_commands(served: LocalTwin) -> None:
    """Both outputs apart, the code of its end, and the variables of the container."""
    code = (
        "import os, sys; print(os.environ['COLOUR']); print('oops', file=sys.stderr); sys.exit(4)"
    )
    answer = run(served, code)
    assert (answer.read_stdout(), answer.read_stderr()) == ("blue\n", "oops\n")
    assert answer.returncode == 4


def test_input_reaches_the_command(served: LocalTwin) -> None:
    """A line that is written is a line that it reads."""
    answer = run(served, "print(input()[::-1])", stdin=True, given="hello\n")
    assert (answer.read_stdout(), answer.returncode) == ("olleh\n", 0)


def test_a_terminal_is_one(served: LocalTwin) -> None:
    """With `tty` the command has a terminal, and its two outputs are one."""
    code = "import sys; print(sys.stdin.isatty()); print('both', file=sys.stderr)"
    answer = run(served, code, stdin=True, tty=True)
    assert answer.read_stdout() == "True\r\nboth\r\n"


def test_a_program_that_is_not_there_is_named(served: LocalTwin) -> None:
    """There is no shell to run, and the client is told so."""
    core = client.CoreV1Api(client.ApiClient(served.core.api_client.configuration))
    answer = stream(
        core.connect_get_namespaced_pod_exec,
        "web",
        "default",
        command=["sh", "-c", "true"],
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    answer.run_forever(timeout=HANGS_SECONDS)
    answer.close()
    status = json.loads(answer.read_channel(3))
    assert status["status"] == "Failure"
    assert 'exec: "sh": executable file not found in $PATH' in status["message"]


def test_a_client_that_leaves_takes_its_command_with_it(served: LocalTwin) -> None:
    """Nothing runs on for nobody."""
    core = client.CoreV1Api(client.ApiClient(served.core.api_client.configuration))
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    answer = stream(
        core.connect_get_namespaced_pod_exec,
        "web",
        "default",
        command=["python", "-c", code],
        stdout=True,
        _preload_content=False,
    )
    pid = int(answer.readline_stdout(timeout=HANGS_SECONDS))
    assert alive(pid)
    answer.close()
    until(lambda: not alive(pid))


def test_a_port_is_forwarded(served: LocalTwin, port: int) -> None:
    """Bytes go both ways."""
    with forwarded(served, port) as (forward, socket):
        socket.sendall(b"GET /there HTTP/1.0\r\n\r\n")
        data = b""
        while part := socket.recv(4_096):
            data += part
        assert data.endswith(b"hello /there")
        assert forward.error(port) is None


def test_a_port_where_nobody_listens_is_an_error(served: LocalTwin) -> None:
    """The client is told which one."""
    nobody = free_port()
    with forwarded(served, nobody) as (forward, socket):
        assert socket.recv(1) == b""
        assert f"error forwarding port {nobody}" in str(forward.error(nobody))


@pytest.mark.parametrize(
    ("name", "status"),
    [("nowhere", 404), ("simulated", 501)],
)
def test_what_cannot_be_reached_is_refused(served: LocalTwin, name: str, status: int) -> None:
    """A pod that is not there, and one that runs nothing."""
    if name == "simulated":
        served.create(name, {"image": "python:3.11"})
    core = client.CoreV1Api(client.ApiClient(served.core.api_client.configuration))
    with pytest.raises(client.ApiException, match=f"Handshake status {status}"):
        stream(
            core.connect_get_namespaced_pod_exec, name, "default", command=["python"], stdout=True
        )
