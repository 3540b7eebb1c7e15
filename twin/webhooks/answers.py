"""What was asked about one write, and answered: kept between its tries, and in the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from twin.rbac.attributes import Attributes, Decision, User
from twin.records import Object


@dataclass(frozen=True, slots=True)
class Call:
    """One AdmissionReview that has to be sent."""

    key: str
    """Names its answer: a digest of the webhook and of what it is asked."""
    address: str
    """`https://host:port/path`."""
    server_name: str
    """Whom the certificate has to be for."""
    connect_to: str
    """Host and port to connect to, when the address's name says nothing here; empty: the address's own."""
    authority_pem: str
    """Whom to trust; empty: the machine's authorities."""
    timeout_seconds: int
    body: bytes


MOST_ROUNDS = 100
"""How often webhooks are asked about one write: each of them twice, and again when the object changed meanwhile."""


class CallsNeeded(Exception):
    """A write lacks answers of webhooks; nothing of it is done."""

    def __init__(self, calls: list[Call]) -> None:
        """Name the calls, which may be made beside one another."""
        super().__init__(f"{len(calls)} webhooks to call")
        self.calls = calls


@dataclass(slots=True)
class WebhookAnswers:
    """The answers of webhooks about one write."""

    at: float
    """Cluster time at which the write came, in seconds since the Unix epoch."""
    answers: dict[str, Object] = field(default_factory=dict)
    """By key: `{"review": {...}}`, or `{"error": "..."}` where none came."""
    user: User | None = None
    """Who writes; set when the write is first looked at."""
    may: Callable[[Attributes | tuple[str, str]], Decision] | None = None
    """Says whether the user may do something to a resource, or use (verb, path)."""
    closed: bool = False
    """Whether nobody can be called: what lacks an answer then has failed."""
    rounds: int = 0
    warnings: list[str] = field(default_factory=list)
    """What webhooks and policies warn of, in this try."""
    annotations: dict[str, str] = field(default_factory=dict)
    """What goes into the audit log, in this try."""

    def hear(self, calls: Sequence[Call], answers: Sequence[Object]) -> None:
        """Take in the answers to calls. After many rounds nobody is asked any more: the objects that are asked about
        change faster than webhooks answer.
        """
        self.rounds += 1
        self.closed = self.rounds >= MOST_ROUNDS
        for call, answer in zip(calls, answers, strict=True):
            self.answers[call.key] = answer

    def document(self) -> dict[str, Any]:
        """Return it for the journal."""
        user = self.user or User("")
        extra = [[key, list(values)] for key, values in user.extra]
        return {
            "at": self.at,
            "user": [user.name, user.uid, list(user.groups), extra],
            "answers": self.answers,
        }

    @classmethod
    def read(cls, document: dict[str, Any]) -> Self:
        """Read what `document` wrote; nobody is called again."""
        name, uid, groups, extra = document["user"]
        pairs = tuple((key, tuple(values)) for key, values in extra)
        user = User(name, uid, tuple(groups), pairs)
        return cls(document["at"], document["answers"], user, closed=True)
