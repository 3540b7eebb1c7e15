"""The example guard as one more file of the guards' folder, for as long as a test needs it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.executor import guards

EXAMPLES = Path(__file__).parents[2] / "examples/guards"


@contextmanager
def files_added(folder: Path = EXAMPLES) -> Iterator[None]:
    """Let the files of `folder` lie in `services/executor/guards/`."""
    parent = importlib.import_module(guards.PARENT)
    before = list(parent.__path__)
    parent.__path__ = [*before, str(folder)]
    importlib.invalidate_caches()
    guards.registered_guards.cache_clear()
    try:
        yield
    finally:
        parent.__path__ = before
        for file in folder.glob("*.py"):
            sys.modules.pop(f"{guards.PARENT}.{file.stem}", None)
            if hasattr(parent, file.stem):
                delattr(parent, file.stem)
        guards.registered_guards.cache_clear()
