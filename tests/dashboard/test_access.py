"""Who may read the page: users of a file, over TLS where others reach the address; each refusal says its remedy."""

from __future__ import annotations

import base64
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from bus.errors import ConfigError
from bus.ports import free_port
from services.dashboard.access import Users, check_access
from services.dashboard.settings import DashboardSettings
from tests.dashboard.built_cycles import cycles
from tests.dashboard.served_page import FilledLog
from tests.dashboard.test_process import a_log, start_process, state_at, store, wait_for_end
from tests.dashboard.test_read_only_http import SETTINGS, client, running
from tests.patience import HANGS_SECONDS

SECRET = "a-secret-of-some-length"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """Write a file of two users."""
    file = tmp_path / "users"
    write(file, f"# who looks at it\n\nada:{SECRET}\ngrace:{SECRET}-of-grace\n")
    return file


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate of this machine and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(made)),
        ],
        check=True,
        capture_output=True,
    )
    return made, key


def write(file: Path, text: str, mode: int = 0o640) -> None:
    """Write a file of users anew."""
    file.unlink(missing_ok=True)
    file.write_text(text)
    file.chmod(mode)


def basic(name: str, secret: str) -> str:
    """Return the header of a name and a secret."""
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("", 401),
        (basic("ada", SECRET), 200),
        (basic("grace", f"{SECRET}-of-grace"), 200),
        (f"Bearer {SECRET}", 200),
        (f"bearer {SECRET}", 200),
        (basic("ada", SECRET[:-1]), 401),
        (basic("grace", SECRET), 401),
        (basic("", SECRET), 401),
        ("Basic not base64", 401),
        ("Basic", 401),
        ("Bearer", 401),
        (f"Digest {SECRET}", 401),
        (SECRET, 401),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/state", "/static/app.js", "/healthz"])
async def test_only_users_read(
    filled_log: FilledLog, users: Path, path: str, header: str, status: int
) -> None:
    """Every address asks, and says how to answer."""
    settings = SETTINGS.model_copy(update={"users_file": users})
    async with running(filled_log, settings) as hub, client(hub) as http:
        answer = await http.get(path, headers={"authorization": header} if header else {})

    assert answer.status_code == status
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_changed_file_counts_at_once_and_a_bad_one_lets_nobody_in(
    filled_log: FilledLog, users: Path
) -> None:
    """A secret is replaced without a restart; what cannot be read is no open door."""
    settings = SETTINGS.model_copy(update={"users_file": users})
    async with running(filled_log, settings) as hub, client(hub) as http:
        seen = []
        for text in ("ada:another-secret-for-all\n", "ada:short\n", f"ada:{SECRET}\n"):
            write(users, text)
            answer = await http.get("/api/state", headers={"authorization": f"Bearer {SECRET}"})
            seen.append(answer.status_code)

    assert seen == [401, 500, 200]


@pytest.mark.parametrize(
    ("text", "mode", "remedy"),
    [
        ("", 0o600, "it names no user"),
        ("# nobody\n", 0o600, "it names no user"),
        (f"ada {SECRET}\n", 0o600, "line 1: write NAME:SECRET"),
        (f"ada:{SECRET}\ngrace:short\n", 0o600, "line 2: .* 16 or more characters"),
        (f"ada:{SECRET}\n", 0o604, "chmod o-r"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, mode: int, remedy: str) -> None:
    """Field, file and remedy, in a line."""
    file = tmp_path / "users"
    write(file, text, mode)
    with pytest.raises(ConfigError, match=rf"dashboard\.users_file = .*{remedy}"):
        Users(file)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "some-machine"])
@pytest.mark.parametrize("given", [(), ("users_file",), ("tls_certificate", "tls_key")])
def test_strangers_find_no_open_page(
    users: Path, certificate: tuple[Path, Path], host: str, given: tuple[str, ...]
) -> None:
    """Elsewhere than on the loopback, one needs both a login and TLS, or a word about the network."""
    files = {"users_file": users, "tls_certificate": certificate[0], "tls_key": certificate[1]}
    settings = DashboardSettings(host=host, **{name: files[name] for name in given})
    with pytest.raises(ConfigError, match=r"dashboard\.host = .*trusted_network"):
        check_access(settings)

    check_access(settings.model_copy(update=files))
    check_access(settings.model_copy(update={"trusted_network": True}))
    check_access(settings.model_copy(update={"host": "127.0.0.2"}))


def test_a_bad_certificate_is_refused(certificate: tuple[Path, Path]) -> None:
    """Half of a pair, or no PEM."""
    made, key = certificate
    with pytest.raises(ConfigError, match=r"dashboard\.tls_key = : give certificate and key"):
        check_access(DashboardSettings(tls_certificate=made))
    with pytest.raises(ConfigError, match=r"dashboard\.tls_certificate = .*PEM"):
        check_access(DashboardSettings(tls_certificate=key, tls_key=key))


@pytest.mark.nats
async def test_it_is_served_over_tls_to_users_alone(
    tmp_path: Path, users: Path, certificate: tuple[Path, Path]
) -> None:
    """The process itself, on every address of the machine: who speaks plain HTTP is told nothing."""
    made, key = certificate
    port = free_port()
    files = {"users_file": str(users), "tls_certificate": str(made), "tls_key": str(key)}
    async with a_log(tmp_path) as (bus, environment):
        await store(bus, cycles(1))
        async with (
            start_process(environment, host="0.0.0.0", port=port, **files),
            httpx.AsyncClient(
                base_url=f"https://localhost:{port}",
                verify=ssl.create_default_context(cafile=str(made)),
                timeout=HANGS_SECONDS,
            ) as http,
        ):
            http.auth = ("ada", SECRET)
            await state_at(http, 15)
            http.auth = None
            refused = await http.get("/api/state")
            with pytest.raises(httpx.TransportError):
                await http.get(f"http://localhost:{port}/api/state")

    assert refused.status_code == 401


@pytest.mark.nats
async def test_the_process_refuses_to_serve_strangers(tmp_path: Path) -> None:
    """Exit code 2 and one line, before the log is read."""
    async with (
        a_log(tmp_path) as (_, environment),
        start_process(environment, host="0.0.0.0", port=0) as process,
    ):
        errors = await wait_for_end(process, HANGS_SECONDS)

    assert process.returncode == 2
    assert "dashboard.host = 0.0.0.0" in errors
