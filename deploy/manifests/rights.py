"""Accounts, roles and bindings of an installation, from the functions that `foresail rbac` prints them with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from deploy.manifests.pieces import HOME, PLAIN_ACCOUNT
from deploy.manifests.tree import Document, Filled, Tree, When
from deploy.manifests.values import KINDS, Chart
from schemas.actions import ActionKind
from services.rights import Right, RightScope
from services.rights.collector import SIMULATED_RIGHTS
from services.rights.executor import read_rights, write_rights
from services.rights.installation import (
    ACCOUNTS,
    Grants,
    account_manifest,
    binding,
    granted_rights,
    role_manifests,
    rules_of,
)

FILE = "rights"
_LABEL = "pool=any"  # which label it is decides the executor, not RBAC
_SETTINGS = Grants(writable_nodes=_LABEL)
EVERY = [ActionKind(word) for word in KINDS]


def documents(chart: Chart) -> list[Document]:
    """Return everything about rights."""
    home = replace(Grants(), home="HOME")
    fixed = granted_rights(home)
    plain_account = account_manifest(PLAIN_ACCOUNT, "HOME")
    made = [_at_home(plain_account)]
    for process in ("collector", "logins"):
        made.append(_at_home(account_manifest(ACCOUNTS[process], "HOME")))
        for place in RightScope:
            rules = rules_of(right for right in fixed[process] if right.place is place)
            made += map(_at_home, role_manifests(ACCOUNTS[process], place, rules, home))
    return [*made, *_executor(chart), _simulated(chart)]


def _executor(chart: Chart) -> list[Document]:
    account, actions = ACCOUNTS["executor"], chart.get("actions")
    reads = _grouped(
        read_rights(_SETTINGS),
        lambda kinds: read_rights(_SETTINGS, kinds),
        chart,
        "or (empty $.Values.actions) ",
        not actions,
    )
    writes = write_rights(EVERY, _SETTINGS)

    def written(kinds: Sequence[ActionKind]) -> tuple[Right, ...]:
        return tuple(replace(right, why="") for right in write_rights(kinds, _SETTINGS))

    by_place = {
        place: _grouped(
            [replace(one, why="") for one in writes if one.place is place],
            written,
            chart,
            "or ",
            False,
        )
        for place in (RightScope.NAMED, RightScope.NODES)
    }
    reading, bound = role_manifests(account, RightScope.CLUSTER, [{}], Grants(home="HOME"))
    named = role_manifests(account, RightScope.NAMED, [{}], Grants(home="HOME"))[0]
    nodes, nodes_bound = role_manifests(account, RightScope.NODES, [{}], Grants(home="HOME"))
    label = chart.get("writableNodes")
    on_nodes = {
        "condition": "and $.Values.actions $.Values.writableNodes",
        "holds": bool(actions and label),
    }
    acting = {"condition": "$.Values.actions", "holds": bool(actions)}

    def bound_in(name: Filled) -> Tree:
        made = binding(f"{account}-write", "ClusterRole", account, "HOME", "NAME")
        made["metadata"]["namespace"] = name
        return _filled_home(made)

    names = tuple(chart.get("namespaces"))
    return [
        _at_home(account_manifest(account, "HOME")),
        Document(FILE, {**reading, "rules": reads}),
        _at_home(bound),
        Document(FILE, {**named, "rules": by_place[RightScope.NAMED]}, **acting),
        Document(FILE, bound_in, each="$.Values.namespaces", names=names, **acting),
        Document(FILE, {**nodes, "rules": by_place[RightScope.NODES]}, **on_nodes),
        Document(FILE, _filled_home(nodes_bound), **on_nodes),
    ]


def _grouped(
    rights: Sequence[Right],
    of_kinds: Callable[[Sequence[ActionKind]], Sequence[Right]],
    chart: Chart,
    otherwise: str,
    always: bool,
) -> list[Tree]:
    """Return rules, each under the condition that a kind is allowed which needs it.

    Args:
        rights: all of them, for every kind.
        of_kinds: the same for some kinds.
        chart: the values at hand.
        otherwise: begins the template's condition.
        always: whether the condition holds without any kind.
    """
    needed = {kind: set(of_kinds([kind])) for kind in EVERY}
    groups: dict[tuple[str, ...], list[Right]] = {}
    for right in rights:
        kinds = tuple(kind.value for kind in EVERY if right in needed[kind])
        groups.setdefault(kinds, []).append(right)
    rules: list[Tree] = []
    for kinds, some in groups.items():
        if len(kinds) == len(EVERY):
            rules += rules_of(some)
            continue
        asked = " ".join(f'(has "{kind}" $.Values.actions)' for kind in kinds)
        holds = always or any(kind in chart.get("actions") for kind in kinds)
        rules.append(When(otherwise + asked, holds, tuple(rules_of(some))))
    return rules


def _simulated(chart: Chart) -> Document:
    """Return what the collector reads of the simulated cluster alone, in one ClusterRole with its binding."""
    account = ACCOUNTS["collector"]
    rules = rules_of(SIMULATED_RIGHTS)
    metrics = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    role, bound = role_manifests(
        account, RightScope.CLUSTER, [*rules, metrics], Grants(home="HOME")
    )
    name = f"{account}-simulated"
    role["metadata"]["name"] = bound["metadata"]["name"] = bound["roleRef"]["name"] = name
    both = _filled_home({"apiVersion": "v1", "kind": "List", "items": [role, bound]})
    return Document(FILE, both, condition="$.Values.simulated", holds=chart.get("simulated"))


def _at_home(manifest: dict[str, Any]) -> Document:
    return Document(FILE, _filled_home(manifest))


def _filled_home(tree: Tree) -> Tree:
    """Return a manifest with the release's namespace in the places that say HOME."""
    if tree == "HOME":
        return HOME
    if isinstance(tree, dict):
        return {key: _filled_home(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_filled_home(value) for value in tree]
    return tree
