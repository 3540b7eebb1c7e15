"""Schemas and values as tables: what a server says about each. The rows are our own; the expected words
were checked against kube-apiserver 1.36 by the contract suite itself, which runs them against both.
"""

from __future__ import annotations

from typing import Any

from twin.tests.contract.custom import Schema, object_of

_KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": {"type": "string"},
        },
    },
}
_EITHER = object_of(a={"type": "string"}, b={"type": "string"})

VALUES: Schema = object_of(
    text={"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
    choice={"type": "string", "enum": ["Slow", "Fast"]},
    whole={"type": "integer", "minimum": 1, "maximum": 9},
    between={"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True},
    even={"type": "integer", "multipleOf": 2},
    small={"type": "integer", "format": "int32"},
    flag={"type": "boolean"},
    rows={"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
    unique={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    ports=_KEYED,
    amounts={"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
    defaulted={
        "type": "object",
        "default": {},
        "properties": {"mode": {"type": "string", "default": "auto"},
                       "inner": object_of(level={"type": "integer", "default": 3})},
    },
    maybe={"type": "string", "nullable": True},
    filled={"type": "string", "default": "x"},
    maybe_filled={"type": "string", "default": "x", "nullable": True},
    open={"type": "object", "x-kubernetes-preserve-unknown-fields": True,
          "properties": {"closed": object_of(known={"type": "string"})}},
    share={"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%$"},
    template={"type": "object", "x-kubernetes-embedded-resource": True,
              "x-kubernetes-preserve-unknown-fields": True},
    shaped={"type": "object", "x-kubernetes-embedded-resource": True,
            "properties": {"spec": object_of(size={"type": "integer"})}},
    time={"type": "string", "format": "date-time"}, day={"type": "string", "format": "date"},
    span={"type": "string", "format": "duration"}, four={"type": "string", "format": "ipv4"},
    six={"type": "string", "format": "ipv6"}, net={"type": "string", "format": "cidr"},
    mail={"type": "string", "format": "email"}, id={"type": "string", "format": "uuid"},
    link={"type": "string", "format": "uri"}, raw={"type": "string", "format": "byte"},
    host={"type": "string", "format": "hostname"}, unheard={"type": "string", "format": "colour"},
    one={**_EITHER, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    any={**_EITHER, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    every={**_EITHER, "allOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 2}}}]},
    never={**_EITHER, "not": {"required": ["a"]}},
    needed={"type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "string"}, "b": {**object_of(c={"type": "string"}), "required": ["c"]}}},
)  # fmt: skip
"""The schema of `spec` that the values below are tried on."""

_NOTHING = {"defaulted": {"mode": "auto"}, "filled": "x", "maybe_filled": "x"}
"""What an empty spec becomes."""

KEPT: list[tuple[str, Any, Any]] = [
    ("text", "abc", "abc"),
    ("text", None, ...),
    ("choice", "Fast", "Fast"),
    ("whole", 3, 3),
    ("whole", 3.0, 3),
    ("between", 0.5, 0.5),
    ("even", 4, 4),
    ("flag", False, False),
    ("rows", [1, 2], [1, 2]),
    ("unique", ["a", "b"], ["a", "b"]),
    ("ports", [{"port": 1}], [{"port": 1, "protocol": "TCP"}]),
    ("ports", [{"port": 1}, {"port": 1, "protocol": "UDP"}],
     [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}]),
    ("amounts", {"a": 1}, {"a": 1}),
    ("defaulted", {"inner": {}}, {"mode": "auto", "inner": {"level": 3}}),
    ("defaulted", None, {"mode": "auto"}),
    ("defaulted", {"mode": None}, {"mode": "auto"}),
    ("maybe", None, None),
    ("filled", None, "x"),
    ("maybe_filled", None, None),
    ("unknown", 1, ...),
    ("open", {"own": [1, {"x": None}], "closed": {"known": "a", "other": 1}},
     {"own": [1, {"x": None}], "closed": {"known": "a"}}),
    ("share", 5, 5),
    ("share", "50%", "50%"),
    ("template", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "odd": 1}, "more": 1},
     {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "more": 1}),
    ("shaped", {"apiVersion": "v1", "kind": "Pod", "spec": {"size": 1, "odd": 2}, "more": 1},
     {"apiVersion": "v1", "kind": "Pod", "spec": {"size": 1}}),
    ("time", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ("time", "2026-01-01T00:00:00.5+02:00", "2026-01-01T00:00:00.5+02:00"),
    ("day", "2026-02-28", "2026-02-28"),
    ("span", "1h30m", "1h30m"),
    ("span", "2 days", "2 days"),
    ("four", "10.0.0.1", "10.0.0.1"),
    ("six", "::1", "::1"),
    ("net", "10.0.0.0/8", "10.0.0.0/8"),
    ("mail", "a@example.com", "a@example.com"),
    ("id", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
    ("link", "https://example.com/a", "https://example.com/a"),
    ("raw", "aGk=", "aGk="),
    ("host", "a.example.com", "a.example.com"),
    ("unheard", "of", "of"),
    ("one", {"a": "x"}, {"a": "x"}),
    ("any", {"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
    ("every", {"a": "xy"}, {"a": "xy"}),
    ("never", {"b": "x"}, {"b": "x"}),
    ("needed", {"a": "x", "b": {"c": "y"}}, {"a": "x", "b": {"c": "y"}}),
]  # fmt: skip
"""A member of the spec, what is sent, and what is stored (`...`: nothing)."""


_CHECKED = 'Invalid value: "": Checked value must be of type integer'


def _type(name: str, expected: str, stated: str) -> tuple[str, str]:
    return (
        f"spec.{name}",
        f'Invalid value: "{stated}": spec.{name} in body must be of type {expected}: "{stated}"',
    )


def _body(name: str, shown: str, why: str) -> tuple[str, str]:
    return f"spec.{name}", f"Invalid value: {shown}: spec.{name} in body {why}"


def _choice(name: str, why: str) -> tuple[str, str]:
    return "<nil>", f'Invalid value: "": "spec.{name}" must {why}'


REFUSED: list[tuple[str, Any, list[tuple[str, str]]]] = [
    ("text", "a", [_body("text", '"a"', "should be at least 2 chars long")]),
    ("text", "abcde", [("spec.text", "Too long: may not be more than 4 bytes")]),
    ("text", "ABC", [_body("text", '"ABC"', "should match '^[a-z]+$'")]),
    ("text", 1, [_type("text", "string", "integer")]),
    ("choice", "Odd", [("spec.choice", 'Unsupported value: "Odd": supported values: "Slow", "Fast"')]),
    ("choice", 1, [_type("choice", "string", "integer"),
                   ("spec.choice", 'Unsupported value: 1: supported values: "Slow", "Fast"')]),
    ("whole", 0, [_body("whole", "0", "should be greater than or equal to 1")]),
    ("whole", 10, [_body("whole", "10", "should be less than or equal to 9")]),
    ("whole", 1.5, [_type("whole", "integer", "number"),
                    ("<nil>", f"{_CHECKED} (default format) in spec.whole")]),
    ("whole", "1", [_type("whole", "integer", "string")]),
    ("whole", True, [_type("whole", "integer", "boolean")]),
    ("between", 0, [_body("between", "0", "should be greater than 0")]),
    ("between", 1, [_body("between", "1", "should be less than 1")]),
    ("even", 3, [_body("even", "3", "should be a multiple of 2")]),
    ("small", 1 << 31, [("<nil>", f"{_CHECKED} with format int32 in spec.small")]),
    ("flag", "yes", [_type("flag", "boolean", "string")]),
    ("rows", [], [_body("rows", "0", "should have at least 1 items")]),
    ("rows", [1, 2, 3], [("spec.rows", "Too many: 3: must have at most 2 items")]),
    ("rows", ["a"], [_type("rows[0]", "integer", "string")]),
    ("rows", [None], [_type("rows[0]", "integer", "null")]),
    ("rows", {}, [_type("rows", "array", "object")]),
    ("unique", ["a", "b", "a"], [("spec.unique[2]", 'Duplicate value: "a"')]),
    ("ports", [{"port": 1}, {"port": 1, "protocol": "TCP"}],
     [("spec.ports[1]", 'Duplicate value: {"port":1,"protocol":"TCP"}')]),
    ("ports", [{}], [("spec.ports[0].port", "Required value")]),
    ("amounts", {}, [_body("amounts", "0", "should have at least 1 properties")]),
    ("amounts", {"a": 1, "b": 2, "c": 3}, [("spec.amounts", "Too many: 3: must have at most 2 items")]),
    ("amounts", {"a": "b"}, [_type("amounts.a", "integer", "string")]),
    ("share", "half", [_body("share", '"half"', "should match '^[0-9]+%$'")]),
    ("share", True, [_type("share", "integer,string", "boolean")]),
    ("template", {"own": 1}, [("spec.template.apiVersion", "Required value"),
                              ("spec.template.kind", "Required value")]),
    *((name, "?", [_body(name, '"?"', f'must be of type {form}: "?"')])
      for name, form in (("time", "date-time"), ("day", "date"), ("span", "duration"), ("four", "ipv4"),
                         ("six", "ipv6"), ("net", "cidr"), ("mail", "email"), ("id", "uuid"), ("link", "uri"),
                         ("raw", "byte"), ("host", "hostname"))),
    ("one", {}, [_choice("one", "validate one and only one schema (oneOf). Found none valid"),
                 ("spec.one.a", "Required value")]),
    ("one", {"a": "x", "b": "y"},
     [_choice("one", "validate one and only one schema (oneOf). Found 2 valid alternatives")]),
    ("any", {}, [_choice("any", "validate at least one schema (anyOf)"), ("spec.any.a", "Required value")]),
    ("every", {}, [("spec.every.a", "Required value"), _choice("every", "validate all the schemas (allOf)")]),
    ("every", {"a": "x"}, [_body("every.a", '"x"', "should be at least 2 chars long"),
                           _choice("every", "validate all the schemas (allOf)")]),
    ("never", {"a": "x"}, [_choice("never", "not validate the schema (not)")]),
    ("needed", {}, [("spec.needed.a", "Required value"), ("spec.needed.b", "Required value")]),
    ("needed", {"a": "x", "b": {}}, [("spec.needed.b.c", "Required value")]),
    ("needed", "x", [_type("needed", "object", "string")]),
]  # fmt: skip
"""A member of the spec, what is sent, and the fields and sentences of the refusal."""

_AT = "spec.validation.openAPIV3Schema.properties[spec].properties[a]"
_LIST = {"type": "array", "items": {"type": "string"}}
_ROWS = {"type": "array", "items": object_of(k={"type": "string"}), "x-kubernetes-list-type": "map"}

_NO_MEMBERS = (
    "Required value: must not be empty if x-kubernetes-embedded-resource is true without "
    "x-kubernetes-preserve-unknown-fields"
)
_NO_KEY = (
    "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
    "required property"
)

UNSOUND: list[tuple[str, Schema, str, str]] = [
    ("untyped member", {}, f"{_AT}.type", "Required value: must not be empty for specified object fields"),
    ("unheard type", {"type": "text"}, f"{_AT}.type",
     'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"'),
    ("list of what", {"type": "array"}, f"{_AT}.items", "Required value: must be specified"),
    ("list of several", {"type": "array", "items": [{"type": "string"}]}, f"{_AT}.items",
     "Forbidden: items must be a schema object and not an array"),
    ("both kinds of members", {**object_of(b={"type": "string"}), "additionalProperties": {"type": "string"}},
     f"{_AT}.additionalProperties", "Forbidden: additionalProperties and properties are mutual exclusive"),
    ("unique items", {**_LIST, "uniqueItems": True}, f"{_AT}.uniqueItems",
     "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"),
    ("reference", {"$ref": "#/definitions/x"}, f"{_AT}.$ref", "Forbidden: $ref is not supported"),
    ("pattern of names", {"type": "object", "patternProperties": {"x": {"type": "string"}}},
     f"{_AT}.patternProperties", "Forbidden: patternProperties is not supported"),
    ("further items", {**_LIST, "additionalItems": True}, f"{_AT}.additionalItems",
     "Forbidden: additionalItems is not supported"),
    ("type within anyOf", {"type": "string", "anyOf": [{"type": "string"}]}, f"{_AT}.anyOf[0].type",
     "Forbidden: must be empty to be structural"),
    ("default within anyOf", {"type": "string", "anyOf": [{"default": "x"}]}, f"{_AT}.anyOf[0].default",
     "Forbidden: must be undefined to be structural"),
    ("type within not", {"type": "string", "not": {"type": "string"}}, f"{_AT}.not.type",
     "Forbidden: must be empty to be structural"),
    ("default of another type", {"type": "integer", "default": "x"}, f"{_AT}.default",
     'Invalid value: "string":  in body must be of type integer: "string"'),
    ("default with unknown fields", {**object_of(b={"type": "string"}), "default": {"z": 1}},
     f"{_AT}.default", 'Invalid value: {"z":1}: must not have unknown fields'),
    ("default that is no choice", {"type": "string", "enum": ["a"], "default": "b"}, f"{_AT}.default",
     'Unsupported value: "b": supported values: "a"'),
    ("preserving not", {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
     f"{_AT}.x-kubernetes-preserve-unknown-fields", "Invalid value: false: must be true or undefined"),
    ("embedded without members", {"type": "object", "x-kubernetes-embedded-resource": True},
     f"{_AT}.properties", _NO_MEMBERS),
    ("unheard kind of list", {**_LIST, "x-kubernetes-list-type": "bag"}, f"{_AT}.x-kubernetes-list-type",
     'Unsupported value: "bag": supported values: "atomic", "set", "map"'),
    ("map without keys", _ROWS, f"{_AT}.x-kubernetes-list-map-keys",
     "Required value: must not be empty if x-kubernetes-list-type is map"),
    ("keys of nothing", {**_ROWS, "x-kubernetes-list-map-keys": ["z"]}, f"{_AT}.x-kubernetes-list-map-keys",
     'Invalid value: ["z"]: entries must all be names of item properties'),
    ("keys that may be absent", {**_ROWS, "x-kubernetes-list-map-keys": ["k"]},
     f"{_AT}.items.properties[k].default", _NO_KEY),
    ("keys of texts", {**_LIST, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
     f"{_AT}.items.type", "Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map"),
    ("set of objects", {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
     f"{_AT}.items.x-kubernetes-map-type",
     "Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set"),
    ("list type of a text", {"type": "string", "x-kubernetes-list-type": "set"}, f"{_AT}.type",
     'Invalid value: "string": must be array if x-kubernetes-list-type is specified'),
    ("map type of a text", {"type": "string", "x-kubernetes-map-type": "atomic"}, f"{_AT}.type",
     'Invalid value: "string": must be object if x-kubernetes-map-type is specified'),
    ("unheard kind of map", {"type": "object", "x-kubernetes-map-type": "loose"}, f"{_AT}.x-kubernetes-map-type",
     'Unsupported value: "loose": supported values: "atomic", "granular"'),
]  # fmt: skip
"""What, the schema of one member, and the field and the sentence of the refusal."""

SOUND: list[tuple[str, Schema]] = [
    ("integer or string", {"x-kubernetes-int-or-string": True}),
    ("integer or string by anyOf", {"x-kubernetes-int-or-string": True,
                                    "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    ("anything", {"x-kubernetes-preserve-unknown-fields": True}),
    ("members under any name", {"type": "object", "additionalProperties": True}),
    ("member named in anyOf alone", {"type": "object", "anyOf": [{"properties": {"b": {"minimum": 1}}}]}),
    ("null as default", {"type": "string", "nullable": True, "default": None}),
    ("set of atomic objects", {"type": "array", "x-kubernetes-list-type": "set",
                               "items": {"type": "object", "x-kubernetes-map-type": "atomic"}}),
    ("unknown words", {"type": "string", "x-other": 1}),
]  # fmt: skip
"""Schemas of one member that are structural."""
