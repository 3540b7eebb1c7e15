"""`foresail rbac` prints manifests that kubectl takes, and `foresail doctor` proves the rights one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from foresail.__main__ import main
from services.rights.installation import manifests
from tests.install.conftest import GRANTS, Installed

OUTSIDE = pytest.mark.twin


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """Return the manifests that the verb prints."""
    assert main(["rbac", *words]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def bound(objects: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return each binding's role with its namespace; empty: everywhere."""
    return {
        (one["roleRef"]["name"], one["metadata"].get("namespace", ""))
        for one in objects
        if one["kind"].endswith("Binding")
    }


def test_shadow_mode_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without kinds of action, collector and executor may only read; no account has its token in every pod."""
    objects = printed(capsys)
    verbs = {
        verb
        for one in objects
        if one["kind"] == "ClusterRole"
        for rule in one["rules"]
        for verb in rule["verbs"]
    }
    assert verbs == {"get", "list", "watch"}
    assert bound(objects) == {
        ("foresail-collector", ""),
        ("foresail-executor", ""),
        ("foresail-logins", "foresail"),
    }
    accounts = [one for one in objects if one["kind"] == "ServiceAccount"]
    assert [one["automountServiceAccountToken"] for one in accounts] == [False] * 3


def test_writes_are_bound_in_each_named_namespace_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """One role of writes, a RoleBinding in each namespace, and nodes only with their label."""
    words = (
        "--actions",
        "replicate,migrate",
        "--namespaces",
        "shop,batch",
        "--process",
        "executor",
    )
    objects = printed(capsys, *words)
    assert bound(objects) == {
        ("foresail-executor", ""),
        ("foresail-executor-write", "shop"),
        ("foresail-executor-write", "batch"),
    }
    with_nodes = printed(capsys, *words, "--writable-nodes", "pool=shop")
    assert ("foresail-executor-nodes", "") in bound(with_nodes)
    (role,) = [one for one in objects if one["metadata"]["name"] == "foresail-executor-write"][:1]
    resources = {resource for rule in role["rules"] for resource in rule["resources"]}
    assert resources == {
        *("pods/eviction", "deployments", "deployments/scale", "horizontalpodautoscalers"),
    }


def test_each_right_has_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON: one row for each right, with what needs it and where it holds."""
    assert main(["rbac", "--actions", "admission", "--namespaces", "shop", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["process"] for row in rows} == {"collector", "executor", "logins"}
    assert all(row["why"] for row in rows)
    assert {row["right"]: row["place"] for row in rows}["patch jobs.batch"] == "named"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--actions", "dance"], "--actions = dance: give some of migrate, "),
        (["--actions", "replicate"], "--namespaces = (none): name where these actions may write"),
        (["--actions", "dvfs"], "--actions = dvfs: it writes nodes; name them, such as --writable"),
        (["--namespaces", "shop,"], "--namespaces = (empty): give exact names, such as shop"),
        (["--install-namespace", "A"], "--install-namespace = A: give exact names"),
        (["--writable-nodes", "pool"], "--writable-nodes = pool: give a label, such as pool=shop"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with flag, value and remedy, and exit code 2."""
    assert main(["rbac", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert line in said.err


@OUTSIDE
def test_doctor_proves_each_right(installed: Installed, capsys: pytest.CaptureFixture[str]) -> None:
    """As the executor's account: all of its own, none missing; without one, that one is named."""
    (role,) = [
        one for one in manifests(GRANTS) if one["metadata"]["name"] == "foresail-executor-write"
    ][:1]
    (evict,) = [rule for rule in role["rules"] if "pods/eviction" in rule["resources"]]
    given = ["doctor", "--kubeconfig", str(installed.kubeconfig("executor"))]

    def found(process: str, *words: str) -> dict[str, Any]:
        main([*given, *words, "--json"])
        findings = json.loads(capsys.readouterr().out)
        return next(one for one in findings if one["check"] == f"rights of {process}")

    assert found("executor")["ok"]
    assert found("executor", "--namespaces", "shop")["found"].startswith("all ")
    collector = found("collector")
    assert not collector["ok"]
    assert "lacks watch nodes, watch pods" in collector["found"]
    installed.set_rules(role, [rule for rule in role["rules"] if rule is not evict])
    try:
        lacking = found("executor", "--namespaces", "shop")
    finally:
        installed.set_rules(role, role["rules"])
    assert (lacking["ok"], lacking["found"]) == (False, "lacks create pods/eviction in shop")
    assert "foresail rbac" in lacking["remedy"]
