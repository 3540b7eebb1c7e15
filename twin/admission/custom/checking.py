"""Values against a structural schema, in the words of a real API server.

A value is looked at once; what is wrong is noted with its path, in an order that does not depend on
the order of its members. Sources: k8s.io/kube-openapi pkg/validation (the sentences), and the answers
of kube-apiserver 1.36 to the rows of twin/tests/custom/cases.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from twin.admission.findings import Findings
from twin.custom.formats import FORMATS
from twin.custom.schema import Node, json_type

_RANGES = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}
_WHOLE = frozenset({"integer", "number"})
_QUIET = re2.Options()
_QUIET.log_errors = False


NEW = object()
"""In place of an earlier value: there was none."""


def check(value: Any, node: Node, findings: Findings, path: str, old: Any = NEW) -> None:
    """Note everything that is wrong with a value, unless it was the same before: what was stored under
    an earlier schema may stay as it is (`CRDValidationRatcheting` of Kubernetes).
    """
    if old is not NEW and value == old:
        return
    if value is None and (node.nullable or not (node.type or node.int_or_string)):
        return
    _check_type(value, node, findings, path)
    source = node.source
    if source.get("enum") is not None and not _among(value, source["enum"]):
        known = ", ".join(_shown(each) for each in source["enum"])
        findings.add(path, f"Unsupported value: {_shown(value)}: supported values: {known}")
    if isinstance(value, str):
        _check_text(value, node, findings, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, node, findings, path)
    elif isinstance(value, list):
        _check_list(value, node, findings, path, old)
    elif isinstance(value, dict):
        _check_object(value, node, findings, path, old if isinstance(old, dict) else {})
    _check_alternatives(value, node, findings, path)


def _check_type(value: Any, node: Node, findings: Findings, path: str) -> None:
    stated = json_type(value)
    allowed = "integer,string" if node.int_or_string else node.type
    if not allowed or stated in allowed.split(",") or (stated in _WHOLE and allowed == "number"):
        return
    findings.bad(path, stated, f'{path} in body must be of type {allowed}: "{stated}"')
    if stated == "number" and allowed == "integer":
        findings.add(
            "<nil>",
            f'Invalid value: "": Checked value must be of type integer (default format) in {path}',
        )


def _check_text(value: str, node: Node, findings: Findings, path: str) -> None:
    source = node.source
    longest, shortest = source.get("maxLength"), source.get("minLength")
    if longest is not None and len(value) > longest:
        findings.add(path, f"Too long: may not be more than {longest} bytes")
        return  # one problem of a text at a time, as a real server
    if shortest is not None and len(value) < shortest:
        findings.bad(path, value, f"{path} in body should be at least {shortest} chars long")
        return
    pattern = source.get("pattern")
    if pattern and not _found(pattern, value):
        findings.bad(path, value, f"{path} in body should match '{pattern}'")
    form = source.get("format")
    if form and node.type == "string":
        known = FORMATS.get(str(form).replace("-", "") if str(form) not in FORMATS else str(form))
        if known is not None and not known(value):
            findings.bad(path, value, f"{path} in body must be of type {form}: {_shown(value)}")


def _found(pattern: str, text: str) -> bool:
    compiled = compiled_pattern(pattern)
    return compiled is None or compiled.search(text) is not None


@lru_cache(maxsize=4_096)
def compiled_pattern(pattern: str) -> re2._Regexp | None:
    """Return a pattern in the syntax of RE2, tried in linear time; None for one that is none."""
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error:
        return None


def _check_number(value: float, node: Node, findings: Findings, path: str) -> None:
    source = node.source
    span = _RANGES.get(str(source.get("format")))
    if span is not None and node.type == "integer" and not span[0] <= value <= span[1]:
        form = source["format"]
        findings.add(
            "<nil>",
            f'Invalid value: "": Checked value must be of type integer with format {form} in {path}',
        )
    factor = source.get("multipleOf")
    if factor and not math.isclose(value / factor, round(value / factor), abs_tol=1e-9):
        findings.bad(
            path, _number(value), f"{path} in body should be a multiple of {_number(factor)}"
        )
    most, least = source.get("maximum"), source.get("minimum")
    if most is not None:
        open_end = source.get("exclusiveMaximum") is True
        if value > most or (open_end and value == most):
            word = "less than" if open_end else "less than or equal to"
            findings.bad(path, _number(value), f"{path} in body should be {word} {_number(most)}")
    if least is not None:
        open_end = source.get("exclusiveMinimum") is True
        if value < least or (open_end and value == least):
            word = "greater than" if open_end else "greater than or equal to"
            findings.bad(path, _number(value), f"{path} in body should be {word} {_number(least)}")


def _check_list(value: list[Any], node: Node, findings: Findings, path: str, old: Any) -> None:
    most, least = node.source.get("maxItems"), node.source.get("minItems")
    if least is not None and len(value) < least:
        findings.bad(path, len(value), f"{path} in body should have at least {least} items")
    if most is not None and len(value) > most:
        findings.add(path, f"Too many: {len(value)}: must have at most {most} items")
    if node.items is None:
        return
    before = items_by_key(old, node)
    for index, each in enumerate(value):
        earlier = before.get(item_key(each, node), NEW) if before else NEW
        check(each, node.items, findings, f"{path}[{index}]", earlier)


def items_by_key(value: Any, node: Node) -> dict[str, Any]:
    """Return the items of a list with keys by their keys; of any other list none can be told apart."""
    if not node.keys or not isinstance(value, list):
        return {}
    return {item_key(each, node): each for each in value}


def item_key(item: Any, node: Node) -> str:
    """Return what tells an item of a list with keys apart."""
    if not isinstance(item, dict):
        return ""
    return _shown([item.get(name) for name in node.keys])


def _check_object(
    value: dict[str, Any], node: Node, findings: Findings, path: str, old: dict[str, Any]
) -> None:
    most, least = node.source.get("maxProperties"), node.source.get("minProperties")
    if least is not None and len(value) < least:
        findings.bad(path, len(value), f"{path} in body should have at least {least} properties")
    if most is not None and len(value) > most:
        findings.add(path, f"Too many: {len(value)}: must have at most {most} items")
    if node.embedded:
        for name in ("apiVersion", "kind"):
            if not value.get(name):
                findings.require(f"{path}.{name}")
    for name in node.source.get("required") or ():
        if name not in value:
            findings.require(f"{path}.{name}" if path else name)
    for name in sorted(value):
        below = node.member(name)
        if below is not None and not (node.root and name == "metadata"):
            inner = f"{path}.{name}" if path else name
            check(value[name], below, findings, inner, old.get(name, NEW))


def _check_alternatives(value: Any, node: Node, findings: Findings, path: str) -> None:
    source = node.source
    if source.get("anyOf"):
        _check_choice(value, source["anyOf"], findings, path, one=False)
    if source.get("oneOf"):
        _check_choice(value, source["oneOf"], findings, path, one=True)
    if source.get("allOf"):
        before = len(findings.causes)
        for each in source["allOf"]:
            check(value, Node(each), findings, path)
        if len(findings.causes) > before:
            findings.add(
                "<nil>", f'Invalid value: "": "{path}" must validate all the schemas (allOf)'
            )
    if source.get("not") is not None and not _problems(value, source["not"], path).causes:
        findings.add("<nil>", f'Invalid value: "": "{path}" must not validate the schema (not)')


def _check_choice(
    value: Any, choices: list[Any], findings: Findings, path: str, *, one: bool
) -> None:
    """Check anyOf or oneOf; where none is met, what is wrong by the first is noted, too."""
    tried = [_problems(value, each, path) for each in choices]
    met = sum(not each.causes for each in tried)
    if met == 1 or (met and not one):
        return
    if not one:
        why = "must validate at least one schema (anyOf)"
    elif met:
        why = f"must validate one and only one schema (oneOf). Found {met} valid alternatives"
    else:
        why = "must validate one and only one schema (oneOf). Found none valid"
    findings.add("<nil>", f'Invalid value: "": "{path}" {why}')
    if not met:
        findings.causes += tried[0].causes


def _problems(value: Any, source: Any, path: str) -> Findings:
    findings = Findings()
    check(value, Node(source), findings, path)
    return findings


def check_lists(value: Any, node: Node, findings: Findings, path: str) -> None:
    """Note items that occur twice in sets and in lists with keys."""
    if isinstance(value, list):
        seen: set[str] = set()
        for index, key in _identities(value, node):
            text = _shown(key)
            if text in seen:
                findings.add(f"{path}[{index}]", f"Duplicate value: {text}")
            seen.add(text)
        if node.items is not None:
            for index, each in enumerate(value):
                check_lists(each, node.items, findings, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name in sorted(value):
            below = node.member(name)
            if below is not None and isinstance(value[name], dict | list):
                check_lists(value[name], below, findings, f"{path}.{name}" if path else name)


def _identities(value: list[Any], node: Node) -> Iterator[tuple[int, Any]]:
    """Yield index and identity of the items of a set or of a list with keys."""
    for index, each in enumerate(value):
        if node.is_set:
            yield index, each
        elif node.keys and isinstance(each, dict):
            yield index, {name: each[name] for name in node.keys if name in each}


def _among(value: Any, allowed: list[Any]) -> bool:
    text = _shown(value)
    return any(text == _shown(each) for each in allowed)


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
