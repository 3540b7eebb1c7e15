"""Arguments of the verbs that read the cloud-neutral form: how an input differs from it."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.traces.common_options import NUMBERED, CommonOptions, read_mapping


def add_common_form(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    group = parser.add_argument_group("the common form, where an input differs from it")
    group.add_argument("--mapping", type=Path, metavar="FILE",
                       help="a JSON object of the form's columns and what each is called in the input")  # fmt: skip
    group.add_argument("--default-cluster", metavar="NAME",
                       help="cluster of the rows that name none")  # fmt: skip
    group.add_argument("--numeric-codes", choices=NUMBERED,
                       help="ends are written as numbers, and these are whose")  # fmt: skip


def common_options(arguments: argparse.Namespace) -> CommonOptions:
    """Return what was given.

    Raises:
        InputError: the mapping cannot be used.
    """
    mapping: dict[str, str] = {}
    if arguments.mapping is not None:
        from lab.traces.cloud_neutral import FORM  # noqa: PLC0415 - loads polars

        mapping = read_mapping(arguments.mapping, frozenset(FORM.names))
    return CommonOptions(mapping, arguments.default_cluster, arguments.numeric_codes)
