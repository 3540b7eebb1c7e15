"""Credentials that come from elsewhere: a login program is run again when they are refused, and has a limited time."""

from __future__ import annotations

import json
import stat
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from bus.errors import ConfigError
from services import official_client
from services.official_client import OfficialClientTransport

PROGRAM = """#!{python}
import json, pathlib
token = pathlib.Path({token!r}).read_text()
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                  "status": {{"token": token}}}}))
"""
SLOW = """#!{python}
import time
time.sleep(2)
"""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """Serve an API that takes the newest of its tokens alone."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            good = self.headers.get("Authorization") == "Bearer second"
            body = json.dumps({"kind": "Status"}).encode()
            self.send_response(200 if good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


def kubeconfig(folder: Path, url: str, program: str) -> Path:
    """Write a kubeconfig that names a login program."""
    script = folder / "login"
    script.write_text(program, encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    named = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"exec": {**named, "command": str(script)}}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = folder / "config"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


async def test_a_login_program_is_run_again_when_its_token_is_refused(
    tmp_path: Path, server: ThreadingHTTPServer
) -> None:
    """The token that it gave at the start has run out; the request goes through with the next one."""
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    program = PROGRAM.format(python=sys.executable, token=str(token))
    url = f"http://127.0.0.1:{server.server_address[1]}"
    transport = OfficialClientTransport(kubeconfig(tmp_path, url, program))
    token.write_text("second", encoding="utf-8")
    try:
        assert (await transport.request("GET", "/version")).status == 200
    finally:
        await transport.close()


def test_a_login_program_that_hangs_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the kubeconfig, and how long was waited."""
    monkeypatch.setattr(official_client, "LOGIN_SECONDS", 0.5)
    file = kubeconfig(tmp_path, "http://127.0.0.1:1", SLOW.format(python=sys.executable))
    with pytest.raises(ConfigError, match="did not end within") as refused:
        OfficialClientTransport(file)
    assert str(file) in str(refused.value)
    time.sleep(3.0)  # until the program has ended by itself
