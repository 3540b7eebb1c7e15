"""Common parts of proposals, decisions and outcomes: agents, actions (one model for each kind) and their targets."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from schemas.docstrings import field_docstrings
from schemas.model import DataModel
from schemas.numbers import Count, Ratio, Rounded, Seconds

AGENT_NAME = re.compile(r"^[a-z][a-z0-9_]{0,39}$")
"""What an agent's name may look like: a token of subjects, and a folder of Python."""
AgentName = Annotated[str, StringConstraints(pattern=AGENT_NAME.pattern)]
"""An agent by its name. Which agents there are is no matter of the schemas: a recording may hold one
that is not installed here.
"""


class ActionKind(StrEnum):
    """The ten kinds of action."""

    MIGRATE = "migrate"
    REPLICATE = "replicate"
    THROTTLE = "throttle"
    POWER_STATE = "power_state"
    DVFS = "dvfs"
    MEMORY_BALLOON = "memory_balloon"
    ADMISSION = "admission"
    RESOURCE_CAP = "resource_cap"
    RESIZE = "resize"
    NOOP = "noop"


class TargetKind(StrEnum):
    """Target of an action."""

    NODE = "node"
    QUEUE = "queue"
    """The cluster's pending workloads."""
    WORKLOAD = "workload"
    """A Deployment, `<namespace>/Deployment/<name>`."""
    NONE = "none"
    """A noop has no target."""


class Target(DataModel):
    """Target of an action."""

    kind: TargetKind
    name: str = ""
    """The node's name, the workload's id, or the queue's (`pending`); empty for none."""


PARAMETERS: Final = (
    "admission",
    "power_state",
    "clock_scale_ratio",
    "memory_scale_ratio",
    "cpu_cap_ratio",
    "memory_cap_ratio",
    "replicas",
)
"""Members of the stored `parameters`, in their order; those of other kinds are stored as null."""
ADDED_PARAMETERS: Final = ("pods", "cpu_request_cores", "memory_request_bytes")
"""Members that came later: they are stored behind the others, and only where they are set."""


STORED_OUTSIDE: Final = ("agent", "kind", "target")
"""Fields of every action, in their stored order before `parameters`."""


