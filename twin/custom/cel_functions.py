"""Functions that Kubernetes adds to CEL, as far as Python can give them to the library.

Values of Kubernetes' own types (Quantity, URL, IP, CIDR, Semver) are maps with one canonical text, so that equal
ones compare equal. Source: "CEL options, language features, and libraries" in cel.md of kubernetes/website.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import re2

from inputs.quantities import parse_quantity

Value = dict[str, Any]
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)


def _valid(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def quantity(text: str) -> Value:
    """Read a quantity; raises ValueError."""
    amount = parse_quantity(text)
    return {"quantity": str(amount.normalize() if amount else Decimal(0))}


def _amount(value: Any) -> Decimal:
    return Decimal(value["quantity"]) if isinstance(value, dict) else Decimal(str(value))


def _of_amount(amount: Decimal) -> Value:
    return {"quantity": str(amount.normalize() if amount else Decimal(0))}


def _sign(amount: Decimal) -> int:
    return (amount > 0) - (amount < 0)


def _whole(value: Any) -> int:
    amount = _amount(value)
    if amount != amount.to_integral_value():
        raise ValueError("cannot convert value to integer")
    return int(amount)


def url(text: str) -> Value:
    """Read an absolute URL or a path; raises ValueError."""
    parts = urlsplit(text)
    if not (text.startswith("/") or (parts.scheme and parts.netloc)):
        raise ValueError(f"URL parse error during conversion from string: {text}")
    return {"url": text}


def _split(value: Value) -> Any:
    return urlsplit(value["url"])


def ip(text: str) -> Value:
    """Read an address of IPv4 or IPv6; raises ValueError."""
    return {"ip": str(ipaddress.ip_address(text))}


def _address(value: Any) -> Any:
    return ipaddress.ip_address(value["ip"] if isinstance(value, dict) else value)


def cidr(text: str) -> Value:
    """Read a network in CIDR notation; raises ValueError."""
    if "/" not in text:
        raise ValueError(f"network address parse error: {text}")
    return {"cidr": str(ipaddress.ip_interface(text))}


def _interface(value: Any) -> Any:
    return ipaddress.ip_interface(value["cidr"] if isinstance(value, dict) else value)


def _contains(outer: Any, inner: Any) -> bool:
    network, other = _interface(outer).network, _interface(inner).network
    return bool(network.version == other.version and other.subnet_of(network))


def semver(text: str) -> Value:
    """Read a semantic version; raises ValueError."""
    if _SEMVER.fullmatch(text) is None:
        raise ValueError(f"No Major.Minor.Patch elements found in {text}")
    return {"semver": text}


def _order(value: Value) -> tuple[Any, ...]:
    match = _SEMVER.fullmatch(value["semver"])
    assert match is not None
    parts = [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in (match[4] or "").split(".")
    ]
    return (*(int(match[number]) for number in (1, 2, 3)), match[4] is None, parts)


def _compare(first: Any, second: Any) -> int:
    """Order two values of one of Kubernetes' types."""
    if "semver" in first:
        one, other = _order(first), _order(second)
        return (one > other) - (one < other)
    return _sign(_amount(first) - _amount(second))


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [match.group() for match in re2.finditer(pattern, text)]
    return found if most < 0 else found[:most]


def _find(text: str, pattern: str) -> str:
    match = re2.search(pattern, text)
    return "" if match is None else str(match.group())


def _index(values: list[Any], value: Any, *, last: bool) -> int:
    places = [index for index, each in enumerate(values) if each == value]
    return (places[-1] if last else places[0]) if places else -1


def _total(values: list[Any]) -> Any:
    total = values[0] if values else 0
    for value in values[1:]:
        total += value
    return total


