"""The logins of a server's identities: made at its start, kept in files that their owner alone can read."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from bus.errors import ConfigError, InputError
from bus.identities import Identity, table_of_names
from bus.login import API, IMPORTED_API, INBOX, Login, read_variables

FILE = "logins.json"
"""Name of the file with one start's passwords, readable by its owner only."""
PASSWORD_BYTES = 24
Logins = Mapping[str, Login]
"""Logins by identity."""


def login_of(identity: Identity, password: str) -> Login:
    """Return the login of an identity with an account of its own."""
    prefix = API if identity.administers else IMPORTED_API
    return Login(identity.name, password, prefix, f"{INBOX}_{identity.name}")


def new_logins(identities: Iterable[Identity]) -> dict[str, Login]:
    """Return a login with a random password for each identity."""
    return {
        identity.name: login_of(identity, secrets.token_urlsafe(PASSWORD_BYTES))
        for identity in identities
    }


def store_logins(logins: Logins, folder: Path) -> Path:
    """Write the passwords into `folder`, readable by this user alone; return the file."""
    path = folder / FILE
    write_private(path, json.dumps({name: login.password for name, login in logins.items()}) + "\n")
    return path


def read_logins(folder: Path) -> dict[str, Login]:
    """Read what `store_logins` wrote; empty when that server has no accounts.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path = folder / FILE
    try:
        passwords: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return {
            identity.name: login_of(identity, passwords[identity.name])
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
    return Login.from_environment(read_variables(path))


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


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, at no moment otherwise."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
