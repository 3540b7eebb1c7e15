"""Expected content of a recording's trailers and footer: counts and hashes, frame by frame.

Version 2 hashes each frame for itself and chains these hashes, so that a whole frame behind a
damaged one can still be proven, and the footer proves that all are there in order. Version 1 had
one running hash over all lines: behind the first damage nothing could be proven any more.
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

Said = dict[str, Any]


class Proof(Protocol):
    """The state of the proof after some frames."""

    messages: int
    last_seq: int

    def add_frame(self, body: bytes, messages: int, last_seq: int) -> Said:
        """Take one frame's lines before its trailer and say what the trailer must hold."""
        ...

    def add_trailer(self, line: bytes) -> None:
        """Take the trailer as it stands in the file."""
        ...

    def footer(self) -> Said:
        """Say what the footer must hold."""
        ...


class RunningProof:
    """Version 1."""

    def __init__(self) -> None:
        """Begin before the header."""
        self.messages = self.last_seq = 0
        self._digest = hashlib.sha256()

    def add_frame(self, body: bytes, messages: int, last_seq: int) -> Said:
        """See `Proof.add_frame`."""
        self._digest.update(body)
        self.messages += messages
        self.last_seq = last_seq
        return self.footer()

    def add_trailer(self, line: bytes) -> None:
        """See `Proof.add_trailer`; trailers are part of the running hash."""
        self._digest.update(line)

    def footer(self) -> Said:
        """See `Proof.footer`."""
        digest = self._digest.hexdigest()
        return {"messages": self.messages, "last_seq": self.last_seq, "sha256": digest}


class ChainProof:
    """Version 2."""

    def __init__(self) -> None:
        """Begin before the header."""
        self.messages = self.last_seq = 0
        self.chain = ""

    def add_frame(self, body: bytes, messages: int, last_seq: int) -> Said:
        """See `Proof.add_frame`."""
        digest = hashlib.sha256(body).hexdigest()
        self.chain = extend_chain(self.chain, digest)
        self.messages += messages
        self.last_seq = last_seq
        return {
            "messages": self.messages,
            "last_seq": last_seq,
            "sha256": digest,
            "chain": self.chain,
        }

    def add_trailer(self, line: bytes) -> None:
        """See `Proof.add_trailer`; what it says is compared whole, so it needs no hash."""

    def footer(self) -> Said:
        """See `Proof.footer`."""
        return {"messages": self.messages, "last_seq": self.last_seq, "chain": self.chain}


def extend_chain(chain: str, digest: object) -> str:
    """Return the chain of frame hashes after one more."""
    return hashlib.sha256(f"{chain}{digest}".encode()).hexdigest()


def proof_of(version: int) -> Proof:
    """Return the proof of a format version, before the first line."""
    return RunningProof() if version == 1 else ChainProof()
