"""`x-kubernetes-validations`: rules in CEL, checked when they are defined and evaluated when objects are written.

Source: "Validation rules" in custom-resource-definitions.md of kubernetes/website; the sentences are the answers of
kube-apiserver 1.36 to the rows of twin/tests/contract/rule_cases.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from twin.admission.custom.checking import NEW, item_key, items_by_key
from twin.admission.findings import Findings
from twin.custom.cel import Expression, RuleError, compile_rule, top_to_cel
from twin.custom.json_paths import read_path
from twin.custom.schema import RULES, Node

Rule = Mapping[str, Any]
MOST_RULES = 500
"""Rules of one definition; compiling one takes about 0.1 ms."""
BUDGET = 300_000
"""Units of work that the rules of one write may take: a unit is a value that is shown to a rule or an
iteration of one, some tenths of a microsecond.
"""
LONGEST_MESSAGE = 5 << 10
"""Characters of what a messageExpression says, as on a real server."""
_EACH = 20
_MOST_ITERATIONS = 10_000  # of one evaluation, by the library's own limit
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BLOCKING = ("Unsupported value", "Required value", "Too long", "Too many")
_NOT_CHECKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation"
)
_TOO_DEAR = (
    "Invalid value: null: validation failed due to running out of cost budget, no further validation rules "
    "will be run"
)


class _OutOfBudget(Exception):
    """The rules of a write take too much work."""


def note_blocked(node: Node, findings: Findings) -> bool:
    """Say whether an object has problems with which it cannot be held against rules, and note that."""
    blocked = any(
        sentence.startswith(_BLOCKING) or " in body must be of type " in sentence
        for _, sentence in findings.causes
    )
    if blocked and node.deep_rules:
        findings.add("<nil>", _NOT_CHECKED)
    return blocked


def evaluate(value: Any, node: Node, findings: Findings, old: Any = NEW) -> None:
    """Note every rule that an object breaks; `old` is what it replaces."""
    if not node.deep_rules:
        return
    walk = _Walk(findings)
    try:
        walk.visit(value, node, "", old)
    except _OutOfBudget:
        findings.add("<nil>", _TOO_DEAR)
    except RuleError as error:  # its definition was written where the library of CEL is
        findings.add("<nil>", f"Invalid value: {error}")


class _Walk:
    """One walk over an object and its schema."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._left = BUDGET

    def visit(self, value: Any, node: Node, path: str, old: Any) -> None:
        """Evaluate the rules of a value, then those below it."""
        if value is None or not node.deep_rules:
            return
        for rule, expression, message in _programs(node):
            if expression.transition:
                if old is NEW and not rule.get("optionalOldSelf"):
                    continue
            elif old is not NEW and value == old:
                continue  # what did not change may stay as it is
            self._apply(rule, expression, message, (value, old), node, path)
        if isinstance(value, list) and node.items is not None:
            before = items_by_key(old, node)
            for index, each in enumerate(value):
                earlier = before.get(item_key(each, node), NEW) if before else NEW
                self.visit(each, node.items, f"{path}[{index}]", earlier)
        elif isinstance(value, dict):
            self._visit_members(value, node, path, old if isinstance(old, dict) else {})

    def _visit_members(self, value: Any, node: Node, path: str, old: Any) -> None:
        for name in sorted(value):
            below = node.member(name)
            if below is None or (node.root and name == "metadata"):
                continue
            named = f"{path}.{name}" if path else name
            inner = named if name in node.properties else f"{path}[{name}]"
            self.visit(value[name], below, inner, old.get(name, NEW))

    def _apply(
        self,
        rule: Rule,
        expression: Expression,
        message: Expression | None,
        values: tuple[Any, Any],
        node: Node,
        path: str,
    ) -> None:
        value, old = values
        size = _size(value)
        self._left -= _EACH + size
        if expression.depth:
            self._left -= int(min(_MOST_ITERATIONS, float(size) ** min(expression.depth, 4)))
        if self._left < 0:
            raise _OutOfBudget
        said = rule.get("message") or rule["rule"]
        optional = bool(rule.get("optionalOldSelf"))
        try:
            shown = top_to_cel(value, node)
            earlier = None if old is NEW or old is None else top_to_cel(old, node)
            met = expression.evaluate(shown, earlier, optional=optional)
        except (RuleError, ValueError) as error:
            why = f'Invalid value: "{node.type}": {error} evaluating rule: {said}'
            self._findings.add(path or "<nil>", why)
            return
        if met is True:
            return
        text = rule.get("message") or f"failed rule: {rule['rule']}"
        if message is not None:
            text = _message(message, shown, earlier, optional=optional) or text
        self._findings.add(_place(path, rule) or "<nil>", _sentence(rule, value, text))


def _programs(node: Node) -> list[tuple[Rule, Expression, Expression | None]]:
    """Return the rules of a node, compiled once."""
    known: list[tuple[Rule, Expression, Expression | None]] | None = node.__dict__.get("programs")
    if known is None:
        known = []
        for rule in node.rules:
            optional, said = bool(rule.get("optionalOldSelf")), rule.get("messageExpression")
            message = compile_rule(said, node, optional=optional) if said else None
            known.append((rule, compile_rule(rule["rule"], node, optional=optional), message))
        node.__dict__["programs"] = known
    return known


def _message(expression: Expression, value: Any, old: Any, *, optional: bool) -> str:
    """Return what a messageExpression says; empty where it says nothing that can be used."""
    try:
        text = expression.evaluate(value, old, optional=optional)
    except RuleError:
        return ""
    usable = isinstance(text, str) and len(text) <= LONGEST_MESSAGE and "\n" not in text
    return text.strip() if usable else ""