Row = tuple[str, str, str, Callable[..., Any]]
MEMBERS: tuple[Row, ...] = (
    ("isSorted", "L", "b", lambda v: all(a <= b for a, b in pairwise(v))),
    ("sum", "L", "d", _total),
    ("min", "L", "d", min),
    ("max", "L", "d", max),
    ("indexOf", "Ld", "i", lambda v, x: _index(v, x, last=False)),
    ("lastIndexOf", "Ld", "i", lambda v, x: _index(v, x, last=True)),
    ("find", "ss", "s", _find),
    ("findAll", "ss", "L", _find_all),
    ("findAll", "ssi", "L", _find_all),
    ("isGreaterThan", "dd", "b", lambda a, b: _compare(a, b) > 0),
    ("isLessThan", "dd", "b", lambda a, b: _compare(a, b) < 0),
    ("compareTo", "dd", "i", _compare),
    ("sign", "d", "i", lambda a: _sign(_amount(a))),
    ("add", "dd", "d", lambda a, b: _of_amount(_amount(a) + _amount(b))),
    ("sub", "dd", "d", lambda a, b: _of_amount(_amount(a) - _amount(b))),
    ("isInteger", "d", "b", lambda a: _amount(a) == _amount(a).to_integral_value()),
    ("asInteger", "d", "i", _whole),
    ("asApproximateFloat", "d", "f", lambda a: float(_amount(a))),
    ("getScheme", "d", "s", lambda a: _split(a).scheme),
    ("getHost", "d", "s", lambda a: _split(a).netloc.rpartition("@")[2]),
    ("getHostname", "d", "s", lambda a: _split(a).hostname or ""),
    ("getPort", "d", "s", lambda a: str(_split(a).port or "")),
    ("getEscapedPath", "d", "s", lambda a: _split(a).path),
    ("getQuery", "d", "M", lambda a: parse_qs(_split(a).query, keep_blank_values=True)),
    ("family", "d", "i", lambda a: _address(a).version),
    ("isUnspecified", "d", "b", lambda a: _address(a).is_unspecified),
    ("isLoopback", "d", "b", lambda a: _address(a).is_loopback),
    ("isLinkLocalMulticast", "d", "b",
     lambda a: str(_address(a)).startswith(("224.0.0.", "ff02:", "ff12:"))),
    ("isLinkLocalUnicast", "d", "b",
     lambda a: _address(a).is_link_local),
    ("isGlobalUnicast", "d", "b",
     lambda a: not (_address(a).is_unspecified or _address(a).is_loopback
                    or _address(a).is_multicast or _address(a).is_link_local)),
    ("containsIP", "dd", "b", lambda a, b: _address(b) in _interface(a).network),
    ("containsCIDR", "dd", "b", _contains),
    ("prefixLength", "d", "i", lambda a: _interface(a).network.prefixlen),
    ("masked", "d", "d", lambda a: {"cidr": str(_interface(a).network)}),
    ("ip", "d", "d", lambda a: {"ip": str(_interface(a).ip)}),
    ("major", "d", "i", lambda a: _order(a)[0]),
    ("minor", "d", "i", lambda a: _order(a)[1]),
    ("patch", "d", "i", lambda a: _order(a)[2]),
)  # fmt: skip
"""Functions of a value: name, types of receiver and arguments, type of the result, what it does. Types: b, i, f,
s(tring), d(ynamic), L(ist), M(ap).
"""
FREE: tuple[Row, ...] = (
    ("quantity", "s", "d", quantity),
    ("isQuantity", "s", "b", _valid(quantity)),
    ("url", "s", "d", url),
    ("isURL", "s", "b", _valid(url)),
    ("ip", "s", "d", ip),
    ("isIP", "s", "b", _valid(ip)),
    ("ip.isCanonical", "s", "b", lambda text: ip(text)["ip"] == text),
    ("cidr", "s", "d", cidr),
    ("isCIDR", "s", "b", _valid(cidr)),
    ("semver", "s", "d", semver),
    ("isSemver", "s", "b", _valid(semver)),
    ("jsonpatch.escapeKey", "s", "s", lambda text: text.replace("~", "~0").replace("/", "~1")),
    ("sets.contains", "LL", "b", lambda a, b: all(each in a for each in b)),
    ("sets.intersects", "LL", "b", lambda a, b: any(each in a for each in b)),
    ("sets.equivalent", "LL", "b",
     lambda a, b: all(each in a for each in b) and all(each in b for each in a)),
)  # fmt: skip
"""Functions that stand alone, in the same form."""