class BaseAction(DataModel):
    """Common fields of every action. Stored, the fields of its kind stand in `parameters`."""

    agent: AgentName | None = None
    """Who proposed it; None for the referee's own noop, and in a judgement, whose agent is filled in."""
    kind: ActionKind
    target: Target

    @property
    def full_kind(self) -> str:
        """The kind, and what it says in a word: `replicate`, `admission:queue`,
        `power_state:sleep`.
        """
        return str(self.kind)

    @property
    def aim(self) -> str:
        """The target for people, with how much of it is wanted: `shop/Deployment/web to 7`."""
        return self.target.name

    @property
    def wanted(self) -> str:
        """Kind and aim, such as `power_state:sleep node-7`."""
        return f"{self.full_kind} {self.aim}".rstrip()

    @property
    def parameters(self) -> dict[str, str | float | tuple[str, ...]]:
        """The fields of this kind alone, by name; those that say nothing are left out."""
        values = {name: getattr(self, name) for name in self.parameter_names()}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Return the names of the fields of this kind, in their stored order."""
        return _parameter_names(cls)

    @model_validator(mode="before")
    @classmethod
    def _take_parameters(cls, content: Any) -> Any:
        """Read the stored form: this kind's own members of `parameters`."""
        if not isinstance(content, dict) or "parameters" not in content:
            return content
        stored = content["parameters"]
        if not isinstance(stored, dict):
            raise ValueError("parameters: not an object")
        own = {name: _array(stored[name]) for name in cls.parameter_names() if name in stored}
        return {name: value for name, value in content.items() if name != "parameters"} | own

    @model_serializer(mode="wrap")
    def _store_parameters(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        flat = handler(self)
        stored = {name: flat[name] for name in STORED_OUTSIDE}
        added = {name: flat[name] for name in ADDED_PARAMETERS if flat.get(name) is not None}
        return stored | {"parameters": {name: flat.get(name) for name in PARAMETERS} | added}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON Schema of the stored form."""
        plain: Any = {name: value for name, value in core_schema.items() if name != "serialization"}
        described = handler.resolve_ref_schema(handler(plain))
        properties = described["properties"]
        texts = field_docstrings(cls)
        members = {name: properties.pop(name, {"type": "null"}) for name in PARAMETERS}
        members |= {name: properties.pop(name) for name in ADDED_PARAMETERS if name in properties}
        for name in cls.parameter_names():
            members[name].setdefault("description", texts[name])
        properties["parameters"] = {
            "type": "object",
            "description": "What to do exactly; only the fields of the kind are set.",
            "properties": members,
            "additionalProperties": False,
        }
        # What a reader can do without is not required: parameters that are null, and an agent that is nobody.
        needed = [name for name, field in cls.model_fields.items() if field.is_required()]
        if own := [name for name in cls.parameter_names() if name in needed]:
            properties["parameters"]["required"] = own
        described["required"] = [
            *(name for name in properties if name in needed or name == "kind"),
            *(["parameters"] if own else []),
        ]
        return described


def _array(value: Any) -> Any:
    """Return a JSON array as what fields hold: values taken out of `parameters` are no longer read as JSON."""
    return tuple(value) if isinstance(value, list) else value


@cache
def _parameter_names(kind: type[BaseAction]) -> tuple[str, ...]:
    return tuple(name for name in (*PARAMETERS, *ADDED_PARAMETERS) if name in kind.model_fields)


class MigrateAction(BaseAction):
    """Move pods off a node: the largest that may move, those named, or none, where it is only to get no new ones."""

    kind: Literal[ActionKind.MIGRATE] = ActionKind.MIGRATE
    pods: tuple[str, ...] | None = Field(default=None, max_length=16)
    """`<namespace>/<name>` of those that are to move; None: the largest; empty: none, new ones prefer other nodes."""

    @property
    def full_kind(self) -> str:
        """The kind, and `mark` where no pod moves."""
        return f"{self.kind}:mark" if self.pods == () else str(self.kind)


class ReplicateAction(BaseAction):
    """Give a Deployment so many replicas; aimed at a node: one more to the Deployment that has most pods there."""

    kind: Literal[ActionKind.REPLICATE] = ActionKind.REPLICATE
    replicas: Count | None = Field(default=None, validate_default=True)
    """How many the workload gets, as an absolute number; None where a node is the target."""

    @property
    def aim(self) -> str:
        """The workload and its number of replicas; the node alone."""
        name = self.target.name
        return name if self.replicas is None else f"{name} to {self.replicas}"

    @field_validator("replicas")
    @classmethod
    def _check_replicas(cls, replicas: int | None, info: ValidationInfo) -> int | None:
        target = info.data.get("target")
        on_workload = isinstance(target, Target) and target.kind is TargetKind.WORKLOAD
        if on_workload is (replicas is None):
            raise ValueError("a workload gets a number of replicas, a node none")
        return replicas


class ThrottleAction(BaseAction):
    """Cap the CPU of a node."""

    kind: Literal[ActionKind.THROTTLE] = ActionKind.THROTTLE
    cpu_cap_ratio: Ratio
    """Share of the node's CPU that may be used."""


PowerStateWord = Literal["sleep", "off", "on"]


class PowerStateAction(BaseAction):
    """Put an empty node to sleep, switch it off or wake it."""

    kind: Literal[ActionKind.POWER_STATE] = ActionKind.POWER_STATE
    power_state: PowerStateWord
    """What it is to become."""

    @property
    def full_kind(self) -> str:
        """Kind and state."""
        return f"{self.kind}:{self.power_state}"


class DvfsAction(BaseAction):
    """Scale the clock of a node (dynamic voltage and frequency scaling)."""

    kind: Literal[ActionKind.DVFS] = ActionKind.DVFS
    clock_scale_ratio: Ratio
    """Share of the full clock."""


class MemoryBalloonAction(BaseAction):
    """Take memory from a node's workloads."""

    kind: Literal[ActionKind.MEMORY_BALLOON] = ActionKind.MEMORY_BALLOON
    memory_scale_ratio: Ratio
    """Share of the memory left to the node's workloads."""


AdmissionWord = Literal["admit", "queue", "deprioritize", "reject"]


class AdmissionAction(BaseAction):
    """Open or close the queue of pending workloads."""

    kind: Literal[ActionKind.ADMISSION] = ActionKind.ADMISSION
    admission: AdmissionWord
    """What becomes of pending workloads."""

    @property
    def full_kind(self) -> str:
        """Kind and word."""
        return f"{self.kind}:{self.admission}"


class ResourceCapAction(BaseAction):
    """Cap the CPU and memory of a node, and keep new pods away."""

    kind: Literal[ActionKind.RESOURCE_CAP] = ActionKind.RESOURCE_CAP
    cpu_cap_ratio: Ratio
    """Share of the node's CPU that may be used."""
    memory_cap_ratio: Ratio
    """Share of the node's memory that may be used."""


class ResizeAction(BaseAction):
    """Give each running pod of a workload other requests, in place; limits stay, or rise to the request."""

    kind: Literal[ActionKind.RESIZE] = ActionKind.RESIZE
    cpu_request_cores: Rounded | None = Field(default=None, ge=0)
    """Of a pod, its containers together; None: as it is."""
    memory_request_bytes: Count | None = Field(default=None, validate_default=True)
    """Likewise."""

    @field_validator("memory_request_bytes")
    @classmethod
    def _check_amounts(cls, memory: int | None, seen: ValidationInfo) -> int | None:
        if memory is None and seen.data.get("cpu_request_cores") is None:
            raise ValueError("give cpu_request_cores or memory_request_bytes")
        return memory


class NoopAction(BaseAction):
    """Do nothing."""

    kind: Literal[ActionKind.NOOP] = ActionKind.NOOP
    target: Target = Target(kind=TargetKind.NONE)


Action = Annotated[
    MigrateAction
    | ReplicateAction
    | ThrottleAction
    | PowerStateAction
    | DvfsAction
    | MemoryBalloonAction
    | AdmissionAction
    | ResourceCapAction
    | ResizeAction
    | NoopAction,
    Field(discriminator="kind"),
]
"""What is to be done, to what, by whose wish."""

NodeLimitAction = ThrottleAction | DvfsAction | MemoryBalloonAction | ResourceCapAction
"""Limits on one node that leave it running."""


class Evidence(DataModel):
    """One number against its threshold, with the age of the signal behind it."""

    name: str
    """What was measured, e.g. `risk_ratio`."""
    value: Rounded | None
    """The measured value; None when it is missing."""
    comparison: str
    """How it is compared: `>=`, `<`, `==`."""
    threshold: Rounded | None
    holds: bool
    """Whether the comparison holds."""
    subject: str = ""
    """What it was measured on (a node's name); empty for the cluster."""
    signal: str = ""
    """Name of the signal it comes from."""
    age_seconds: Seconds | None = None
    """Age of that signal."""

    @property
    def words(self) -> str:
        """The comparison in words, e.g. `risk >= 0.83`; a proposal's `rule` is made of these,
        joined by ` and `.
        """
        return f"{self._measure} {self.comparison} {_number(self.threshold)}"

    @property
    def numbers(self) -> str:
        """The comparison with the measured value, e.g. `risk 0.95 >= 0.83`."""
        return f"{self._measure} {_number(self.value)} {self.comparison} {_number(self.threshold)}"

    @property
    def _measure(self) -> str:
        return self.name.removesuffix("_ratio").replace("_", " ")


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.6g}"
