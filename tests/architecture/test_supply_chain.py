"""Every locked package has a licence that may be used, is in the bill of materials, and is audited."""

from __future__ import annotations

import json

import pytest

from deploy import audit
from deploy.locked import ALLOWED, EXCEPTIONS, LOCK, is_allowed, licence_of, read_lock
from deploy.sbom import bill

LOCKED = read_lock(LOCK.read_text(encoding="utf-8"))


def test_every_locked_package_has_an_allowed_licence() -> None:
    """A new dependency whose licence is unknown or not on the list is noticed before it is shipped."""
    refused = {
        one.name: licence_of(one.name) for one in LOCKED if not is_allowed(licence_of(one.name))
    }

    assert set(refused) == set(EXCEPTIONS), refused


def test_an_exception_is_installed_nowhere_usual() -> None:
    """What is borne without an allowed licence is not on x86-64, nor on arm64."""
    markers = {one.name: one.marker for one in LOCKED}
    for name in EXCEPTIONS:
        assert "platform_machine != 'x86_64'" in markers[name]
        assert "platform_machine != 'aarch64'" in markers[name]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)", True),
        ("(MIT", False),
        ("MIT)", False),
        ("", False),
    ],
)
def test_an_expression_is_met_by_allowed_licences_alone(expression: str, allowed: bool) -> None:
    """OR leaves a choice, AND does not; what cannot be read is not allowed."""
    assert allowed is is_allowed(expression)
    assert "GPL-3.0-only" not in ALLOWED


def test_the_bill_names_every_package_of_the_lock() -> None:
    """Each has version, purl, licence and the hashes of its files, and the same lock makes the same bill."""
    text = LOCK.read_text(encoding="utf-8")
    made = bill(text)
    components = {component["name"]: component for component in made["components"]}

    assert json.dumps(made) == json.dumps(bill(text))
    assert made["serialNumber"] != bill(text.replace("sha256:0", "sha256:1", 1))["serialNumber"]
    assert ("CycloneDX", "1.6") == (made["bomFormat"], made["specVersion"])
    assert len(components) == len(LOCKED) > 50
    for one in LOCKED:
        component = components[one.name]
        (files,) = component["externalReferences"]
        assert component["purl"] == f"pkg:pypi/{one.name}@{one.version}"
        assert component["licenses"], one.name
        assert list(one.sha256) == [value["content"] for value in files["hashes"]]
        assert one.sha256


def asked(**vulnerable: str) -> str:
    """Return what pip-audit prints for two packages and the control."""
    bugs = {"a": "", "b": "", audit.CONTROL: "GHSA-1", **vulnerable}
    rows = [
        {"name": name, "version": "1", "vulns": [{"id": bug}] if bug else []}
        for name, bug in bugs.items()
    ]
    return json.dumps({"dependencies": rows, "fixes": []})


@pytest.mark.parametrize(
    ("printed", "code", "told"),
    [
        (asked(), audit.CLEAN, "2 packages"),
        (asked(b="PYSEC-1"), audit.VULNERABLE, "b 1: PYSEC-1"),
        ("", audit.NOT_ASKED, "connection refused"),
        ('{"dependencies": []}', audit.NOT_ASKED, "2 packages: a, b"),
        (
            asked().replace('"version": "1"', '"skip_reason": "no"', 1),
            audit.NOT_ASKED,
            "1 packages: a",
        ),
        (asked(django=""), audit.NOT_ASKED, "knows no advisory about django"),
    ],
)
def test_what_was_not_asked_is_not_clean(printed: str, code: int, told: str) -> None:
    """Only an answer about every package counts; no answer has an exit code of its own."""
    got, line = audit.verdict({"a", "b"}, printed, "trace\nconnection refused\n")

    assert (code, True) == (got, told in line), line


def test_the_audit_asks_about_what_is_installed_here() -> None:
    """Packages of other machines are left out, and only those."""
    names = audit.installed_packages(LOCK.read_text(encoding="utf-8"))

    assert {one.name for one in LOCKED if not one.marker} <= names
    assert not {*EXCEPTIONS, audit.CONTROL} & names
