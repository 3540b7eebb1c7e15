"""Names and uids of objects: computed from seed and version, so no reader can disturb them."""

from __future__ import annotations

import hashlib
import uuid

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own alphabet: no vowels, no look-alikes
_SUFFIX_LENGTH = 5
_MAX_PREFIX = 63 - _SUFFIX_LENGTH


def _digest(*parts: object) -> bytes:
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def object_uid(seed: int, version: int, resource: str, key: tuple[str, str]) -> str:
    """Return the uid of an object that is created at `version`."""
    return str(uuid.UUID(bytes=_digest(seed, version, resource, *key), version=4))


def suffix(*parts: object, length: int = _SUFFIX_LENGTH) -> str:
    """Return letters that stand for `parts`; equal parts give equal letters."""
    number = int.from_bytes(_digest(*parts), "big")
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[index])
    return "".join(letters)


def generated_name(seed: int, version: int, prefix: str, attempt: int) -> str:
    """Return `prefix` with five letters, as generateName does."""
    return prefix[:_MAX_PREFIX] + suffix(seed, version, prefix, attempt)
