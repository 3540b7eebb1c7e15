"""Short ways to write structural schemas. Pure."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


def text(says: str, *choices: str, **more: Any) -> Schema:
    """Return a text, one of some choices when there are any."""
    return {
        "type": "string",
        "description": says,
        **({"enum": list(choices)} if choices else {}),
        **more,
    }


def name(says: str, **more: Any) -> Schema:
    """Return the name of an object."""
    return text(says, maxLength=253, pattern=NAME, **more)


def number(says: str, **more: Any) -> Schema:
    """Return a whole number of 32 bits."""
    return {"type": "integer", "format": "int32", "description": says, **more}


def truth(says: str, **more: Any) -> Schema:
    """Return true or false."""
    return {"type": "boolean", "description": says, **more}


def moment(says: str) -> Schema:
    """Return a time."""
    return {"type": "string", "format": "date-time", "description": says}


def amount(says: str) -> Schema:
    """Return a quantity."""
    return {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "pattern": QUANTITY,
        "description": says,
    }


def amounts(says: str) -> Schema:
    """Return quantities by resource."""
    return {"type": "object", "additionalProperties": amount("A quantity."), "description": says}


def texts(says: str) -> Schema:
    """Return texts by name."""
    return {"type": "object", "additionalProperties": {"type": "string"}, "description": says}


def record(says: str, *required: str, rules: tuple[Schema, ...] = (), **fields: Schema) -> Schema:
    """Return an object with these fields."""
    found: Schema = {"type": "object", "description": says, "properties": fields}
    if required:
        found["required"] = list(required)
    if rules:
        found["x-kubernetes-validations"] = list(rules)
    return found


def rows(says: str, item: Schema, *keys: str, most: int = 0, least: int = 0, **more: Any) -> Schema:
    """Return a list, whose items are told apart by `keys` if there are any."""
    found: Schema = {"type": "array", "description": says, "items": item, **more}
    if keys:
        found |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    if most:
        found["maxItems"] = most
    if least:
        found["minItems"] = least
    return found


def anything(says: str) -> Schema:
    """Return an object of which nothing more is said here."""
    return {"type": "object", "description": says, "x-kubernetes-preserve-unknown-fields": True}


def rule(expression: str, message: str) -> Schema:
    """Return a rule in CEL."""
    return {"rule": expression, "message": message}


def conditions(says: str) -> Schema:
    """Return a list of conditions."""
    condition = record(
        "One thing that can be said of the object now.",
        "type", "status", "reason", "message", "lastTransitionTime",
        type=text("What is said.", maxLength=316),
        status=text("Whether it holds.", "True", "False", "Unknown"),
        reason=text("Why, in one word.", maxLength=1024, minLength=1),
        message=text("Why, for people.", maxLength=32768),
        lastTransitionTime=moment("When the status changed last."),
        observedGeneration={"type": "integer", "format": "int64", "minimum": 0,
                            "description": "The generation that was looked at."},
    )  # fmt: skip
    return rows(says, condition, "type", most=16)


def taints(says: str) -> Schema:
    """Return a list of taints."""
    taint = record(
        "What keeps pods away.",
        "key", "effect",
        key=text("Its key."),
        value=text("Its value."),
        effect=text("What it does.", "NoSchedule", "PreferNoSchedule", "NoExecute"),
        timeAdded=moment("When it was added."),
    )  # fmt: skip
    return rows(says, taint, most=8)


def tolerations(says: str) -> Schema:
    """Return a list of tolerations."""
    toleration = record(
        "What a pod puts up with.",
        key=text("The taint's key; every one when there is none."),
        operator=text("How the value is compared.", "Exists", "Equal"),
        value=text("The taint's value."),
        effect=text("The taint's effect; every one when there is none.",
                    "NoSchedule", "PreferNoSchedule", "NoExecute"),
        tolerationSeconds={"type": "integer", "format": "int64",
                           "description": "How long, in seconds, for NoExecute."},
    )  # fmt: skip
    return rows(says, toleration, most=8)
