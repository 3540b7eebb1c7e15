"""Rights of the step that makes the logins at the API server: keep two Secrets of known names."""

from __future__ import annotations

from services.rights import Right, RightScope

LOGINS = "foresail-logins"
"""The Secret with a `login.env` of each identity; a pod mounts its own alone."""
ACCOUNTS = "foresail-nats"
"""The Secret that nats-server includes."""
RIGHTS: tuple[Right, ...] = (
    Right("create", "secrets", place=RightScope.OWN, why="logins of a first start"),
    *(
        Right(
            verb,
            "secrets",
            place=RightScope.OWN,
            why="passwords are kept",
            names=(LOGINS, ACCOUNTS),
        )
        for verb in ("get", "update")
    ),
)
"""All of it in the namespace that Foresail runs in; creating cannot be limited to names."""
