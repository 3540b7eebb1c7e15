"""TLS on loopback: what clients trust goes on over restarts, and nothing else is trusted."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from twin.api.certificates import AUTHORITY_FILE, Credentials, prepare

NOW = time.time()
DAY = 86_400.0


def _handshake(credentials: Credentials, trusted: bytes, name: str) -> str | None:
    """Shake hands as a client that trusts an authority; return the protocol."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(credentials.server_file)
    client = ssl.create_default_context(cadata=trusted.decode())
    client.verify_flags &= ~ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(ours, server_side=True) as end:
                end.recv(1)
        except (ssl.SSLError, OSError):
            ours.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(theirs, server_hostname=name) as end:
            return end.version()
    finally:
        theirs.close()
        thread.join()


@pytest.mark.parametrize("name", ["127.0.0.1", "::1", "localhost", "twin", "10.1.2.3"])
def test_clients_reach_it_by_each_name(tmp_path: Path, name: str) -> None:
    """The certificate holds loopback and the names that are given."""
    made = prepare(tmp_path, ("twin", "10.1.2.3"), NOW, keep=False)
    assert _handshake(made, made.authority_pem, name) == "TLSv1.3"


def test_another_name_is_refused(tmp_path: Path) -> None:
    """A client that asks for another host ends the connection."""
    made = prepare(tmp_path, (), NOW, keep=False)
    with pytest.raises(ssl.SSLCertVerificationError):
        _handshake(made, made.authority_pem, "example.com")


def test_the_authority_is_kept(tmp_path: Path) -> None:
    """A restart has a new server certificate that clients of the first start trust."""
    first = prepare(tmp_path, (), NOW, keep=True)
    server = first.server_file.read_bytes()
    second = prepare(tmp_path, (), NOW + 60.0, keep=True)
    assert second.authority_pem == first.authority_pem
    assert second.server_file.read_bytes() != server
    assert _handshake(second, first.authority_pem, "localhost") == "TLSv1.3"


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_an_unusable_authority_is_replaced(tmp_path: Path, damage: bytes | None) -> None:
    """A damaged authority, or one that has run out, is made anew."""
    first = prepare(tmp_path, (), NOW, keep=True)
    if damage is not None:
        (tmp_path / AUTHORITY_FILE).write_bytes(damage)
    later = NOW if damage is not None else NOW + 3_651 * DAY
    assert prepare(tmp_path, (), later, keep=True).authority_pem != first.authority_pem


def test_keys_are_the_owners_alone(tmp_path: Path) -> None:
    """Only the owner can read the keys."""
    prepare(tmp_path, (), NOW, keep=True)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