def _sentence(rule: Rule, value: Any, text: str) -> str:
    shown = "" if isinstance(value, dict | list) else f"{json.dumps(value, ensure_ascii=False)}"
    match rule.get("reason"):
        case "FieldValueForbidden":
            return f"Forbidden: {text}"
        case "FieldValueRequired":
            return f"Required value: {text}"
        case "FieldValueDuplicate":
            return f"Duplicate value: {shown}" if shown else "Duplicate value"
    return f"Invalid value: {shown}: {text}" if shown else f"Invalid value: {text}"


def _place(path: str, rule: Rule) -> str:
    """Return the field that a broken rule is about."""
    below = re.sub(r"\['([^']*)'\]", r"[\1]", rule.get("fieldPath") or "")
    return f"{path}{below}" if path else below.lstrip(".")


def _size(value: Any) -> int:
    if isinstance(value, dict | list):
        size = 1
        for each in value.values() if isinstance(value, dict) else value:
            size += _size(each)
        return size
    return 1 + len(value) // 50 if isinstance(value, str) else 1


# ---- the rules themselves


def check_rules(node: Node, findings: Findings, path: str) -> None:
    """Note what is wrong with the rules of a structural schema."""
    count = _count(node)
    if count > MOST_RULES:
        findings.add(path, f"Too many: {count}: must have at most {MOST_RULES} items")
    elif count:
        _check_below(node, findings, path, "")


def _count(node: Node) -> int:
    if not node.deep_rules:
        return 0
    count = len(node.rules)
    for below in (node.items, node.additional, *node.properties.values()):
        count += 0 if below is None else _count(below)
    return count


def _check_below(node: Node, findings: Findings, path: str, loose: str) -> None:
    """Check the rules at a place and below; `loose` names the list whose items have no earlier value."""
    if not node.deep_rules:
        return
    for index, rule in enumerate(node.rules):
        _check_rule(rule, node, findings, f"{path}.{RULES}[{index}]", loose)
    for name, below in node.properties.items():
        _check_below(below, findings, f"{path}.properties[{name}]", loose)
    if node.additional is not None:
        _check_below(node.additional, findings, f"{path}.additionalProperties", loose)
    if node.items is not None:
        inside = loose or ("" if node.keys else path)
        _check_below(node.items, findings, f"{path}.items", inside)


def _check_rule(rule: Any, node: Node, findings: Findings, path: str, loose: str) -> None:
    text = rule.get("rule") if isinstance(rule, dict) else None
    if not isinstance(text, str) or not text.strip():
        findings.add(f"{path}.rule", "Required value: rule is not specified")
        return
    _check_words(rule, node, findings, path)
    optional = rule.get("optionalOldSelf") is True
    try:
        expression = compile_rule(text, node, optional=optional)
    except RuleError as error:
        findings.add(f"{path}.rule", f"Invalid value: {_shown(rule)}: {error}")
        return
    if expression.returns not in ("BOOL", "DYN"):
        why = "cel expression must evaluate to a bool"
        findings.add(f"{path}.rule", f"Invalid value: {_shown(rule)}: {why}")
    if expression.transition and loose:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {loose}"
        findings.bad(f"{path}.rule", text, why)
    if rule.get("messageExpression"):
        _check_message(rule, node, findings, f"{path}.messageExpression", optional=optional)


def _check_message(
    rule: Rule, node: Node, findings: Findings, path: str, *, optional: bool
) -> None:
    try:
        message = compile_rule(rule["messageExpression"], node, optional=optional)
    except RuleError as error:
        findings.add(path, f"Invalid value: {_shown(rule)}: messageExpression {error}")
        return
    if message.returns not in ("STRING", "DYN"):
        why = "messageExpression must evaluate to a string"
        findings.add(path, f"Invalid value: {_shown(rule)}: {why}")


def _check_words(rule: Rule, node: Node, findings: Findings, path: str) -> None:
    message, reason, field = rule.get("message"), rule.get("reason"), rule.get("fieldPath")
    if message and "\n" in message:
        why = "must not contain line breaks"
        findings.add(f"{path}.message", f"Invalid value: {json.dumps(message)}: {why}")
    if reason is not None and reason not in _REASONS:
        known = ", ".join(f'"{each}"' for each in _REASONS)
        findings.add(f"{path}.reason", f'Unsupported value: "{reason}": supported values: {known}')
    if field and not _is_member(field, node):
        findings.bad(f"{path}.fieldPath", field, "must be a valid path")


def _is_member(field: str, node: Node) -> bool:
    try:
        read_path(field)
    except ValueError:
        return False
    place: Node | None = node
    for quoted, name in re.findall(r"\['([^']*)'\]|\.([^.\[]+)", field):
        place = None if place is None else place.member(quoted or name)
    return place is not None


def _shown(rule: Rule) -> str:
    """Return a rule as a real server shows it."""
    names = (("Rule", "rule", ""), ("Message", "message", ""), ("MessageExpression", "messageExpression", ""),
             ("Reason", "reason", None), ("FieldPath", "fieldPath", ""),
             ("OptionalOldSelf", "optionalOldSelf", None))  # fmt: skip
    text = json.dumps(
        {shown: rule.get(name, absent) for shown, name, absent in names},
        separators=(",", ":"),
        ensure_ascii=False,
    )
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
