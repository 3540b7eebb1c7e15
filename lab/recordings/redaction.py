"""Other names in the texts of events: first all names are gathered, then all are replaced.

A name is replaced where a field holds it, and in sentences where it stands as a word. A name that is
one plain word (`web`) could be an ordinary word of a sentence: there it is replaced only beside `/`
or `|`, in quotes, and where it is a node's.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bus.recording.pseudonyms import pseudonyms
from lab.recordings.free_text import (
    FOREIGN_TAILS,
    HIDDEN_FIELDS,
    OURS,
    VOCABULARY,
    patch_without,
)
from lab.recordings.names import TOKEN, parts_of, rename_parts, walk_names
from twin.port.workloads import NAMES as OUR_WORKLOADS

WELL_KNOWN = re.compile(r"([-a-z0-9]+\.)*(kubernetes\.io|k8s\.io|foresail\.dev)(/|$)")
"""Labels and taints that every cluster has."""
_FOREIGN = re.compile(rf"{WELL_KNOWN.pattern}[-._A-Za-z0-9]*|{TOKEN.pattern}")
_QUOTED = re.compile(r'"[^"]*"|\{[^{}]*\}|(?<![A-Za-z])\'[^\']*\'')
_LONG_MESSAGE = 250
"""Messages of the API server are kept up to some length; the last word of a long one may be half a
name."""
_HASH_LETTERS = 12
_NUMBER = re.compile(r"[0-9.]+")
_COMMAND_VALUE = re.compile(r"[0-9]{1,18}|active|shadow")
"""A cycle or a mode: what an operator's command may name."""
HIDDEN = "(redacted)"
"""In the place of what could say anything."""
_DISTINCT = re.compile(r"(?=.*[A-Za-z])(?=.*[-._0-9]).{3,}")


@dataclass(slots=True)
class CollectedNames:
    """The names of a recording; a `lab.recordings.names.Handler` that changes nothing."""

    names: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)
    """Names that stand alone somewhere: nodes."""

    def take(self, content: Any) -> None:
        """Gather the names of one event."""
        walk_names(content, self)

    def name(self, text: str, *, node: bool) -> str:
        """See `Handler.name`."""
        parts = list(parts_of(text))
        self.names.update(parts)
        if node and len(parts) == 1:
            self.bare.add(parts[0])
        return text

    def perhaps(self, text: str) -> str:
        """See `Handler.perhaps`."""
        return text

    def text(self, text: str, *, foreign: bool) -> str:  # noqa: ARG002 - the protocol's
        """See `Handler.text`."""
        return text

    def other(self, text: str) -> str:
        """See `Handler.other`."""
        return text

    patch = unknown = file = other


class Renaming:
    """Replaces the gathered names; a `lab.recordings.names.Handler`."""

    def __init__(self, gathered: CollectedNames, salt: bytes) -> None:
        """Give each name another one."""
        self._salt = salt
        self._bare = gathered.bare
        self.names: Mapping[str, str] = pseudonyms(gathered.names, salt)

    def take(self, content: Any, *, strict: bool = False) -> Any:
        """Return an event's content with other names; `strict` hides what is not known to be public."""
        return walk_names(content, self, strict=strict)

    def event(self, event_type: str, content: dict[str, Any]) -> dict[str, Any]:
        """Return an event's content with other names, and without what anybody may have written."""
        redacted: dict[str, Any] = self.take(content, strict=True)
        ours = event_type.endswith("data_source.v1") and content.get("kind") in OURS
        for name in () if ours else HIDDEN_FIELDS.get(event_type, ()):
            if redacted.get(name):
                redacted[name] = [HIDDEN] if isinstance(redacted[name], list) else HIDDEN
        if event_type in FOREIGN_TAILS:
            place = FOREIGN_TAILS[event_type]
            for evidence in redacted.get(place, ()) if place else (redacted,):
                head, colon, tail = str(evidence.get("text", "")).partition(": ")
                if colon:
                    evidence["text"] = head + colon + self.text(tail, foreign=True)
        return redacted

    def patch(self, text: str) -> str:
        """See `Handler.patch`."""
        return patch_without(text, self._word_for, lambda word: bool(WELL_KNOWN.match(word)))

    def file(self, text: str) -> str:
        """See `Handler.file`."""
        return text if text in OUR_WORKLOADS else HIDDEN

    def unknown(self, text: str) -> str:
        """See `Handler.unknown`."""
        return HIDDEN if text and not _COMMAND_VALUE.fullmatch(text) else text

    def name(self, text: str, *, node: bool = False) -> str:  # noqa: ARG002 - the protocol's
        """See `Handler.name`."""
        return rename_parts(text, lambda part: self.names.get(part, part))

    def perhaps(self, text: str) -> str:
        """See `Handler.perhaps`."""
        return self.names.get(text, text)

    def other(self, text: str) -> str:
        """See `Handler.other`: only a name that can be nothing else is replaced."""
        if "/" in text or "|" in text:
            parts = list(parts_of(text))
            if parts and all(part in self.names for part in parts):
                return self.name(text)
        return self.names.get(text, text) if _is_distinct(text) else text

    def text(self, text: str, *, foreign: bool) -> str:
        """See `Handler.text`."""
        if foreign:
            if len(text) >= _LONG_MESSAGE:
                text = text.rpartition(" ")[0]
            parts, last = [], 0
            for quoted in _QUOTED.finditer(text):
                parts += [
                    self._keep_sentence(text[last : quoted.start()]),
                    self._foreign(quoted[0]),
                ]
                last = quoted.end()
            return "".join((*parts, self._keep_sentence(text[last:])))
        return TOKEN.sub(lambda match: self._word(text, match), text)

    def placeholder(self, text: str) -> str:
        """Return what stands for a text that may not be shown, the same each time."""
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()

    def leaks(self, line: str) -> Iterator[str]:
        """Yield names that still stand in a line, of those that can be nothing else."""
        for token in set(TOKEN.findall(line)):
            if _is_distinct(token) and self.names.get(token, token) != token:
                yield token

    def _word(self, text: str, match: re.Match[str]) -> str:
        word = match[0]
        other = self.names.get(word)
        if other is None or _is_distinct(word) or word in self._bare:
            return other or word
        around = text[max(match.start() - 1, 0) : match.start()] + text[match.end() :][:1]
        return other if any(char in "/|\"'" for char in around) else word

    def _foreign(self, quoted: str) -> str:
        """Replace every word that stands in quotes or braces; labels, users and images stand there."""

        def replace_word(match: re.Match[str]) -> str:
            return match[0] if WELL_KNOWN.match(match[0]) else self._word_for(match[0])

        return _FOREIGN.sub(replace_word, quoted)

    def _keep_sentence(self, text: str) -> str:
        """Keep numbers and the words that the API server's own sentences are made of."""

        def replace_token(match: re.Match[str]) -> str:
            word = match[0]
            if word in self.names and (_is_distinct(word) or word in self._bare):
                return self.names[word]
            known = word.lower() in VOCABULARY or _NUMBER.fullmatch(word) or WELL_KNOWN.match(word)
            return word if known else self._word_for(word)

        return _FOREIGN.sub(replace_token, text)

    def _word_for(self, word: str) -> str:
        """Return the other name of a name, and of any other word nothing that tells what it was."""
        return self.names.get(word) or f"redacted-{self.placeholder(word)[:_HASH_LETTERS]}"


def _is_distinct(name: str) -> bool:
    """Say whether a name can hardly be an ordinary word or a number."""
    return bool(_DISTINCT.fullmatch(name))
