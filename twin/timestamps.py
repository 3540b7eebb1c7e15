"""Cluster time as Kubernetes writes it; pure formatting, no clock is read here."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=8_192)
def _seconds(unix_seconds: int) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339(unix_seconds: float) -> str:
    """Return `2026-01-01T00:00:00Z`; like metav1.Time, the fraction is cut off."""
    return _seconds(int(unix_seconds))


def rfc3339_micro(unix_seconds: float) -> str:
    """Return `2026-01-01T00:00:00.000000Z`, as metav1.MicroTime."""
    whole, micro = divmod(round(unix_seconds * 1e6), 1_000_000)
    return f"{_seconds(whole)[:-1]}.{micro:06d}Z"


@lru_cache(maxsize=8_192)
def unix(text: str) -> float:
    """Return unix seconds of an RFC 3339 time; raises ValueError for another text."""
    return datetime.fromisoformat(text).timestamp()
