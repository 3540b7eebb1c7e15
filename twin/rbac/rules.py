"""PolicyRules, in the form in which Roles hold them: what one allows, and what it covers of others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from twin.rbac.attributes import Attributes
from twin.records import Object

ALL = "*"
_FIELDS = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}
"""Fields in the order and words in which refusals list them."""


def rule_allows(rule: Object, asked: Attributes) -> bool:
    """Say whether a rule allows a request for a resource."""
    names = rule.get("resourceNames")
    return (
        _matches(asked.verb, rule.get("verbs"))
        and _matches(asked.group, rule.get("apiGroups"))
        and any(_names_resource(word, asked) for word in rule.get("resources") or ())
        and (not names or asked.name in names)
    )


def rule_allows_path(rule: Object, verb: str, path: str) -> bool:
    """Say whether a rule allows a request for a path that is no resource."""
    return _matches(verb, rule.get("verbs")) and any(
        _covers_path(word, path) for word in rule.get("nonResourceURLs") or ()
    )


def uncovered_rules(owned: Sequence[Object], rules: Iterable[Object]) -> list[Object]:
    """Return what `rules` allow beyond those that somebody has, merged by their verbs."""
    missing = [
        atom
        for rule in rules
        for atom in _atoms(rule)
        if not any(_covers(own, atom) for own in owned)
    ]
    return _merge_verbs(missing)


def rule_text(rule: Object) -> str:
    """Return a rule as refusals write it."""
    parts = (
        f"{word}:{quoted_list(rule[name])}" for name, word in _FIELDS.items() if rule.get(name)
    )
    return f"{{{', '.join(parts)}}}"


def quoted_list(words: Iterable[str]) -> str:
    """Return words as Go prints a slice of strings."""
    return f"[{' '.join(map(_quoted, words))}]"


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def _matches(word: str, allowed: Any) -> bool:
    return bool(allowed) and (ALL in allowed or word in allowed)


def _names_resource(word: str, asked: Attributes) -> bool:
    if word in (ALL, asked.full_resource):
        return True
    return bool(asked.subresource) and word == f"*/{asked.subresource}"


def _covers_path(word: str, path: str) -> bool:
    return word in (ALL, path) or (word.endswith("*") and path.startswith(word.rstrip("*")))


def _atoms(rule: Object) -> list[Object]:
    """Return the rules of one verb on one thing that a rule stands for."""
    verbs, groups = rule.get("verbs") or (), rule.get("apiGroups") or ()
    resources, names = rule.get("resources") or (), rule.get("resourceNames") or (None,)
    atoms: list[Object] = []
    for group, resource, verb, name in product(groups, resources, verbs, names):
        named = {} if name is None else {"resourceNames": [name]}
        atoms.append({"apiGroups": [group], "resources": [resource], **named, "verbs": [verb]})
    urls = product(rule.get("nonResourceURLs") or (), verbs)
    return atoms + [{"nonResourceURLs": [url], "verbs": [verb]} for url, verb in urls]


def _covers(own: Object, atom: Object) -> bool:
    """Say whether a rule that somebody has allows all of a rule of one verb on one thing."""
    if not _matches(atom["verbs"][0], own.get("verbs")):
        return False
    if "nonResourceURLs" in atom:
        url = atom["nonResourceURLs"][0]
        return any(_covers_path(word, url) for word in own.get("nonResourceURLs") or ())
    resource, _, subresource = atom["resources"][0].partition("/")
    wanted = Attributes("", "", resource, subresource)
    names = own.get("resourceNames")
    return (
        _matches(atom["apiGroups"][0], own.get("apiGroups"))
        and any(_names_resource(word, wanted) for word in own.get("resources") or ())
        and (not names or atom.get("resourceNames", [None])[0] in names)
    )


def _merge_verbs(atoms: list[Object]) -> list[Object]:
    """Return rules of one thing each in order of their text; those for resources with all verbs."""
    merged: dict[str, Object] = {}
    for atom in atoms:
        thing = rule_text(atom if "nonResourceURLs" in atom else {**atom, "verbs": []})
        known = merged.setdefault(thing, {**atom, "verbs": []})
        known["verbs"] += [verb for verb in atom["verbs"] if verb not in known["verbs"]]
    return sorted(merged.values(), key=rule_text)
