"""How verbs write: people's text through rich, scripts' JSON on plain stdout, errors as one line on
stderr.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from rich.console import Console

PAGE_COLUMNS = 100


@cache
def console() -> Console:
    """Return the console of this process."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


@cache
def page() -> Console:
    """Return the console for whole screens: as wide as the terminal, 100 columns elsewhere."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_COLUMNS)


def print_json(value: Any) -> None:
    """Write one JSON document and a line end."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def print_error(text: str) -> None:
    """Write one error line."""
    sys.stderr.write(f"foresail: {text}\n")
