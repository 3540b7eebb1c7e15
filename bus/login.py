"""How a process says who it is to the server, and under which names it finds the log there.

Without a login (a server that somebody else runs) the names are JetStream's own. With an account of
its own, the read calls are imported under another prefix (see `bus/nats_conf.py`) and the inbox is
the identity's own.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bus.errors import ConfigError, InputError
from bus.identities import Identity, table_of_names

API = "$JS.API"
IMPORTED_API = "JSM.API"
INBOX = "_INBOX"
FILE = "logins.json"
"""Name of the file with one start's passwords, readable by its owner only."""
PASSWORD_BYTES = 24
SCOPE = "cluster"
"""In that file: whose logins they are, on a server of several clusters. No identity is called so."""
FILE_VARIABLE = "FORESAIL_NATS_LOGIN_FILE"
"""Names a file like `login.env`: a password in a file is in no process' environment."""
_VARIABLES = {
    "user": "FORESAIL_NATS_USER",
    "password": "FORESAIL_NATS_PASSWORD",
    "api_prefix": "FORESAIL_NATS_API_PREFIX",
    "inbox_prefix": "FORESAIL_NATS_INBOX_PREFIX",
}


@dataclass(frozen=True, slots=True)
class Login:
    """One user of a server."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    api_prefix: str = API
    """Where the stream's state and its messages are asked for."""
    inbox_prefix: str = INBOX
    """Where its answers arrive."""

    @classmethod
    def of(cls, identity: Identity, password: str, scope: str = "") -> Login:
        """Return the login of an identity with an account of its own; `scope` is its cluster on a server of
        several.
        """
        prefix = API if identity.administers else IMPORTED_API
        return cls(scoped(identity.name, scope), password, prefix, f"{INBOX}_{identity.name}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Login:
        """Read FORESAIL_NATS_USER and its companions, or the file of them that
        FORESAIL_NATS_LOGIN_FILE names; what is unset keeps JetStream's own name.

        Raises:
            ConfigError: the file cannot be read.
        """
        if file := environment.get(FILE_VARIABLE):
            environment = _read_variables(Path(file))
        values = {name: environment.get(variable) for name, variable in _VARIABLES.items()}
        return cls(
            user=values["user"] or None,
            password=values["password"] or None,
            api_prefix=values["api_prefix"] or API,
            inbox_prefix=values["inbox_prefix"] or INBOX,
        )

    def environment(self) -> dict[str, str]:
        """Return the variables that `from_environment` reads, where they say something."""
        own = {variable: getattr(self, name) for name, variable in _VARIABLES.items()}
        usual = {variable: getattr(ANONYMOUS, name) for name, variable in _VARIABLES.items()}
        return {variable: text for variable, text in own.items() if text != usual[variable]}


ANONYMOUS = Login()
Logins = Mapping[str, Login]
"""Logins by identity."""


def scoped(name: str, scope: str) -> str:
    """Return the name of an account or user; on a server of several clusters each has its own."""
    return f"{name}@{scope}" if scope else name


def scope_of(logins: Logins) -> str:
    """Return the cluster that logins are for on a server of several; empty where there is one."""
    users = (login.user for login in logins.values() if login.user)
    return next(users, "").partition("@")[2]


def new_logins(identities: Iterable[Identity], scope: str = "") -> dict[str, Login]:
    """Return a login with a random password for each identity, of the cluster `scope` on a server of several."""
    return {
        identity.name: Login.of(identity, secrets.token_urlsafe(PASSWORD_BYTES), scope)
        for identity in identities
    }


def store_logins(logins: Logins, folder: Path) -> Path:
    """Write the passwords into `folder`, readable by this user alone; return the file."""
    path, scope = folder / FILE, scope_of(logins)
    passwords = {name: login.password for name, login in logins.items()}
    content = {SCOPE: scope, **passwords} if scope else passwords
    write_private(path, json.dumps(content) + "\n")
    return path


def read_logins(folder: Path) -> dict[str, Login]:
    """Read what `store_logins` wrote; empty when that server has no accounts.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path = folder / FILE
    try:
        passwords: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        scope = passwords.pop(SCOPE, "")
        return {
            identity.name: Login.of(identity, passwords[identity.name], scope)
            for identity in table_of_names(passwords)
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            FILE, path.name, "only the user who started the stack can read its logins"
        ) from error


def env_lines(login: Login) -> str:
    """Return a login as the text of a `login.env`."""
    return "".join(f"{name}={value}\n" for name, value in login.environment().items())


def read_login(path: Path) -> Login:
    """Read a `login.env`.

    Raises:
        ConfigError: it cannot be read.
    """
    return Login.from_environment(_read_variables(path))


def parse_login(text: str) -> Login:
    """Return the login that `env_lines` wrote.

    Raises:
        ConfigError: the text is no such thing.
    """
    try:
        return Login.from_environment(
            dict(line.split("=", 1) for line in text.splitlines() if line)
        )
    except ValueError as error:
        remedy = "remove it, and a new login is made"
        raise ConfigError("login.env", "a line without =", remedy) from error


def _read_variables(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if line)
    except (OSError, ValueError) as error:
        remedy = "name a file that `python -m services.identities` wrote and this user can read"
        raise ConfigError(FILE_VARIABLE, path, remedy) from error


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, at no moment otherwise."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
