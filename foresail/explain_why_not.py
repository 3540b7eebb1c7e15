"""`foresail explain KIND NAME --why-not QUESTION`: answers from a live cluster, by reading rights alone."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.explain_consolidating import explain_consolidating
from foresail.explain_scaling import explain_scaling
from foresail.explain_scheduling import explain_scheduling_of
from foresail.explain_starting import explain_starting
from foresail.explanation.consolidating_screen import consolidating_screen
from foresail.explanation.scaling_screen import scaling_screen
from foresail.explanation.scheduling_screen import scheduling_screen
from foresail.explanation.starting_screen import starting_screen
from foresail.output import page, print_json
from foresail.twin.place import find_kubeconfig
from projections.objects.names import ObjectKind
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.official_client import OfficialClientTransport


@dataclass(frozen=True, slots=True)
class _Question:
    answers: Mapping[ObjectKind, Callable[[Transport, str], Awaitable[Any]]]
    """What answers it, by the kind of object that is asked about."""
    screen: Callable[[Any], RenderableType]


QUESTIONS: Mapping[str, _Question] = {
    "schedule": _Question({ObjectKind.POD: explain_scheduling_of}, scheduling_screen),
    "scale": _Question({ObjectKind.HPA: explain_scaling}, scaling_screen),
    "consolidate": _Question({ObjectKind.NODE: explain_consolidating}, consolidating_screen),
    "start": _Question(
        {
            kind: partial(explain_starting, kind=kind)
            for kind in (ObjectKind.POD, ObjectKind.WORKLOAD)
        },
        starting_screen,
    ),
}


def add_why_not(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of questions to a live cluster."""
    parser.add_argument(
        "--why-not",
        choices=tuple(QUESTIONS),
        metavar="schedule|scale|consolidate|start",
        help="ask a live cluster, by reading alone: of a pod what each node says and what would let it run, of an "
        "hpa what its metrics ask for and what holds it back, of a node what keeps its autoscaler from removing it, "
        "of a pod or workload what it waits for until it is ready",
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="with --why-not: the cluster (default: the running simulated one)",
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="with --why-not: context of the kubeconfig (default: its current one)",
    )


async def run_why_not(arguments: argparse.Namespace) -> ExitCode:
    """Read a cluster and answer.

    Raises:
        InputError: the question does not fit, there is no such object, or the cluster cannot be read.
    """
    question = QUESTIONS[arguments.why_not]
    kind = _asked(arguments, question)
    given = arguments.kubeconfig
    path = Path(given) if given else find_kubeconfig(Path(arguments.state), admin=False)
    transport = OfficialClientTransport(path, arguments.context)
    try:
        found = await question.answers[kind](transport, arguments.name)
    except (ClusterUnavailable, ClusterRefused) as error:
        raise InputError("--kubeconfig", path, f"it has to be readable ({error})") from error
    finally:
        await transport.close()
    if arguments.json:
        print_json(found.as_json())
    else:
        page().print(question.screen(found))
    return ExitCode.GOOD


def _asked(arguments: argparse.Namespace, question: _Question) -> ObjectKind:
    """Return the kind of object that the question is about."""
    kinds = " or ".join(question.answers)
    asked = " or ".join(f"`foresail explain {kind} NAME`" for kind in question.answers)
    if arguments.decision not in question.answers:
        raise InputError("--why-not", arguments.why_not, f"ask it of one {kinds}: {asked}")
    kind = ObjectKind(arguments.decision)
    if arguments.name is None:
        raise InputError(
            "NAME", "(not given)", f"name the {kind}, as in `foresail explain {kind} NAME`"
        )
    if arguments.recording is not None:
        remedy = "recordings hold no specs; give the cluster by --kubeconfig"
        raise InputError("--why-not", arguments.why_not, remedy)
    return kind
