"""How a process says who it is to the server, and under which names it finds the log there.

Without a login (a server that somebody else runs) the names are JetStream's own. With an account of
its own, the read calls are imported under another prefix (see `bus/nats_conf.py`) and the inbox is
the identity's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bus.errors import ConfigError

API = "$JS.API"
IMPORTED_API = "JSM.API"
INBOX = "_INBOX"
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
    def from_environment(cls, environment: Mapping[str, str]) -> Login:
        """Read FORESAIL_NATS_USER and its companions, or the file of them that
        FORESAIL_NATS_LOGIN_FILE names; what is unset keeps JetStream's own name.

        Raises:
            ConfigError: the file cannot be read.
        """
        if file := environment.get(FILE_VARIABLE):
            environment = read_variables(Path(file))
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


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of a `login.env`.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if line)
    except (OSError, ValueError) as error:
        remedy = "name a file that `python -m services.identities` wrote and this user can read"
        raise ConfigError(FILE_VARIABLE, path, remedy) from error
