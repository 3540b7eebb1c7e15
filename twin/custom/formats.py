"""String formats that a real API server checks; any other format says nothing.

Source: the formats of go-openapi/strfmt that custom-resource-definitions.md of kubernetes/website lists.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime

_DURATION = re.compile(
    r"\d+(\.\d+)?\s*(ns|us|µs|μs|ms|s|m|h|d|w|nano(second)?s?|micros?|microseconds?|millis?|milliseconds?"
    r"|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?)(\s*\d+(\.\d+)?\s*(ns|us|ms|s|m|h|d|w))*"
)
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)?")
_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\.?")
_EMAIL = re.compile(r"[^@\s<>]+@[A-Za-z0-9][-A-Za-z0-9.]*")
_UUID = r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?%s[0-9a-fA-F]{3}-?%s[0-9a-fA-F]{3}-?[0-9a-fA-F]{12}"
_URI = re.compile(r"[A-Za-z][-A-Za-z0-9+.]*:[^\s]+|/[^\s]*")
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}|[0-9A-Fa-f]{4}(\.[0-9A-Fa-f]{4}){2}")
_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}")
_SSN = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_ISBN = re.compile(r"(\d{9}[0-9X]|\d{13})")
_CARD = re.compile(r"\d{13,19}")


def _parses(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    return _parses(datetime.fromisoformat)(re.sub(r"\.\d+", "", text.upper().replace(" ", "T")))


def _cidr(text: str) -> bool:
    return "/" in text and _parses(ipaddress.ip_interface)(text)


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _parses(date.fromisoformat),
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _matches(_DURATION),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _cidr,
    "mac": _matches(_MAC),
    "hostname": _matches(_HOST),
    "email": _matches(_EMAIL),
    "uri": _matches(_URI),
    "uuid": _matches(re.compile(_UUID % ("[0-9a-fA-F]", "[0-9a-fA-F]"))),
    "uuid3": _matches(re.compile(_UUID % ("3", "[0-9a-fA-F]"))),
    "uuid4": _matches(re.compile(_UUID % ("4", "[89abAB]"))),
    "uuid5": _matches(re.compile(_UUID % ("5", "[89abAB]"))),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "hexcolor": _matches(_COLOR),
    "rgbcolor": _matches(_RGB),
    "bsonobjectid": _matches(_OBJECT_ID),
    "ssn": _matches(_SSN),
    "isbn": _matches(_ISBN),
    "creditcard": _matches(_CARD),
}
"""Checks by name of the format."""
