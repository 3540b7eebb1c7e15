"""Fuzzing: every reader of bytes from outside, as a function that must raise nothing unexpected.

Each module beside this one whose name ends with `_entries` holds a tuple `ENTRIES` for one area. The
test suite runs every entry over its seeds, over the inputs kept in `corpus/NAME/` and over a few
mutations; `python -m proofs.fuzzing NAME --seconds N` lets atheris look for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from proofs.fuzzing.entry import Entry

CORPUS = Path(__file__).parent / "corpus"


def entries() -> Mapping[str, Entry]:
    """Return every entry by name.

    They are imported here and not with the package, so that a fuzzer can instrument what they import.

    Raises:
        ValueError: two entries have one name.
    """
    by_name: dict[str, Entry] = {}
    for module in sorted(module_info.name for module_info in iter_modules(__path__)):
        if not module.endswith("_entries"):
            continue
        for entry in import_module(f"{__name__}.{module}").ENTRIES:
            if entry.name in by_name:
                raise ValueError(f"two fuzzing entries are named {entry.name}")
            by_name[entry.name] = entry
    return by_name


def inputs(entry: Entry) -> list[bytes]:
    """Return the seeds of an entry and the inputs that are kept for it."""
    folder = CORPUS / entry.name
    corpus = sorted(folder.iterdir()) if folder.is_dir() else []
    return [*entry.seeds, *(file.read_bytes() for file in corpus)]
