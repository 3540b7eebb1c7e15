"""What an adapter counts of its own work: plain numbers that metrics and health read, so that
publishing and reading pay for a few additions and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field


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

    def note_seq(self, seq: int) -> None:
        """Note a position that the log holds."""
        self.highest = max(self.highest, seq)

    def note_loss(self) -> None:
        """Note a lost connection."""
        self.losses += 1
