"""Rules in CEL as a table: what a server says about values and about the rules. The rows are our own; the
contract suite plays them on both clusters.
"""

from __future__ import annotations

from typing import Any

from twin.tests.contract.custom import Schema, object_of

WHOLE: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string", "maxLength": 60}
NUMBERS: Schema = {"type": "array", "maxItems": 5, "items": WHOLE}
PAIR: Schema = object_of(low=WHOLE, high=WHOLE)


def ruled(schema: Schema, *rules: str | dict[str, Any]) -> Schema:
    """Return a schema with rules."""
    whole = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": whole}


def _refusal(name: str, rule: str, shown: str = "") -> list[tuple[str, str]]:
    return [(f"spec.{name}", f"Invalid value: {shown}{': ' if shown else ''}failed rule: {rule}")]


_ORDER = "self.low <= self.high"
_SEARCH = "self.find('[0-9]+') == '12' && self.findAll('[0-9]+') == ['12', '3'] && self.findAll('[0-9]+', 1) == ['12']"
_SUMS = "self.isSorted() && self.sum() == 6 && self.min() == 1 && self.max() == 3 && self.indexOf(2) == 1"
_ESCAPED = "self.a__dash__b > 0 && self.__namespace__ == 'n' && self.x__dot__y > 0 && self.u__underscores__v > 0"
_AMOUNT = "isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))"
_LINK = (
    "isURL(self) && url(self).getHostname() == 'a.b' && url(self).getPort() == '80' && "
    "url(self).getQuery()['k'] == ['v']"
)
_ADDRESS = "isIP(self) && ip(self).family() == 4 && !ip(self).isLoopback() && ip.isCanonical(self)"
_NETWORK = "isCIDR(self) && cidr(self).containsIP('10.0.0.1') && cidr(self).prefixLength() == 8"
_VERSION = (
    "isSemver(self) && semver(self).isGreaterThan(semver('1.0.0')) && semver(self).major() == 1"
)
_SETS = "sets.contains(self, [1]) && sets.intersects(self, [1, 7]) && !sets.equivalent(self, [1])"
_EITHER = "type(self) == int ? self > 1 : self == 'x'"
_KEYS = "'a' in self && self['a'] == 1 && self.all(k, k != 'z')"
_UNKNOWN = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation"
)
_BRANDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
_LOOPS = "self.all(x, x > 0) && self.exists(x, x == 2) && self.exists_one(x, x == 3)"
_FORBIDDEN = {
    "rule": _ORDER,
    "fieldPath": ".high",
    "reason": "FieldValueForbidden",
    "message": "no",
}
_COMPUTED = {"rule": "self != 'a'", "messageExpression": "'not ' + self"}

