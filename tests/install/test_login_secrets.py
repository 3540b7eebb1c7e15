"""Logins are made once, kept, and completed; nats-server takes what is written for it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bus.errors import ConfigError
from bus.logins import parse_login
from bus.nats_server import server_binary
from deploy.manifests.log import CONF, environment
from deploy.manifests.values import Chart
from services.cluster import Transport
from services.identities import BY_NAME, IDENTITIES
from services.login_secrets import ROUTE_KEY, keep_secrets, login_texts, main
from services.rights.logins import ACCOUNTS, LOGINS
from tests.executor.plant import Plant
from tests.patience import HANGS_SECONDS

SECRETS = "/api/v1/namespaces/default/secrets"
HERE = {
    "FORESAIL_CLUSTER": "main",
    "FORESAIL_INCARNATION": "main",
    "FORESAIL_NAMESPACE": "default",
}


async def secret(transport: Transport, name: str) -> dict[str, str]:
    """Return a Secret's texts."""
    content: Any = json.loads((await transport.request("GET", f"{SECRETS}/{name}")).body)
    return {key: base64.b64decode(text).decode() for key, text in content["data"].items()}


def check_conf(file: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Let nats-server read a configuration without serving."""
    command = [server_binary(), "-t", "--config", str(file)]
    return subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False
    )


async def test_each_identity_gets_a_login_once(tmp_path: Path) -> None:
    """A second run keeps every password; the bootstrap's login is also where the next step reads it."""
    transport = Plant().transport
    file = tmp_path / "login.env"
    variables = {**HERE, "FORESAIL_NATS_LOGIN_FILE": str(file)}
    count = len(IDENTITIES) + 1
    assert (
        await keep_secrets(variables, transport) == f"logins: 0 kept, {count} new; accounts written"
    )
    logins = await secret(transport, LOGINS)
    assert set(logins) == {*(f"{name}.env" for name in BY_NAME), ROUTE_KEY}
    assert await keep_secrets(variables, transport) == f"logins: {count} kept, 0 new; accounts kept"
    assert await secret(transport, LOGINS) == logins
    assert file.read_text(encoding="utf-8") == logins["bootstrap.env"]
    assert file.stat().st_mode & 0o077 == 0


async def test_a_new_identity_is_added_to_those_that_are_kept() -> None:
    """An upgrade with one more agent changes nobody else's password."""
    before = login_texts({}, IDENTITIES[:-1])
    after = login_texts(before, IDENTITIES)
    assert {key: after[key] for key in before} == before
    assert set(after) - set(before) == {f"{IDENTITIES[-1].name}.env"}
    assert parse_login(after[f"{IDENTITIES[-1].name}.env"]).user == IDENTITIES[-1].name


async def test_a_login_that_cannot_be_read_is_not_replaced() -> None:
    """Somebody wrote into the Secret: one line, and nothing is overwritten."""
    with pytest.raises(ConfigError, match=r"login\.env = a line without =: remove it"):
        login_texts({"reader.env": "nonsense"}, IDENTITIES)


@pytest.mark.parametrize("servers", [1, 3])
async def test_nats_takes_what_is_written(servers: int, tmp_path: Path) -> None:
    """nats-server checks its configuration with accounts and routes, for one server and for three."""
    transport = Plant().transport
    variables: dict[str, Any] = {
        name: getattr(value, "value", value)
        for name, value in environment(Chart({"nats": {"servers": servers}})).items()
    }
    await keep_secrets({**variables, **HERE}, transport)
    written = await secret(transport, ACCOUNTS)
    (tmp_path / "accounts").mkdir()
    (tmp_path / "nats.conf").write_text(CONF, encoding="utf-8")
    for name, text in written.items():
        (tmp_path / "accounts" / name).write_text(text, encoding="utf-8")
    own = {"POD_NAME": "foresail-nats-0", "FORESAIL_NATS_STORE": str(tmp_path / "data")}
    checked = check_conf(tmp_path / "nats.conf", {**os.environ, **variables, **own})
    assert checked.returncode == 0, checked.stderr
    assert written["routes.conf"].count("nats://route:") == (servers if servers > 1 else 0)


def test_a_variable_that_is_not_set_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a cluster to write to: one line and exit code 2."""
    assert main({**HERE, "KUBECONFIG": str(tmp_path / "none")}) == 2
    assert capsys.readouterr().err.startswith("kubeconfig = ")


async def test_without_a_namespace_nothing_is_written() -> None:
    """One line names the variable."""
    given = {name: text for name, text in HERE.items() if name != "FORESAIL_NAMESPACE"}
    with pytest.raises(ConfigError, match=r"FORESAIL_NAMESPACE = \(unset\): set it"):
        await keep_secrets(given, Plant().transport)
