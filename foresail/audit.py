"""Reading a log or a recording into its audit."""

from __future__ import annotations

from collections.abc import Iterable

from bus.events import read_entry
from bus.port import StoredMessage
from projections.log_audit import Auditor, LogAudit


def audit(
    messages: Iterable[StoredMessage], *, since_seq: int = 0, layers: bool = True
) -> LogAudit:
    """Audit stored messages, given in order; see `projections.log_audit.Auditor`."""
    auditor = Auditor(since_seq)
    for message in messages:
        audit_message(auditor, message)
    return auditor.finish(layers=layers)


def audit_message(auditor: Auditor, message: StoredMessage) -> None:
    """Let an auditor take one stored message."""
    entry = read_entry(message)
    if entry.event is None:
        auditor.add_unreadable(message.seq, entry.problem)
    else:
        auditor.add(entry.event)
