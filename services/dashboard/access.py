"""Who may read the page where more than this machine's own users can reach it.

On the loopback everybody may. Anywhere else the page needs a file of users and TLS, or the word of
whoever deploys it that only trusted people reach the address. Every role is the same: reading.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import re
import ssl
from pathlib import Path
from stat import S_IROTH
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bus.errors import ConfigError
from services.dashboard.settings import DashboardSettings

SECRET_CHARACTERS: Final = 16
"""Fewest characters of a secret; so long a one cannot be found by trying over a network."""
_LINE = re.compile(r"(?P<name>[\w.@-]+):(?P<secret>[!-~]+)")
_NEEDED = {"www-authenticate": 'Basic realm="Foresail", charset="UTF-8"'}


class Users:
    """The users of a file, a line `NAME:SECRET` each; blank lines and lines that begin with # say nothing.

    A change of the file counts at the next request, so that a secret is replaced without a restart.
    """

    def __init__(self, path: Path) -> None:
        """Take the users of a file.

        Raises:
            ConfigError: the file cannot be read, everybody may read it, or a line is no user.
        """
        self._path = path
        self._read_at = -1
        self._known: tuple[tuple[bytes, bytes], ...] = ()
        self._refresh()

    def admits(self, authorization: str) -> bool:
        """Say whether a header names a user: `Basic` with name and secret, or `Bearer` with a secret.

        Raises:
            ConfigError: the file was changed and is not good any more; nobody is let in.
        """
        self._refresh()
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                pair = base64.b64decode(given, validate=True)
            except binascii.Error:
                return False
            return _any_equal([name + b":" + secret for name, secret in self._known], pair)
        if scheme.lower() == "bearer":
            return _any_equal([secret for _, secret in self._known], given.encode())
        return False

    def _refresh(self) -> None:
        field, shown = "dashboard.users_file", str(self._path)
        try:
            now = self._path.stat()
            if now.st_mtime_ns == self._read_at:
                return
            self._known = ()
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(field, shown, f"name a readable text file ({error})") from error
        if now.st_mode & S_IROTH:
            raise ConfigError(field, shown, "everybody may read it: chmod o-r")
        lines = [line.strip() for line in text.splitlines()]
        users = [_user(shown, number, line) for number, line in enumerate(lines, 1) if _says(line)]
        if not users:
            raise ConfigError(field, shown, "it names no user: add a line NAME:SECRET")
        self._known, self._read_at = tuple(users), now.st_mtime_ns


class LogIn:
    """Answers 401 to whoever is no user; lets nobody in while the file of users is not good."""

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            PermissionError: the file was changed and is not good any more.
        """
        app = self._app if scope["type"] != "http" else self._for(Headers(scope=scope))
        await app(scope, receive, send)

    def _for(self, headers: Headers) -> ASGIApp:
        try:
            if self._users.admits(headers.get("authorization", "")):
                return self._app
        except ConfigError as error:
            raise PermissionError(str(error)) from error  # ends this request, not the process
        return PlainTextResponse("this page needs a user of its file\n", 401, _NEEDED)


def check_access(settings: DashboardSettings) -> None:
    """Refuse an address that strangers reach without a login or in clear text, and bad files.

    Raises:
        ConfigError: naming the field and the remedy.
    """
    if settings.users_file is not None:
        Users(settings.users_file)
    _check_certificate(settings)
    if settings.trusted_network or _is_loopback(settings.host):
        return
    missing = [
        name
        for name, value in (
            ("users_file", settings.users_file),
            ("tls_certificate", settings.tls_certificate),
        )
        if value is None
    ]
    if missing:
        needed = " and ".join(f"dashboard.{name}" for name in missing)
        remedy = (
            f"others reach this address: give {needed}, or set dashboard.trusted_network where a"
            " proxy or the network decides who does"
        )
        raise ConfigError("dashboard.host", settings.host, remedy)


def _check_certificate(settings: DashboardSettings) -> None:
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        lacking = "tls_certificate" if certificate is None else "tls_key"
        raise ConfigError(f"dashboard.{lacking}", "", "give certificate and key, or neither")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        remedy = f"name a certificate and its key as PEM files ({error})"
        raise ConfigError("dashboard.tls_certificate", str(certificate), remedy) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _says(line: str) -> bool:
    return bool(line) and not line.startswith("#")


def _user(path: str, number: int, line: str) -> tuple[bytes, bytes]:
    found = _LINE.fullmatch(line)
    if found is None or len(found["secret"]) < SECRET_CHARACTERS:
        remedy = f"line {number}: write NAME:SECRET, the secret of {SECRET_CHARACTERS} or more characters"
        raise ConfigError("dashboard.users_file", path, remedy)
    return found["name"].encode(), found["secret"].encode()


def _any_equal(known: list[bytes], given: bytes) -> bool:
    """Compare with all of them, in a time that says nothing of how near one came."""
    return sum(hmac.compare_digest(one, given) for one in known) > 0