Row = tuple[str, Schema, list[Any], list[tuple[Any, list[tuple[str, str]]]]]
RULES: list[Row] = [
    ("plain", ruled(WHOLE, "self > 1"), [2],
     [(0, _refusal("plain", "self > 1", "0")),
      ("x", [("spec.plain", 'Invalid value: "string": spec.plain in body must be of type integer: "string"'),
             ("<nil>", _UNKNOWN)])]),
    ("bounded", ruled({**WHOLE, "minimum": 1}, "self > 1"), [2],
     [(0, [("spec.bounded", "Invalid value: 0: spec.bounded in body should be greater than or equal to 1"),
           *_refusal("bounded", "self > 1", "0")])]),
    ("said", ruled(WHOLE, {"rule": "self > 1", "message": "too small"}), [],
     [(0, [("spec.said", "Invalid value: 0: too small")])]),
    ("several", ruled(WHOLE, "self > 1", {"rule": "self != 0", "message": "zero"}), [2],
     [(0, [*_refusal("several", "self > 1", "0"), ("spec.several", "Invalid value: 0: zero")])]),
    ("computed", ruled({**TEXT, "maxLength": 9}, _COMPUTED), ["b"],
     [("a", [("spec.computed", 'Invalid value: "a": not a')])]),
    ("mute", ruled(WHOLE, {"rule": "self > 1", "messageExpression": "''"}), [],
     [(0, _refusal("mute", "self > 1", "0"))]),
    ("pair", ruled(PAIR, _ORDER), [{"low": 1, "high": 2}],
     [({"low": 2, "high": 1}, _refusal("pair", _ORDER)),
      ({"low": 2}, [("spec.pair", f'Invalid value: "object": no such key: high evaluating rule: {_ORDER}')])]),
    ("placed", ruled(PAIR, _FORBIDDEN), [],
     [({"low": 2, "high": 1}, [("spec.placed.high", "Forbidden: no")])]),
    ("missing", ruled(PAIR, {"rule": _ORDER, "reason": "FieldValueRequired", "message": "no"}), [],
     [({"low": 2, "high": 1}, [("spec.missing", "Required value: no")])]),
    ("twice", ruled(PAIR, {"rule": _ORDER, "reason": "FieldValueDuplicate", "message": "no"}), [],
     [({"low": 2, "high": 1}, [("spec.twice", "Duplicate value")])]),
    ("optional", ruled(PAIR, "!has(self.low) || self.?high.orValue(9) > self.low"), [{}, {"low": 1}],
     [({"low": 9}, _refusal("optional", "!has(self.low) || self.?high.orValue(9) > self.low"))]),
    ("rows", {**NUMBERS, "items": ruled(WHOLE, "self > 1")}, [[2]],
     [([1, 2, 0], [*_refusal("rows[0]", "self > 1", "1"), *_refusal("rows[2]", "self > 1", "0")])]),
    ("named", {"type": "object", "maxProperties": 5, "additionalProperties": ruled(WHOLE, "self > 1")}, [{"k": 2}],
     [({"k": 1}, _refusal("named[k]", "self > 1", "1"))]),
    ("keys", ruled({"type": "object", "maxProperties": 5, "additionalProperties": WHOLE}, _KEYS), [{"a": 1}],
     [({"b": 1}, _refusal("keys", _KEYS))]),
    ("escaped", ruled({"type": "object", "properties": {"a-b": WHOLE, "namespace": TEXT, "x.y": WHOLE, "u__v": WHOLE}},
                      _ESCAPED), [{"a-b": 1, "namespace": "n", "x.y": 1, "u__v": 1}],
     [({"a-b": 0, "namespace": "n", "x.y": 1, "u__v": 1}, _refusal("escaped", _ESCAPED))]),
    ("either", ruled({"x-kubernetes-int-or-string": True}, _EITHER), [2, "x"],
     [(0, _refusal("either", _EITHER, "0")), ("y", _refusal("either", _EITHER, '"y"'))]),
    ("loops", ruled(NUMBERS, _LOOPS), [[2, 3]], []),
    ("made", ruled(NUMBERS, "self.map(x, x * 2).filter(x, x > 2).size() == 1"), [[1, 2]], []),
    ("amount", ruled(TEXT, _AMOUNT), ["2Gi"],
     [("1", _refusal("amount", _AMOUNT, '"1"')), ("zz", _refusal("amount", _AMOUNT, '"zz"'))]),
    ("link", ruled(TEXT, _LINK), ["https://a.b:80/x?k=v"], [("zz", _refusal("link", _LINK, '"zz"'))]),
    ("address", ruled(TEXT, _ADDRESS), ["10.0.0.1"], [("127.0.0.1", _refusal("address", _ADDRESS, '"127.0.0.1"'))]),
    ("network", ruled(TEXT, _NETWORK), ["10.0.0.0/8"], [("x", _refusal("network", _NETWORK, '"x"'))]),
    ("release", ruled(TEXT, _VERSION), ["1.2.3"], [("x", _refusal("release", _VERSION, '"x"'))]),
    ("sums", ruled(NUMBERS, _SUMS), [[1, 2, 3]], [([3], _refusal("sums", _SUMS))]),
    ("search", ruled(TEXT, _SEARCH), ["a12b3"], [("z", _refusal("search", _SEARCH, '"z"'))]),
    ("sets", ruled(NUMBERS, _SETS), [[1, 2]], [([2], _refusal("sets", _SETS))]),
    ("time", ruled({"type": "string", "format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"),
     ["2021-01-01T00:00:00Z"],
     [("2019-01-01T00:00:00Z",
       _refusal("time", "self > timestamp('2020-01-01T00:00:00Z')", '"2019-01-01T00:00:00Z"'))]),
    ("span", ruled({"type": "string", "format": "duration"}, "self < duration('1h')"), ["5m"],
     [("2h", _refusal("span", "self < duration('1h')", '"2h"'))]),
    ("raw", ruled({"type": "string", "format": "byte"}, "size(self) == 2"), ["aGk="], []),
    ("share", ruled({"type": "number"}, "self > 0.5"), [1, 0.75], [(0, _refusal("share", "self > 0.5", "0"))]),
    ("template", ruled(_BRANDED, "self.metadata.name == 'x' && self.kind == 'Pod'"),
     [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}], []),
    ("begun", ruled(TEXT, {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": True}), ["new"],
     [("other", _refusal("begun", "oldSelf.hasValue() || self == 'new'", '"other"'))]),
    ("fixed", ruled(TEXT, "self == oldSelf"), ["a", "b"], []),
]  # fmt: skip
"""A member of the spec, its schema, values that keep its rules, and values that break them."""

CHANGES: list[tuple[str, Schema, Any, Any, list[tuple[str, str]]]] = [
    ("fixed", ruled(TEXT, {"rule": "self == oldSelf", "message": "immutable"}), "a", "b",
     [("spec.fixed", 'Invalid value: "b": immutable')]),
    ("grows", ruled(WHOLE, "self >= oldSelf"), 3, 2, _refusal("grows", "self >= oldSelf", "2")),
    ("grows", ruled(WHOLE, "self >= oldSelf"), 3, 4, []),
    ("begun", ruled(TEXT, {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": True}), "new", "z", []),
    ("rows", {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
              "items": {**ruled(object_of(k=TEXT, v=WHOLE), {"rule": "self.v >= oldSelf.v", "message": "grow"}),
                        "required": ["k"]}},
     [{"k": "a", "v": 2}, {"k": "b", "v": 2}], [{"k": "c", "v": 0}, {"k": "b", "v": 1}],
     [("spec.rows[1]", "Invalid value: grow")]),
]  # fmt: skip
"""A member of the spec, its schema, a value, a later one, and how the change is refused (empty: it is not)."""

_OVERLOAD = (
    "compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(int, string)'\n"
    " | self == 'a'\n | .....^"
)
_REASONS = (
    'Unsupported value: "Mood": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
    '"FieldValueInvalid", "FieldValueRequired"'
)
_UNDECLARED = (
    "messageExpression compilation failed: ERROR: <input>:1:7: undeclared reference to 'it'"
)
_LOOSE = (
    'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within '
    "spec.validation.openAPIV3Schema.properties[spec].properties[a]"
)
_AT = "spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0]"
WRONG: list[tuple[str, Schema, str, str]] = [
    ("half a rule", ruled(WHOLE, "self >"), f"{_AT}.rule", "Syntax error: mismatched input '<EOF>'"),
    ("another type", ruled(WHOLE, "self == 'a'"), f"{_AT}.rule",
     _OVERLOAD),
    ("no such member", ruled(PAIR, "self.middle > 1"), f"{_AT}.rule",
     "compilation failed: ERROR: <input>:1:5: undefined field 'middle'\n | self.middle > 1\n | ....^"),
    ("no such name", ruled(WHOLE, "it > 1"), f"{_AT}.rule", "undeclared reference to 'it'"),
    ("no truth", ruled(WHOLE, "self + 1"), f"{_AT}.rule", "cel expression must evaluate to a bool"),
    ("nothing", ruled(WHOLE, ""), f"{_AT}.rule", "Required value: rule is not specified"),
    ("two lines", ruled(WHOLE, {"rule": "self > 1", "message": "a\nb"}), f"{_AT}.message",
     r'Invalid value: "a\nb": must not contain line breaks'),
    ("reason", ruled(WHOLE, {"rule": "self > 1", "reason": "Mood"}), f"{_AT}.reason",
     _REASONS),
    ("place", ruled(PAIR, {"rule": _ORDER, "fieldPath": ".middle"}), f"{_AT}.fieldPath",
     'Invalid value: ".middle": must be a valid path'),
    ("message of a number", ruled(WHOLE, {"rule": "self > 1", "messageExpression": "1"}),
     f"{_AT}.messageExpression", "messageExpression must evaluate to a string"),
    ("message of nothing known", ruled(WHOLE, {"rule": "self > 1", "messageExpression": "'a' + it"}),
     f"{_AT}.messageExpression", _UNDECLARED),
    ("past of a list's items", {"type": "array", "items": ruled(WHOLE, "self == oldSelf")},
     _AT.replace(".x-", ".items.x-") + ".rule",
     _LOOSE),
]  # fmt: skip
"""What, the schema of one member, and the field and a part of the sentence of the refusal."""
