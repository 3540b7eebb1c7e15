"""How an input differs from the cloud-neutral form: names of columns, its cluster, whose numbers its ends are."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from bus.errors import InputError
from inputs.close_matches import remedy_for
from inputs.limited_files import BadFile, read_text_limited
from inputs.limited_json import BadJson, load_json

NAME = "common"
NUMBERED = ("google2011", "google2019")
"""Whose numbers a terminal event may be written in."""
MOST_BYTES = 2**20
NOT_READ = frozenset(
    {
        "observed_cpu_avg_ratio",
        "observed_cpu_peak_ratio",
        "observed_mem_avg_ratio",
        "observed_mem_peak_ratio",
        "event_count",
        "source_platform",
        "source_schema_version",
        "window_duration_us",
    }
)
"""What a mapping may name, and nothing here reads."""


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """How an input differs from the form."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    """The form's column -> what it is called in the input; empty where the names are the form's."""
    default_cluster: str | None = None
    """Of rows that name no cluster."""
    numeric_codes: str | None = None
    """Whose numbers stand as terminal events, of `NUMBERED`."""

    @property
    def given(self) -> dict[str, object]:
        """What was chosen, by name."""
        chosen = {
            "mapping": dict(self.mapping),
            "default_cluster": self.default_cluster,
            "numeric_codes": self.numeric_codes,
        }
        return {name: value for name, value in chosen.items() if value}


AS_IT_IS = CommonOptions()


def read_mapping(path: Path, columns: AbstractSet[str]) -> dict[str, str]:
    """Read a JSON object of the form's columns and what each is called in the input.

    Raises:
        InputError: the file cannot be read, is no such object, or names a column that the form does not have.
    """
    try:
        read = load_json(read_text_limited(path, MOST_BYTES), most_bytes=MOST_BYTES)
    except OSError as error:
        remedy = f"give a file that can be read ({error.strerror})"
        raise InputError("--mapping", path, remedy) from error
    except (BadFile, BadJson) as error:
        raise InputError("--mapping", path, f"{error}; write it as a JSON object") from error
    if not isinstance(read, dict):
        raise InputError(
            "--mapping", path, "write it as a JSON object of column: name in the input"
        )
    for column, name in read.items():
        if column not in columns | NOT_READ:
            raise InputError(f"{path.name}: {column}", name, remedy_for(column, columns))
        if not isinstance(name, str) or not name:
            raise InputError(f"{path.name}: {column}", name, "give the column's name in the input")
    return {column: name for column, name in read.items() if column in columns}
