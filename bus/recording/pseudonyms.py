"""Other names for names: one way, and such that nothing that compares names can tell the difference.

Foresail sorts tables by name, breaks ties by name, takes prefixes of namespaces and takes running
numbers off the names of Jobs. Decisions computed again from other names are the same only if the
other names

- sort as the names do, alone and inside `namespace/kind/name` and `node|namespace/...`;
- begin with each other where the names do;
- end in running numbers where the names do.

The names form a tree of shared beginnings. Every branch gets a random code, drawn in the branches'
order from the salt; running numbers get other digits in their order. Lengths, words and letters are
gone. What remains visible: which names share a beginning, their order, and roughly their numbers.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

TAIL = re.compile(r"(-[0-9a-f]{8,10})?(-[0-9]+)+$")
"""What a controller adds to the name of each run (features.codes)."""
CODE_LETTERS = "ghijklmnopqrstuvwxyz"
"""Codes hold no digit and no hexadecimal letter, so that none looks like a running number."""
CODE_LENGTH = 4
_CLASSES = ("0123456789", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ", "abcdef", CODE_LETTERS)
"""In order of their code points."""


@dataclass(slots=True)
class _PrefixNode:
    """A beginning that names share."""

    children: dict[str, _PrefixNode] = field(default_factory=dict)
    is_name: bool = False
    in_tail: bool = False
    """Its last character stands in some name's running number."""


def pseudonyms(names: Iterable[str], salt: bytes) -> Mapping[str, str]:
    """Return another name for each name; equal arguments give equal names.

    Args:
        names: single names, without `/` and `|`.
        salt: 16 bytes or more; whoever has it and the names can repeat the mapping.
    """
    root = _PrefixNode()
    for name in sorted(set(names)):
        _insert(root, name)
    pseudonym_of: dict[str, str] = {}
    waiting = [(root, "", "")]
    while waiting:
        branch, path, prefix = waiting.pop()
        if branch.is_name:
            pseudonym_of[path] = prefix
        for label, code, child in _codes(branch, path, salt):
            waiting.append((child, path + label, prefix + code))
    return pseudonym_of


def _insert(root: _PrefixNode, name: str) -> None:
    tail = TAIL.search(name)
    tail_at = len(name) if tail is None else tail.start()
    branch = root
    for place, char in enumerate(name):
        branch = branch.children.setdefault(char, _PrefixNode())
        branch.in_tail = branch.in_tail or place >= tail_at
    branch.is_name = True


def _codes(branch: _PrefixNode, path: str, salt: bytes) -> Iterable[tuple[str, str, _PrefixNode]]:
    """Yield (what is added, its code, where it leads) for each way on from a branch."""
    chars = sorted(branch.children)
    words = [char for char in chars if char.isalnum() and char.isascii()]
    random = Random(hmac.new(salt, path.encode(), hashlib.sha256).digest())
    if any(branch.children[char].in_tail for char in words):
        codes = _same_class(words, random)
        for char in chars:
            yield char, codes.get(char, char), branch.children[char]
        return
    code_numbers = sorted(random.sample(range(len(CODE_LETTERS) ** CODE_LENGTH), len(chars)))
    for char, number in zip(chars, code_numbers, strict=True):
        label, end = _follow_single_path(char, branch.children[char])
        # A separator stays where it is: it sorts before `/`, which may follow a shorter name.
        literal = "" if char in words else char
        yield label, literal + ("" if label == literal else _code(number)), end


def _follow_single_path(label: str, branch: _PrefixNode) -> tuple[str, _PrefixNode]:
    """Follow a beginning to where names end, part, or get their running numbers."""
    while not branch.is_name and len(branch.children) == 1:
        char, child = next(iter(branch.children.items()))
        if child.in_tail:
            break
        label, branch = label + char, child
    return label, branch


def _same_class(chars: list[str], random: Random) -> dict[str, str]:
    """Return other characters of the same class, in the same order."""
    replacements: dict[str, str] = {}
    for letters in _CLASSES:
        members = [char for char in chars if char in letters]
        places = sorted(random.sample(range(len(letters)), len(members)))
        replacements.update(zip(members, (letters[place] for place in places), strict=True))
    return replacements


def _code(number: int) -> str:
    code = ""
    for _ in range(CODE_LENGTH):
        number, place = divmod(number, len(CODE_LETTERS))
        code = CODE_LETTERS[place] + code
    return code
