"""Counters of an adapter's own work: plain numbers that metrics and health read, so that
publishing and reading pay for a few additions and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bus.port import StoredMessage


@dataclass(slots=True)
class LinkCounts:
    """One connection's counts since it was made."""

    connected: bool = True
    """Whether a server answers right now."""
    retries: int = 0
    """Publishes that had to be sent again."""
    refusals: int = 0
    """Publishes that the log refused because something newer was on their subject."""
    losses: int = 0
    """How often the connection has been lost."""
    trouble: str = ""
    """Why the log takes nothing right now, in words; empty when it does."""
    newest: dict[str, int] = field(default_factory=dict)
    """Newest position that the live feed has shown, by subject."""
    highest: int = 0
    """Highest position that this connection has read or stored."""
    newest_read: StoredMessage | None = None
    """The message at the highest position that was read."""
    read_before_loss: StoredMessage | None = None
    """What was the newest when the connection was lost; a publisher checks it and sets it to None."""

    def note_read(self, message: StoredMessage) -> None:
        """Note a message that was read."""
        self.note_seq(message.seq)
        if self.newest_read is None or message.seq > self.newest_read.seq:
            self.newest_read = message

    def note_seq(self, seq: int) -> None:
        """Note a position that the log holds."""
        self.highest = max(self.highest, seq)

    def forget_reads_from(self, start_seq: int) -> None:
        """Forget what was read when a reader starts again before it and takes the log as it is now."""
        if self.newest_read is not None and start_seq <= self.newest_read.seq:
            self.newest_read = self.read_before_loss = None
            self.newest.clear()

    def note_loss(self) -> None:
        """Note a lost connection, and what had been read until then unless that is still unchecked."""
        self.losses += 1
        if self.read_before_loss is None:
            self.read_before_loss = self.newest_read
