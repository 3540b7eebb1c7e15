"""`foresail rbac`: the least rights of each process at the API server, as manifests that kubectl applies."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys

import yaml

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.output import print_json, print_note
from foresail.verbs import Verb
from schemas.actions import ActionKind
from services.executor.settings import NODE_LABEL, HandBack
from services.rights.executor import ON_NODES
from services.rights.installation import ACCOUNTS, Grants, granted_rights, manifests

VERB = Verb(125, "print the least rights that each process needs, as manifests for kubectl")
EXAMPLES = (
    ("rbac", "what shadow mode needs: reading"),
    (
        "rbac --actions replicate,admission --namespaces shop",
        "and what these two kinds write in one namespace",
    ),
    (
        "rbac --actions replicate --namespaces shop --object-events",
        "and events on what was changed",
    ),
    ("rbac --apply --context kind-dev", "show what shadow mode needs, ask, and apply it"),
    ("rbac --actions migrate --namespaces shop --json", "one row for each right, with its reason"),
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
KINDS = tuple(kind.value for kind in ActionKind if kind is not ActionKind.NOOP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--actions",
        metavar="KINDS",
        help="kinds of action that may be done, such as replicate,migrate (default: none, shadow mode)",
    )
    parser.add_argument(
        "--namespaces", metavar="NAMES", help="exact names of the namespaces that they may write in"
    )
    parser.add_argument(
        "--writable-nodes",
        metavar="LABEL",
        help="key=value of the nodes that they may write, as executor.writable_nodes (default: none)",
    )
    parser.add_argument(
        "--hand-back",
        choices=[one.value for one in HandBack],
        default=HandBack.NONE.value,
        help="who takes machines of nodes that sleep, as executor.hand_back (default: %(default)s)",
    )
    parser.add_argument(
        "--object-events",
        action="store_true",
        help="events on what was changed may be written, too, as executor.object_events",
    )
    parser.add_argument(
        "--process",
        choices=sorted(ACCOUNTS),
        help="the rights of this one alone (default: all that have any)",
    )
    parser.add_argument(
        "--install-namespace",
        default="foresail",
        metavar="NAME",
        help="namespace that the processes run in (default: %(default)s)",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="then let kubectl apply what was printed, once you have said yes",
    )
    parser.add_argument("--yes", action="store_true", help="with --apply: do not ask")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="with --apply: of the cluster (default: kubectl's own)"
    )
    parser.add_argument("--context", metavar="NAME", help="with --apply: in the kubeconfig")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Print manifests, or one JSON document of every right.

    Raises:
        InputError: a kind, name or label that there is not, or kinds without a place to write in.
    """
    asked = _asked(arguments)
    if arguments.json and arguments.apply:
        raise InputError(
            "--json", "--apply", "leave one of both out: what is applied is shown first"
        )
    if arguments.json:
        print_json(
            [
                {
                    "process": process,
                    "right": right.text,
                    "place": right.place.value,
                    "why": right.why,
                }
                for process, rights in granted_rights(asked).items()
                for right in rights
                if arguments.process in {None, process}
            ]
        )
        return ExitCode.GOOD
    sys.stdout.write(
        f"# The least rights of Foresail's processes; made by `foresail {_line(asked)}`.\n"
    )
    objects = manifests(asked, arguments.process)
    text = yaml.safe_dump_all(objects, sort_keys=False, width=120)
    sys.stdout.write(text)
    return _apply(arguments, text, len(objects)) if arguments.apply else ExitCode.GOOD


def _apply(arguments: argparse.Namespace, text: str, count: int) -> ExitCode:
    """Let kubectl apply manifests that were shown; with `--yes` without asking.

    Raises:
        InputError: there is no kubectl, or nobody to ask.
    """
    program = shutil.which("kubectl")
    if program is None:
        remedy = "install kubectl, or pipe what was printed to a machine that has it"
        raise InputError("--apply", "kubectl", remedy)
    place = ["--kubeconfig", arguments.kubeconfig] if arguments.kubeconfig else []
    place += ["--context", arguments.context] if arguments.context else []
    if not arguments.yes and not _said_yes(count, arguments.context):
        print_note("nothing was applied")
        return ExitCode.DIFFERS
    sys.stdout.flush()
    applied = subprocess.run(
        [program, *place, "apply", "-f", "-"], input=text, text=True, check=False
    )
    return ExitCode.GOOD if applied.returncode == 0 else ExitCode.FAILED


def _said_yes(count: int, context: str | None) -> bool:
    if not sys.stdin.isatty():
        raise InputError("--apply", "no terminal", "add --yes, since nobody can be asked")
    where = f"context {context}" if context else "kubectl's current context"
    sys.stderr.write(f"Apply these {count} objects to {where}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _line(asked: Grants) -> str:
    words = ["rbac"]
    words += ["--actions", ",".join(asked.actions)] if asked.actions else []
    words += ["--namespaces", ",".join(asked.namespaces)] if asked.namespaces else []
    words += ["--object-events"] if asked.object_events else []
    return " ".join(words)


def _asked(arguments: argparse.Namespace) -> Grants:
    actions = _words(arguments.actions)
    for word in actions:
        if word not in KINDS:
            raise InputError("--actions", word or "(empty)", f"give some of {', '.join(KINDS)}")
    namespaces = _words(arguments.namespaces)
    named = (("--namespaces", namespaces), ("--install-namespace", (arguments.install_namespace,)))
    for flag, names in named:
        for name in names:
            if not _NAME.fullmatch(name):
                raise InputError(flag, name or "(empty)", "give exact names, such as shop")
    label = arguments.writable_nodes or ""
    if label and not re.fullmatch(NODE_LABEL, label):
        raise InputError("--writable-nodes", label, "give a label, such as pool=shop")
    on_nodes = [kind for kind in actions if kind in ON_NODES]
    if on_nodes and not label:
        remedy = "it writes nodes; name them, such as --writable-nodes pool=shop"
        raise InputError("--actions", ",".join(on_nodes), remedy)
    if set(actions) - ON_NODES and not namespaces:
        raise InputError(
            "--namespaces", "(none)", "name where these actions may write, such as shop,batch"
        )
    return Grants(
        tuple(dict.fromkeys(actions)),
        tuple(dict.fromkeys(namespaces)),
        label,
        HandBack(arguments.hand_back),
        arguments.install_namespace,
        arguments.object_events,
    )


def _words(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split(","))
