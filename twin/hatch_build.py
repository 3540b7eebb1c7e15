"""Puts `inputs`, which stands beside this folder, into the wheel of `foresail-twin`.

As `force-include` in pyproject.toml an editable installation would get a copy, too, which goes stale at the next edit.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InputsBeside(BuildHookInterface[Any]):
    """Adds the package to a wheel that is to be moved; an editable one finds it in the tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what is added: `version` is the kind of wheel, `standard` or `editable`."""
        if version == "standard":
            build_data["force_include"]["../inputs"] = "inputs"
