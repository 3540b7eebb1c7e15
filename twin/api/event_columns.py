"""The columns of events, of both forms in which recorders write them."""

from __future__ import annotations

from twin.api.cells import Object, text_since, value_at


def event_last_seen(obj: Object, now: float) -> str:
    """Return how long ago it was seen for the last time."""
    series = value_at(obj, "series.lastObservedTime")
    return text_since(series or obj.get("lastTimestamp") or _first(obj), now)


def event_first_seen(obj: Object, now: float) -> str:
    """Return how long ago it was seen for the first time."""
    return text_since(_first(obj), now)


def event_count(obj: Object, _now: float) -> int:
    """Return how often it was seen."""
    return int(value_at(obj, "series.count") or obj.get("count") or 1)


def event_source(obj: Object, _now: float) -> str:
    """Return who reports it, and from where."""
    component = value_at(obj, "source.component") or obj.get("reportingComponent") or ""
    host = value_at(obj, "source.host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else str(component)


def _first(obj: Object) -> str | None:
    first: str | None = obj.get("firstTimestamp") or obj.get("eventTime")
    return first
