"""Files of machines: what can be rented, node groups, and what the cloud grants, from YAML.

Guarantee: a file that is wrong is refused with one line that names line, field, value and remedy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inputs.errors import InputError
from inputs.limited_files import BadFile, read_limited
from inputs.limited_yaml import MOST_BYTES, BadYaml, load_yaml
from twin.config.provisioning import CloudConfig, MachineType, NodeGroup, ProvisioningConfig
from twin.machines.public_shapes import public_shapes

GIB = 2**30
_TAINT = re.compile(
    r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)"
)
_TOP_KEYS = ("machines", "groups", "cloud", "karpenter")
_TOP_KEY = re.compile(
    rf"""(?m)^\ufeff?(?:\{{[ \t]*["']?|[ \t]*["'])?(?:{"|".join(_TOP_KEYS)})["']?[ \t]*:"""
)
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,48}[a-z0-9])?$")]
Price = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class MachineRow(_Model):
    """One machine type of a file."""

    name: Name
    cpu_cores: float = Field(gt=0, le=4_096, allow_inf_nan=False)
    memory_gib: float = Field(gt=0, le=65_536, allow_inf_nan=False)
    price_per_hour: Price
    spot_price_per_hour: Price = 0.0
    gpus: int = Field(default=0, ge=0, le=64)
    zones: tuple[Name, ...] = Field(default=("zone-a",), min_length=1, strict=False)
    boot_seconds: float = Field(default=45.0, ge=0, le=86_400, allow_inf_nan=False)
    boot_sigma: float = Field(default=0.25, ge=0, le=3, allow_inf_nan=False)
    idle_watts: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    full_watts: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    interruptions_per_hour: float = Field(default=0.0, ge=0, le=3_600, allow_inf_nan=False)
    pods: int = Field(default=110, ge=1, le=1_000)
    source: str = "own file"


class GroupRow(_Model):
    """One node group of a file."""

    name: Name
    machine: str
    min: int = Field(default=0, ge=0)
    max: int = Field(ge=1)
    start: int = Field(default=0, ge=0)
    zone: str = ""
    spot: bool = False
    labels: dict[str, str] = {}
    taints: tuple[str, ...] = Field(default=(), strict=False)


class CloudRow(_Model):
    """What the cloud of a file grants."""

    quota_cores: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    refuse: tuple[str, ...] = Field(default=(), strict=False)
    never_boots: tuple[str, ...] = Field(default=(), strict=False)
    terminate_seconds: float = Field(default=0.0, ge=0, le=86_400, allow_inf_nan=False)


class KarpenterRow(_Model):
    """How Karpenter is set up beside that cloud."""

    interruption_queue: str = Field(default="", max_length=80)


class MachineFile(_Model):
    """A whole file; without machines the built-in table is meant, of the providers that groups name."""

    machines: tuple[MachineRow, ...] = Field(default=(), strict=False)
    groups: tuple[GroupRow, ...] = Field(default=(), strict=False)
    cloud: CloudRow = CloudRow()
    karpenter: KarpenterRow = KarpenterRow()


def read_machines(path: Path, base: ProvisioningConfig) -> ProvisioningConfig:
    """Return the settings with what a file of machines says.

    Raises:
        InputError: it cannot be read, or a value in it is wrong; names file, line and remedy.
    """
    try:
        text = read_limited(path, MOST_BYTES)
    except OSError as error:
        raise InputError("--machines", path, f"give a readable file ({error.strerror})") from error
    except BadFile as error:
        raise InputError("--machines", path, f"keep it below {MOST_BYTES} bytes") from error
    return machines_of(text, path.name, base)


def machines_of(text: bytes, source: str, base: ProvisioningConfig) -> ProvisioningConfig:
    """As `read_machines`, from the text of a file; `source` names it in the error."""
    config, errors = check_machines(text, source, base)
    if errors:
        raise errors[0]
    return config


def check_machines(
    text: bytes, source: str, base: ProvisioningConfig
) -> tuple[ProvisioningConfig, list[InputError]]:
    """Return the settings with what the text of a file says, or `base` and what is wrong with it.

    All values that have a wrong form are named; only if there are none, the first that does not fit
    the others, such as a group of an unknown machine.
    """
    try:
        document = load_yaml(text)
    except BadYaml as error:
        where = source if error.line is None else f"{source} line {error.line}"
        return base, [InputError(where, "unreadable", f"correct the YAML ({error.why})")]
    if not isinstance(document, dict):
        remedy = "begin with `machines:` and a list under it"
        return base, [InputError(source, _short(document), remedy)]
    if "faults" in document:
        return base, [InputError(source, "a scenario", "give it to --scenario")]
    lines = _Lines(text, source)
    try:
        return _settings(MachineFile.model_validate(document), lines, base), []
    except ValidationError as error:
        return base, [
            lines.error(finding["loc"], finding["input"], _remedy(finding))
            for finding in error.errors()
        ]
    except InputError as error:
        return base, [error]


def is_machine_file(path: Path) -> bool:
    """Say whether a YAML or JSON file has a key of machine files at its top; one that cannot be read is none.

    Its lines are searched, so that a file whose YAML is broken is still known for what it is meant to be.
    """
    try:
        text = read_limited(path, MOST_BYTES)
    except (OSError, BadFile):
        return False
    return _TOP_KEY.search(text.decode(errors="replace")) is not None


def _settings(file: MachineFile, lines: _Lines, base: ProvisioningConfig) -> ProvisioningConfig:
    known = {machine.name: machine for machine in public_shapes()}
    if file.machines:
        known = {}
        for index, row in enumerate(file.machines):
            if row.name in known:
                raise lines.error(("machines", index, "name"), row.name, "give each machine once")
            if row.full_watts < row.idle_watts:
                place = ("machines", index, "full_watts")
                raise lines.error(place, row.full_watts, "give at least idle_watts")
            known[row.name] = _machine(row)
    groups: dict[str, NodeGroup] = {}
    for index, group in enumerate(file.groups):
        if group.name in groups:
            raise lines.error(("groups", index, "name"), group.name, "give each group once")
        groups[group.name] = _group(group, index, known, lines)
    cloud = CloudConfig(
        file.cloud.quota_cores,
        file.cloud.refuse,
        file.cloud.never_boots,
        file.cloud.terminate_seconds,
    )
    for key, named in (("refuse", cloud.refuse), ("never_boots", cloud.never_boots)):
        for name in named:
            if name.partition("/")[0] not in known:
                choices = f"choose from {', '.join(sorted(known))}"
                raise lines.error(("cloud", key), name, choices)
    machines = tuple(known.values()) if file.machines else base.machines
    if groups and not machines:  # the table of those providers that the groups name
        sources = {known[group.machine].source for group in groups.values()}
        machines = tuple(machine for machine in known.values() if machine.source in sources)
    queue = file.karpenter.interruption_queue or base.karpenter.interruption_queue
    return replace(
        base,
        machines=machines,
        groups=tuple(groups.values()),
        cloud=cloud,
        karpenter=replace(base.karpenter, interruption_queue=queue),
    )


def _machine(row: MachineRow) -> MachineType:
    return MachineType(
        name=row.name,
        cpu_millicores=round(row.cpu_cores * 1000),
        memory_bytes=round(row.memory_gib * GIB),
        price_per_hour=row.price_per_hour,
        spot_price_per_hour=row.spot_price_per_hour,
        gpus=row.gpus,
        zones=row.zones,
        boot_median_seconds=row.boot_seconds,
        boot_sigma=row.boot_sigma,
        idle_watts=row.idle_watts,
        full_watts=row.full_watts,
        interruptions_per_hour=row.interruptions_per_hour,
        pods=row.pods,
        source=row.source,
    )


def _group(row: GroupRow, index: int, machines: dict[str, MachineType], lines: _Lines) -> NodeGroup:
    machine = machines.get(row.machine)
    if machine is None:
        choices = f"choose from {', '.join(sorted(machines))}"
        raise lines.error(("groups", index, "machine"), row.machine, choices)
    if row.zone and row.zone not in machine.zones:
        choices = f"choose from {', '.join(machine.zones)}"
        raise lines.error(("groups", index, "zone"), row.zone, choices)
    if row.spot and not machine.spot_price_per_hour:
        remedy = f"give {machine.name} a spot_price_per_hour"
        raise lines.error(("groups", index, "spot"), row.spot, remedy)
    if not row.min <= row.max or row.start > row.max:
        wrong = row.min if row.min > row.max else row.start
        raise lines.error(("groups", index, "max"), row.max, f"give at least {wrong}")
    taints = []
    for text in row.taints:
        found = _TAINT.fullmatch(text)
        if found is None:
            place = ("groups", index, "taints")
            raise lines.error(place, text, "write it as key=value:NoSchedule")
        taints.append((found["key"], found["value"] or "", found["effect"]))
    labels = tuple(sorted(row.labels.items()))
    return NodeGroup(
        row.name,
        row.machine,
        row.min,
        row.max,
        row.start,
        row.zone,
        row.spot,
        labels,
        tuple(taints),
    )


class _Lines:
    """Where in a file a value stands."""

    def __init__(self, text: bytes, source: str) -> None:
        self._root = yaml.compose(text.decode("utf-8-sig"), Loader=yaml.SafeLoader)
        self._source = source

    def error(self, place: tuple[int | str, ...], value: object, remedy: str) -> InputError:
        """Return the error of a value."""
        field = ""
        for part in place:
            field += f"[{part}]" if isinstance(part, int) else (f".{part}" if field else part)
        return InputError(
            f"{self._source} line {self._line(place)}: {field}", _short(value), remedy
        )

    def _line(self, place: tuple[int | str, ...]) -> int:
        """Return the line of a value, or of what should hold it."""
        node, line = self._root, 1
        for part in place:
            if isinstance(node, yaml.MappingNode):
                pairs = {key.value: (key, value) for key, value in node.value}
                if part not in pairs:
                    break
                line, node = pairs[part][0].start_mark.line + 1, pairs[part][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line + 1
            else:
                break
        return line


def _remedy(finding: Any) -> str:
    match finding["type"]:
        case "extra_forbidden":
            return "unknown key: take it out or correct its name"
        case "missing":
            return "add this key"
        case "string_pattern_mismatch":
            return "use lower-case letters, digits, dots and dashes"
        case _:
            return str(finding["msg"][0].lower() + finding["msg"][1:])


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
