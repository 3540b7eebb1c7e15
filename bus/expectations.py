"""One writer per subject: which position a writer expects to be the newest, and what a refusal
means.

A writer tells the server the position of the last message it knows on a subject. When the server
refuses, the newest message says which of two things happened: it is our own (the earlier try was
stored, its ack was lost), or somebody else writes our subject. An id alone does not tell two
processes of one name apart, since both compute the same ids; each connection therefore signs what
it publishes. A third case is a log that lost its end: then the newest message is older than ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from bus.errors import AnotherWriter, LogWentBack
from bus.port import LogInfo, Message, StoredMessage
from schemas.envelope import MESSAGE_ID


def message_id(headers: object) -> str:
    """Return the id in a message's headers, or an empty string."""
    return str(headers.get(MESSAGE_ID, "")) if isinstance(headers, dict) else ""


def check_newest(known_seq: int, newest: StoredMessage | None, log: LogInfo) -> None:
    """Check the newest message of a subject on which we know position `known_seq` (0: none).

    Raises:
        LogWentBack: a position that was stored is gone, and retention did not take it.
    """
    newest_seq = 0 if newest is None else newest.seq
    if newest_seq < known_seq and (newest is not None or log.first_seq <= known_seq):
        raise LogWentBack(known_seq, log.last_seq)


def check_signature(message: Message, own: str, newest: str) -> None:
    """Check who wrote the newest message of a subject on which this connection was overtaken.

    Raises:
        AnotherWriter: another connection, even when it published the very id that we wanted to.
    """
    if newest and newest != own:
        raise AnotherWriter(message.subject, f"from another process ({newest[:8]})")


def settle_refusal(
    messages: Sequence[Message], newest: Sequence[StoredMessage | None]
) -> tuple[int, ...] | None:
    """Say what a refused publish means, given the newest message of each message's subject.

    Returns:
        The positions when all messages are stored already; None when the expectations were merely
        out of date.

    Raises:
        AnotherWriter: the newest message of a subject is somebody else's.
    """
    own = {message_id(dict(message.headers)) for message in messages}
    stored = [
        message is not None and message_id(dict(message.headers)) in own for message in newest
    ]
    if all(stored):
        return tuple(message.seq for message in newest if message is not None)
    for message, newest_message in zip(messages, newest, strict=True):
        if newest_message is not None and message_id(dict(newest_message.headers)) not in own:
            raise AnotherWriter(message.subject, message_id(dict(newest_message.headers)))
    return None
