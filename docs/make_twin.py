"""Write the tables of docs/twin.md and of two pages below it from the code's own sentences: `python -m docs.make_twin`.

What stands between `<!-- begin NAME -->` and `<!-- end -->` is generated: the defaults of each group of
settings, with their sources, and the keys of each kind of fault. A test fails when it is out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from schemas.docstrings import field_docstrings
from twin.config.behaviour import KubeletConfig, MachineConfig, MemoryConfig, MetricsConfig
from twin.config.controllers import ControllerConfig
from twin.config.provisioning import CloudConfig, WarmPoolConfig
from twin.config.scheduling import SchedulerConfig
from twin.config.serving import ServingConfig
from twin.config.vertical import VerticalConfig
from twin.faults.scenario import Nodes
from twin.port.files import Fault
from twin.port.settings import ClusterAutoscalerConfig, HealthConfig, KarpenterConfig, TwinConfig

PAGE = Path(__file__).with_name("twin.md")
PAGES = (PAGE, PAGE.parent / "twin" / "machines.md", PAGE.parent / "twin" / "health.md")
GROUPS: dict[str, type] = {
    "defaults": TwinConfig,
    "defaults.kubelet": KubeletConfig,
    "defaults.machines": MachineConfig,
    "defaults.memory": MemoryConfig,
    "defaults.health": HealthConfig,
    "defaults.metrics": MetricsConfig,
    "defaults.scheduler": SchedulerConfig,
    "defaults.controllers": ControllerConfig,
    "provisioning.cloud": CloudConfig,
    "provisioning.autoscaler": ClusterAutoscalerConfig,
    "provisioning.karpenter": KarpenterConfig,
    "provisioning.warm": WarmPoolConfig,
    "defaults.serving": ServingConfig,
    "defaults.vertical": VerticalConfig,
}
_BLOCK = re.compile(r"(<!-- begin ([a-z.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """Return the page with every generated part written anew; raises KeyError for a name that is
    not known.
    """
    made = {name: defaults(group) for name, group in GROUPS.items()}
    made["faults"] = faults()
    return _BLOCK.sub(lambda found: f"{found[1]}{made[found[2]]}\n{found[3]}", text)


def defaults(group: type) -> str:
    """Return the table of a group: field, default, and its sentence with the source."""
    said = sentences(group)
    assert is_dataclass(group)
    rows = [
        f"| `{field.name}` | `{_value_text(field.default)}` | {said[field.name]} |"
        for field in fields(group)
        if field.default is not MISSING
    ]
    return "\n".join(["| setting | default | meaning and source |", "|---|---|---|", *rows])


def sentences(group: type) -> dict[str, str]:
    """Return the sentence below each field; raises KeyError for a field without one."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(group))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for line, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            assert isinstance(after, ast.Expr), f"{group.__name__}.{line.target.id}: no sentence"
            assert isinstance(after.value, ast.Constant)
            found[line.target.id] = _cell(str(after.value.value))
    return found


def faults() -> str:
    """Return one table line per kind of fault: what it does, and its own keys."""
    shared = {"fault", "at_seconds", "at_time", "duration_seconds"}
    lines = ["| fault | what happens | its keys |", "|---|---|---|"]
    for kind in get_args(Fault):
        name = get_args(kind.model_fields["fault"].annotation)[0]
        keys = [_key(key, kind) for key in kind.model_fields if key not in shared]
        lasts = ["duration_seconds"] if "duration_seconds" in kind.model_fields else []
        shown = ", ".join(f"`{key}`" for key in (*lasts, *keys))
        lines.append(f"| `{name}` | {_cell(kind.__doc__ or '')} | {shown} |")
    targets = [f"| `{key}` | {_cell(text)} |" for key, text in field_docstrings(Nodes).items()]
    return "\n".join([*lines, "", "| key of `nodes` | meaning |", "|---|---|", *targets])


def _key(name: str, kind: type[BaseModel]) -> str:
    info = kind.model_fields[name]
    if info.is_required() or info.default is None or isinstance(info.default, BaseModel):
        return name
    return f"{name}={_value_text(info.default)}" if info.default != () else name


def _value_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e12:
        return f"{value:.0f}"
    if isinstance(value, tuple):
        return ", ".join(map(_value_text, value)) or "none"
    return _cell(str(value)) or "none"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
