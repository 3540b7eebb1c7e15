"""Names and uids of objects: computed from what they stand for, so no reader can disturb them."""

from __future__ import annotations

import hashlib

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own alphabet: no vowels, no look-alikes
_SUFFIX_LENGTH = 5
_MAX_PREFIX = 63 - _SUFFIX_LENGTH
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
"""A digit with the two bits of RFC 9562's variant set."""


def _digest(*parts: object) -> bytes:
    text = "\x1f".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def object_uid(*parts: object) -> str:
    """Return the uid that stands for `parts`, of version 4; equal parts give equal uids."""
    text = "\x1f".join(map(str, parts))
    digits = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-"
        f"{digits[20:]}"
    )


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
