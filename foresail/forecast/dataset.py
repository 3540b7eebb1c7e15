"""Build a dataset from a trace: events, decisions to judge, labels, features."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("--trace", required=True, metavar="FORM", help="what the input is")
    parser.add_argument("--input", required=True, metavar="FILE|FOLDER", help="where it is")
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the build")


def run(arguments: argparse.Namespace) -> int:
    """Build."""
    raise NotImplementedError(arguments.trace)
