"""`foresail up`: the whole stack, from nothing to live decisions, and cleanly down again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.flags import add_flags, default_text, given_flags
from foresail.gates import profile_lines, read_gates
from foresail.output import console, print_error, print_json
from foresail.settings import GROUPS, StackSettings, resolve
from foresail.stack.summary import print_summary
from foresail.verbs import Verb
from schemas.docstrings import field_docstrings
from services.inference.settings import InferenceSettings

VERB = Verb(10, "start everything: NATS server, simulated cluster (or yours), services, dashboard")
EXAMPLES = (
    ("up", "a simulated cluster of 100 nodes, until Ctrl-C"),
    ("up --for 2m --record run.fslog", "stop after two minutes, keep a recording"),
    ("up --compare before.fslog", "its page shows it beside that recording, too"),
    ("up --profile list", "the profiles there are, with what their gates answered"),
    ("up --kubeconfig ~/.kube/config", "watch your cluster; every write is a dry run"),
    ("up --kubeconfig FILE --mode active --namespaces shop", "write there; its end takes it back"),
    ("up --virtual-time --for 20m --record run.fslog", "20 simulated minutes as fast as possible"),
)


LIST = "list"
"""The value of `--profile` that asks what there is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every flag; its help is the setting's own sentence."""
    described = {
        f"{group}.{name}": text.strip().rstrip(".")
        + default_text(name, kind.model_fields[name].default)
        for group, kind in GROUPS.items()
        for name, text in field_docstrings(kind).items()
    }
    add_flags(parser, described)
    parser.add_argument(
        "--config", metavar="FILE", help="settings as TOML, one table per group (docs/settings.md)"
    )
    parser.add_argument(
        "--attach",
        action="store_true",
        help="show the stack that runs already instead of starting one; Ctrl-C leaves it running",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the summary as JSON and nothing else on stdout"
    )


def _check_models(settings: StackSettings) -> None:
    """Refuse a model that cannot be used before anything starts; the default ones are not looked at.

    Raises:
        ConfigError: a name that is no model.
        InputError: a model directory that is not what its manifest says.
    """
    if settings.inference != InferenceSettings():
        from services.inference.service import check_models  # noqa: PLC0415 - numpy is loaded only for models

        check_models(settings.inference)


def _check_compare(settings: StackSettings) -> None:
    """Refuse what the page could not show beside the stack.

    Raises:
        InputError: it is no recording, or there will be no page.
    """
    word = settings.dashboard.compare
    if word is None:
        return
    if settings.run.virtual_time:
        remedy = "leave out --virtual-time: it has no page; `foresail dashboard A --compare B` shows two recordings"
        raise InputError("--compare", word, remedy)
    from foresail.experiment.arm_recordings import checked_recording  # noqa: PLC0415 - is seldom needed

    checked_recording(word, "--compare")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Run the stack until a signal or `--for` stops it; return its exit code. Ctrl-C is how a
    stack without `--for` ends.
    """
    if getattr(arguments, "agents.profile") == LIST:
        console().print("\n".join(profile_lines(read_gates())), markup=False)
        return ExitCode.GOOD
    file = None if arguments.config is None else Path(arguments.config)
    settings = resolve(file, os.environ, given_flags(arguments))
    if arguments.attach:
        from foresail.attach import attach  # noqa: PLC0415 - only the chosen form is loaded

        console().print(attach(Path(settings.run.state_folder), settings.run.for_seconds))
        return ExitCode.GOOD
    _check_models(settings)
    _check_compare(settings)
    if not arguments.json:
        _print_settings(settings)
    if settings.run.virtual_time:
        from foresail.stack.virtual import run_virtual_stack  # noqa: PLC0415 - only the chosen form is loaded

        summary = run_virtual_stack(settings, quiet=arguments.json)
    else:
        from foresail.stack.real import run_real_stack  # noqa: PLC0415 - only the chosen form is loaded

        summary = run_real_stack(settings, quiet=arguments.json)
    if arguments.json:
        print_json(summary)
    else:
        print_summary(console(), summary)
    if summary.get("cluster_outage"):
        print_error(summary["cluster_outage"])
        return ExitCode.DIFFERS
    if summary.get("given_back_short"):
        print_error(summary["given_back_text"])
        return ExitCode.DIFFERS
    early = summary["status"] == "interrupted" and settings.run.for_seconds is not None
    return ExitCode.INTERRUPTED if early else ExitCode.GOOD


def _print_settings(settings: StackSettings) -> None:
    out = console()
    out.print(
        "settings that are not defaults:" if settings.origins else "all settings are defaults"
    )
    for line in settings.lines():
        out.print(f"  {line}", markup=False)
