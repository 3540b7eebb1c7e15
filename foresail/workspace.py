"""The forecast workspace of this user: the folders that the environment names."""

from __future__ import annotations

import os
from pathlib import Path

from lab.forecast.workspace import Workspace, workspace_of


def workspace() -> Workspace:
    """Return the workspace; reads the environment each time."""
    return workspace_of(os.environ, Path.home())
