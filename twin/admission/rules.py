"""Rules of single values that many kinds share: names, ports, addresses, paths, words, ranges.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, whose sentences these are.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any

from twin.admission import metadata
from twin.admission.findings import Findings

IP_RULE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
MOST_PORT = 65_535
MOST_INT32 = (1 << 31) - 1
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_PORT_NAME_LENGTH = 15
_VARIABLE = re.compile(r"[ -<>-~]+\Z")


def dns_label(path: str, value: object, findings: Findings) -> None:
    """Check a DNS label, such as the name of a container."""
    _pattern(path, value, metadata.DNS_LABEL, metadata.MAX_LABEL, metadata.LABEL_RULE, findings)


def subdomain(path: str, value: object, findings: Findings) -> None:
    """Check a subdomain, such as the name of most objects."""
    _pattern(path, value, metadata.SUBDOMAIN, metadata.MAX_NAME, metadata.SUBDOMAIN_RULE, findings)


def _pattern(
    path: str, value: object, pattern: re.Pattern[str], most: int, rule: str, findings: Findings
) -> None:
    if len(str(value)) > most:
        findings.bad(path, value, f"must be no more than {most} bytes")
    elif not pattern.match(str(value)):
        findings.bad(path, value, rule)


def qualified_name(path: str, value: object, findings: Findings) -> None:
    """Check a label key, or what has its form."""
    for problem in metadata.key_problems(str(value)):
        findings.bad(path, value, problem)


def one_of(path: str, value: object, words: Iterable[str], findings: Findings) -> None:
    """Check that a value is one of the words that there are; an absent one is no word."""
    known = tuple(words)
    if value not in known:
        findings.unsupported(path, "" if value is None else value, known)


def optional_word(path: str, value: object, words: Iterable[str], findings: Findings) -> None:
    """As `one_of`, of a value that may be absent."""
    if value is not None:
        one_of(path, value, words, findings)


def port(path: str, value: object, findings: Findings) -> None:
    """Check a port's number."""
    if type(value) is not int or not 0 < value <= MOST_PORT:
        findings.bad(path, 0 if value is None else value, _port_rule())


def _port_rule() -> str:
    return f"must be between 1 and {MOST_PORT}, inclusive"


def port_name(path: str, value: str, findings: Findings) -> None:
    """Check a port's name (an IANA service name)."""
    if len(value) > _PORT_NAME_LENGTH:
        findings.bad(path, value, f"must be no more than {_PORT_NAME_LENGTH} characters")
    if not re.fullmatch(r"[-a-z0-9]*", value):
        why = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
        findings.bad(path, value, why)
    if not re.search(r"[a-z]", value):
        findings.bad(path, value, "must contain at least one letter (a-z)")
    if "--" in value:
        findings.bad(path, value, "must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        findings.bad(path, value, "must not begin or end with a hyphen")


def port_or_name(path: str, value: object, findings: Findings) -> None:
    """Check a port that is given by its number or by its name."""
    if isinstance(value, str):
        port_name(path, value, findings)
    else:
        port(path, value, findings)


def ip_address(path: str, value: object, findings: Findings) -> None:
    """Check an IP address."""
    if not is_ip(value):
        findings.bad(path, value, ip_rule(value))


def ip_rule(value: object) -> str:
    """Return what a text that is no IP address breaks."""
    parts = str(value).split(".")
    plain = len(parts) == 4 and all(part.isascii() and part.isdecimal() for part in parts)
    if plain and all(int(part) < 256 for part in parts):
        return "must not have leading 0s"
    return IP_RULE


def is_ip(value: object) -> bool:
    """Say whether a value is an IP address without a zone."""
    try:
        return isinstance(value, str) and "%" not in value and bool(ipaddress.ip_address(value))
    except ValueError:
        return False


def config_key(path: str, value: object, findings: Findings) -> None:
    """Check a key of a ConfigMap or Secret."""
    if not value:
        findings.require(path)
    elif not _CONFIG_KEY.match(str(value)) or str(value) in (".", ".."):
        findings.bad(path, value, CONFIG_KEY_RULE)


def variable_name(path: str, value: str, findings: Findings) -> None:
    """Check the name of an environment variable."""
    if not _VARIABLE.match(value):
        why = "a valid environment variable name must consist only of printable ASCII characters "
        findings.bad(path, value, f"{why}other than '='")


def inner_path(path: str, value: str, findings: Findings) -> None:
    """Check a relative path that stays below its folder."""
    if value.startswith("/"):
        findings.bad(path, value, "must be a relative path")
    no_backsteps(path, value, findings)


def no_backsteps(path: str, value: str, findings: Findings) -> None:
    """Check that a path does not lead upwards."""
    if ".." in value.split("/"):
        findings.bad(path, value, "must not contain '..'")


def between(path: str, value: Any, least: int, most: int, findings: Findings) -> None:
    """Check a whole number within bounds; None is no number."""
    if value is not None and not least <= value <= most:
        findings.bad(path, value, f"must be between {least} and {most}, inclusive")


def not_negative(path: str, value: Any, findings: Findings) -> None:
    """Check a whole number that may be absent."""
    if value is not None:
        findings.count(path, value)
