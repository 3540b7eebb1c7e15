"""Names and uids of objects: computed from what they stand for, so no reader can disturb them."""

from __future__ import annotations

import hashlib

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own alphabet: no vowels, no look-alikes
_SUFFIX_LENGTH = 5
_MAX_PREFIX = 63 - _SUFFIX_LENGTH
_UUID_MASK = ~(0xF000 << 64 | 0xC000 << 48)
_UUID_VERSION_4 = 4 << 76 | 0x8000 << 48  # random, RFC 9562's variant


def _digest(*parts: object) -> bytes:
    text = "\x1f".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def object_uid(*parts: object) -> str:
    """Return the uid that stands for `parts`; equal parts give equal uids."""
    number = int.from_bytes(_digest(*parts), "big")
    digits = f"{number & _UUID_MASK | _UUID_VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def suffix(*parts: object, length: int = _SUFFIX_LENGTH) -> str:
    """Return letters that stand for `parts`; equal parts give equal letters."""
    number = int.from_bytes(_digest(*parts), "big")
    letters = []
    for _ in range(length):
        number, index = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[index])
    return "".join(letters)


def generated_name(uid: str, prefix: str, attempt: int) -> str:
    """Return `prefix` with five letters, as generateName does."""
    return prefix[:_MAX_PREFIX] + suffix(uid, prefix, attempt)
