"""Every error that Foresail raises on purpose; two words decide what to do about one.

```
ForesailError
├── Temporary            waiting and trying again may help
│   └── BusUnavailable   no server answers, or it answers too late
├── Permanent            trying again never helps
│   ├── AnotherWriter    somebody else writes our subject; this process must stop
│   ├── LogWentBack      the log lost what we read from it; only a fresh start can go on
│   ├── StreamMissing    the log does not exist on that server
│   ├── ServerTooOld     the server lacks atomic batches (NATS 2.12)
│   ├── JetStreamMissing the server has no JetStream
│   ├── MessageTooLarge  a message is over the server's limit
│   ├── NeverReady       a child process does not get ready
│   └── RecordingDamaged a recording does not hold what it says it holds
└── InputError           somebody gave us something wrong: one line, exit code 2
    └── ConfigError      it was a setting
```

Root and InputError are the twin's, too: `inputs.errors`.
"""

from __future__ import annotations

from inputs.errors import ConfigError, ForesailError, InputError

__all__ = [
    "AnotherWriter",
    "BusUnavailable",
    "ConfigError",
    "ForesailError",
    "InputError",
    "JetStreamMissing",
    "LogWentBack",
    "MessageTooLarge",
    "NotPermitted",
    "Permanent",
    "RecordingDamaged",
    "ServerTooOld",
    "StreamMissing",
    "Temporary",
]


class Temporary(ForesailError):
    """Waiting and trying again may help."""


class BusUnavailable(Temporary):
    """No server answers, or it answers too late."""


class Permanent(ForesailError):
    """Trying again never helps."""


class AnotherWriter(Permanent):
    """The newest message of a subject that only we may write is not ours."""

    def __init__(self, subject: str, newest_id: str) -> None:
        """Name the subject and the id found there."""
        super().__init__(
            f"another writer published {newest_id or 'a message without id'} on {subject}; stopping"
        )
        self.subject = subject
        self.newest_id = newest_id


class LogWentBack(Permanent):
    """The log does not hold any more what this process read from it or wrote to it."""

    def __init__(self, known_seq: int, last_seq: int) -> None:
        """Name the position that this process knows and the newest one that there is."""
        super().__init__(
            f"the log went back: position {known_seq} was known here, "
            f"and it ends at {last_seq} or holds another message there; starting again"
        )
        self.known_seq = known_seq
        self.last_seq = last_seq


class NotPermitted(Permanent):
    """The server does not let this login write a subject."""

    def __init__(self, subject: str) -> None:
        """Name the subject."""
        super().__init__(f"this login may not publish {subject}; give the login of its owner")
        self.subject = subject


class StreamMissing(Permanent):
    """The log does not exist on that server."""


class ServerTooOld(Permanent):
    """The server lacks what Foresail needs."""


class JetStreamMissing(Permanent):
    """The server has no JetStream."""


class MessageTooLarge(Permanent):
    """A message is over the limit."""

    def __init__(self, subject: str, size_bytes: int, limit_bytes: int) -> None:
        """Name the subject, the size and the limit."""
        super().__init__(
            f"a message of {size_bytes} bytes on {subject} is over the limit of {limit_bytes}"
        )
        self.subject = subject
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class NeverReady(Permanent):
    """A child process ended, or hangs, before it was ready."""


class RecordingDamaged(Permanent):
    """A recording does not hold what it says it holds."""
