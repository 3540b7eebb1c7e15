"""Which version a list or watch requests, by resourceVersion, resourceVersionMatch and the rest.

The rules and sentences are those of a real API server's ListOptions; every combination it refuses
is refused here with the same code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from twin.errors import ApiError, bad_request, invalid

EXACT, AT_LEAST = "Exact", "NotOlderThan"
LONGEST_VERSION = 20
"""Digits of a resourceVersion: as many as a number of 64 bits has."""
LONGEST_TIMEOUT_SECONDS = 86_400
"""A watch that requests more gets this; clients start a new one anyway."""
SHOWN = 100
"""Characters of a malformed text that a refusal repeats."""
_MATCH, _INITIAL = "resourceVersionMatch", "sendInitialEvents"


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Where a list begins. `version` None or 0: any, so the newest."""

    version: int | None
    exact: bool
    limit: int
    token: str


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Where a watch begins. `version` None or 0: with what there is now."""

    version: int | None
    initial: bool | None
    """Whether the current objects come first, closed by a bookmark; None: not stated."""
    bookmarks: bool
    timeout_seconds: float | None


def list_options(query: Mapping[str, str]) -> ListOptions:
    """Read the options of a list; raises ApiError 400 or 422."""
    match, version = query.get(_MATCH, ""), query.get("resourceVersion", "")
    token = query.get("continue", "")
    causes = []
    if match and not version:
        causes.append(
            (_MATCH, f"Forbidden: {_MATCH} is forbidden unless resourceVersion is provided")
        )
    if match and token:
        causes.append((_MATCH, f"Forbidden: {_MATCH} is forbidden when continue is provided"))
    if match not in {"", EXACT, AT_LEAST}:
        causes.append(
            (
                _MATCH,
                f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""',
            )
        )
    if match == EXACT and version == "0":
        causes.append((_MATCH, f'Forbidden: {_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if _INITIAL in query:
        causes.append((_INITIAL, f"Forbidden: {_INITIAL} is forbidden for list"))
    _refuse(causes)
    _seconds(query.get("timeoutSeconds", ""))
    limit = max(0, _whole_number(query.get("limit", "")))
    requested = _version(version)
    if token and requested:
        raise bad_request("specifying resource version is not allowed when using continue")
    if requested == 0 and not token:  # any version will do: a real server's cache answers whole
        limit = 0
    exact = match == EXACT or (match == "" and bool(limit) and bool(requested))
    return ListOptions(requested, exact, limit, token)


def watch_options(query: Mapping[str, str]) -> WatchOptions:
    """Read the options of a watch; raises ApiError 400 or 422."""
    match, initial = query.get(_MATCH, ""), _flag(query, _INITIAL)
    causes = []
    if initial is not None and match != AT_LEAST:
        causes.append((_MATCH, f"Forbidden: {_INITIAL} requires setting {_MATCH} to {AT_LEAST}"))
    if match and initial is None:
        sentence = f"Forbidden: {_MATCH} is forbidden for watch unless {_INITIAL} is provided"
        causes.append((_MATCH, sentence))
    if match not in {"", AT_LEAST}:
        causes.append((_MATCH, f'Unsupported value: "{match}": supported values: "NotOlderThan"'))
    if query.get("continue"):
        causes.append((_MATCH, f"Forbidden: {_MATCH} is forbidden when continue is provided"))
    _refuse(causes)
    version = _alone(query.get("resourceVersion", ""))
    bookmarks = bool(_flag(query, "allowWatchBookmarks"))
    return WatchOptions(version, initial, bookmarks, _seconds(query.get("timeoutSeconds", "")))


def check_reached(text: str, newest: int) -> None:
    """Raise ApiError 504 for a read of a future version, 500 (as upstream) for an invalid one."""
    requested = _alone(text)
    if requested is not None and requested > newest:
        raise too_new(requested, newest)


def _alone(text: str) -> int | None:
    """As `_version`, where upstream answers an invalid one with 500."""
    try:
        return _version(text)
    except ApiError as error:
        why = error.message.removeprefix("invalid resource version: ")
        raise ApiError(500, "", why) from error


def too_new(requested: int, newest: int) -> ApiError:
    """504 of a version that this cluster has not reached."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {requested}, current: {newest}"
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def _refuse(causes: list[tuple[str, str]]) -> None:
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)


def _version(text: str) -> int | None:
    if not text:
        return None
    number = text.isascii() and text.isdecimal()
    if not number or len(text) > LONGEST_VERSION or int(text) >= 1 << 64:
        why = "value out of range" if number else "invalid syntax"
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text[:SHOWN]}": '
            f'strconv.ParseUint: parsing "{text[:SHOWN]}": {why}'
        )
    return int(text)


def _whole_number(text: str) -> int:
    if not text:
        return 0
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        shown = text[:SHOWN]
        raise bad_request(f'strconv.ParseInt: parsing "{shown}": invalid syntax')
    return int(text)


def _seconds(text: str) -> float | None:
    """Return a time-out; 0 is none, as on a real server."""
    seconds = min(_whole_number(text), LONGEST_TIMEOUT_SECONDS)
    return max(0.0, float(seconds)) or None


def _flag(query: Mapping[str, str], name: str) -> bool | None:
    """Return what a flag says: anything but false or 0 is true; None when it is not there."""
    text = query.get(name)
    return None if text is None else text.lower() not in {"false", "0"}
