"""Bearer tokens: drawn at random, kept for the owner alone, and found again by their digest."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from uuid import UUID

from twin.api.access import IDENTITIES, Identity


class Tokens:
    """A random bearer token for each identity."""

    def __init__(self, by_name: Mapping[str, str]) -> None:
        """Take the tokens by the name of their identity."""
        self._by_name = dict(by_name)
        self._by_digest = {
            _digest(by_name[identity.name].encode()): identity
            for identity in IDENTITIES
            if identity.name in by_name
        }

    @classmethod
    def draw(cls) -> Self:
        """Draw new tokens; they are secrets, not part of any result."""
        return cls({identity.name: secrets.token_urlsafe(24) for identity in IDENTITIES})

    @classmethod
    def read_or_draw(cls, path: Path) -> Self:
        """Return the tokens of an earlier start, or draw them and keep them for the owner alone."""
        if path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if set(stored) == {identity.name for identity in IDENTITIES}:
                return cls(stored)
        new_tokens = cls.draw()
        write_secret(path, json.dumps(new_tokens.of_all()).encode())
        return new_tokens

    def of_all(self) -> dict[str, str]:
        """Return the tokens by the name of their identity."""
        return dict(self._by_name)

    def identity(self, authorization: str) -> Identity | None:
        """Return whose token an Authorization header carries.

        Tokens are looked up by their digest, so timing reveals nothing about them.
        """
        scheme, _, token = authorization.partition(" ")
        return self.person(token.strip()) if scheme.lower() == "bearer" else None

    def person(self, token: str) -> Identity | None:
        """Return whose token it is; None for nobody's."""
        return self._by_digest.get(_digest(token.encode()))


def draw_id() -> str:
    """Return the id of a new token, a random UUID."""
    return str(UUID(bytes=secrets.token_bytes(16), version=4))


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    part.replace(path)


def _digest(token: bytes) -> bytes:
    return hashlib.blake2b(token, digest_size=32).digest()
