"""How one whole frame is held against the frames before it, when some of those may be lost."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from bus.recording.content import Content
from bus.recording.proof import RunningProof, extend_chain
from schemas.wording import count_text


@dataclass(frozen=True, slots=True)
class FrameVerdict:
    """Verdict about a frame."""

    why: str = ""
    """Faults of it or before it; empty: it continues the frames before it."""
    usable: bool = True
    proven: bool = True
    """By a hash, not only by counts and the frame's own checksum."""
    missing: int = 0
    """Messages that its trailer counts and that were not seen before it."""


class FrameLinks(Protocol):
    """The frames seen so far."""

    total: int
    """Messages, as the newest trailer counts them."""
    last_seq: int
    """Position of the last message."""

    def judge(self, content: Content) -> FrameVerdict:
        """Take the next frame and say what is known of it."""
        ...

    def fits_footer(self, footer: Content) -> bool:
        """Say whether the footer fits everything before it."""
        ...

    def note_gap(self) -> None:
        """Note that frames are lost here."""
        ...


class ChainLinks:
    """Version 2: each frame is proven by its own hash, and its place by the chain."""

    def __init__(self) -> None:
        """Begin before the first frame."""
        self.total = self.last_seq = 0
        self._chain: str | None = ""

    def judge(self, content: Content) -> FrameVerdict:
        """See `FrameLinks.judge`."""
        trailer = content.said
        total, last_seq = trailer.get("messages"), trailer.get("last_seq")
        if type(total) is not int or type(last_seq) is not int:
            self.note_gap()
            return FrameVerdict("its trailer has no counts", usable=False)
        digest = hashlib.sha256(content.body).hexdigest()
        own = len(content.messages)
        linked = self._chain is not None
        continues = linked and trailer.get("chain") == extend_chain(
            self._chain or "", trailer.get("sha256")
        )
        missing = total - own - self.total
        if digest != trailer.get("sha256"):
            why = "its lines are not those that its trailer has hashed" + _count_missing(
                missing, own
            )
            self._chain = trailer["chain"] if continues else None
            if continues:
                self.total, self.last_seq = total, last_seq
            return FrameVerdict(why, usable=False)
        why = "" if (continues and missing == 0) or not linked else self._why_not(content, missing)
        self._chain = str(trailer.get("chain"))
        self.total, self.last_seq = total, _last_seq(content, self.last_seq)
        return FrameVerdict(why, missing=0 if why else max(missing, 0))

    def fits_footer(self, footer: Content) -> bool:
        """See `FrameLinks.fits_footer`."""
        expected = {"messages": self.total, "last_seq": self.last_seq, "chain": self._chain}
        return footer.said == expected

    def note_gap(self) -> None:
        """See `FrameLinks.note_gap`."""
        self._chain = None

    def _why_not(self, content: Content, missing: int) -> str:
        first = content.messages[0].seq if content.messages else None
        if first is not None and first <= self.last_seq:
            return f"its messages from seq {first} on belong before those in front of it"
        if missing > 0:
            return f"{count_text(missing, 'message is', 'messages are')} missing before it"
        return "it does not continue the frames before it"


class RunningLinks:
    """Version 1: one running hash; behind the first flaw only counts and checksums are left."""

    def __init__(self) -> None:
        """Begin before the first frame."""
        self.total = self.last_seq = 0
        self._proof: RunningProof | None = RunningProof()

    def judge(self, content: Content) -> FrameVerdict:
        """See `FrameLinks.judge`."""
        total, own = content.said.get("messages"), len(content.messages)
        if type(total) is not int:
            self.note_gap()
            return FrameVerdict("its trailer has no counts", usable=False)
        missing = total - own - self.total
        last_seq = _last_seq(content, self.last_seq)
        if self._proof is not None:
            if content.said == self._proof.add_frame(content.body, own, last_seq):
                self._proof.add_trailer(content.trailer)
                self.total, self.last_seq = total, last_seq
                return FrameVerdict()
            self.note_gap()
            why = "it, or what stands before it, is not what its trailer has hashed"
            return FrameVerdict(why + _count_missing(missing, own), usable=False)
        back = bool(content.messages) and content.messages[0].seq <= self.last_seq
        self.total, self.last_seq = total, last_seq
        why = "its messages belong before those in front of it" if back else ""
        return FrameVerdict(why, proven=False, missing=max(missing, 0))

    def fits_footer(self, footer: Content) -> bool:
        """See `FrameLinks.fits_footer`; behind a flaw nothing can be said."""
        return self._proof is not None and footer.said == self._proof.footer()

    def note_gap(self) -> None:
        """See `FrameLinks.note_gap`."""
        self._proof = None


def links_of(version: int) -> FrameLinks:
    """Return the links of a format version, before the first frame."""
    return RunningLinks() if version == 1 else ChainLinks()


def _last_seq(content: Content, before: int) -> int:
    return content.messages[-1].seq if content.messages else before


def _count_missing(missing: int, own: int) -> str:
    if missing == 0 or own + missing < 0:
        return ""
    return f" ({count_text(own, 'message')} where its trailer counts {own + missing})"
