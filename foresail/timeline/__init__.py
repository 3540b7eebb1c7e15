"""`foresail timeline [WORKLOAD|NODE|--incident last|--list]`: one incident as a chain with lags.

When our prediction said so, when demand or risk rose, when autoscalers, controllers, scheduler and
kubelets reacted, how long pods waited and why, and when our action took effect. Reads the running
stack, the last stack's log, or a recording.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.log_source import Since, Source, add_source, open_source, reading_verdict
from foresail.output import page, print_json
from foresail.progress import reading_source
from foresail.remote import remote_of
from foresail.timeline.html import page_of
from foresail.timeline.terminal import incident_view, list_view
from foresail.verbs import Verb
from projections.incidents.chain import incidents
from projections.incidents.history import READS, ClusterHistory
from projections.incidents.incident import Incident

VERB = Verb(60, "show one incident as a chain of events, with the time from each to the next")
EXAMPLES = (
    ("timeline --list", "every incident with its number"),
    ("timeline web", "the newest incident of the workload web"),
    ("timeline --incident 3 --html incident.html", "one incident as a page to send"),
)

LAST = "last"
NOTHING = "no incident: no node went down, no pod waited 30 s for a node, no autoscaler had to act, no rise foreseen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "place",
        metavar="WORKLOAD|NODE",
        nargs="?",
        help="show the newest incident of this workload (name, or namespace/kind/name) or node",
    )
    parser.add_argument(
        "--incident", metavar="N|last", help="number of an incident in --list (default: last)"
    )
    parser.add_argument("--list", action="store_true", help="list every incident with its number")
    parser.add_argument("--html", metavar="FILE", help="also write one self-contained HTML page")
    parser.add_argument(
        "--since",
        type=seconds,
        metavar="DURATION",
        help="read only this much recorded time before the end, such as 2h",
    )
    add_source(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print one incident, or the list.

    Raises:
        InputError: there is no such incident.
    """
    async with (
        open_source(arguments.recording, Path(arguments.state), remote_of(arguments)) as source,
        reading_source(source, "reading the log"),
    ):
        history = await read_history(source, arguments.since)
    code = reading_verdict(
        source, nothing_compared=history.first_seconds is None, partial=arguments.partial
    )
    known = incidents(history)
    if arguments.list:
        if arguments.json:
            print_json([incident.model_dump(mode="json", exclude={"curves"}) for incident in known])
        else:
            page().print(list_view(known) if known else NOTHING)
        return code
    if not known and arguments.place is None and arguments.incident in (None, LAST):
        page().print(NOTHING)
        return code
    chosen = choose(known, arguments.incident, arguments.place)
    if arguments.html is not None:
        write_page(Path(arguments.html), page_of(chosen))
    if arguments.json:
        print_json(chosen.model_dump(mode="json"))
    else:
        page().print(incident_view(chosen, history.omitted, history.unreadable))
        if arguments.html is not None:
            page().print(f"drawn in {arguments.html}", markup=False)
    return code


async def read_history(source: Source, since_seconds: float | None) -> ClusterHistory:
    """Read a log once and return what incidents are derived from."""
    start = 1 if since_seconds is None else await source.start_of(Since(seconds=since_seconds))
    history = ClusterHistory()
    async for entry in read_events(source.messages(READS, start_seq=start)):
        if entry.event is None:
            history.unreadable += 1
        else:
            history.add(entry.event)
    return history


def choose(known: list[Incident], incident_id: str | None, place: str | None) -> Incident:
    """Return the incident that is meant: of a place the newest, else by number, else the newest.

    Raises:
        InputError: there is none.
    """
    about = (
        known if place is None else [incident for incident in known if is_about(incident, place)]
    )
    if not about:
        places = sorted(
            {name for incident in known for name in (*incident.nodes, *incident.workloads)}
        )
        shown = ", ".join(places[:8]) or "none had any"
        raise InputError("WORKLOAD|NODE", place, f"no incident of it; those that had one: {shown}")
    if incident_id is None or incident_id == LAST:
        return about[-1]
    chosen = [incident for incident in about if str(incident.number) == incident_id]
    if not chosen:
        numbers = ", ".join(str(incident.number) for incident in about)
        raise InputError("--incident", incident_id, f"give `last` or one of {numbers}")
    return chosen[0]


def is_about(incident: Incident, place: str) -> bool:
    """Say whether a node or workload is among an incident's places."""
    ends = (name for name in incident.workloads if name == place or name.endswith(f"/{place}"))
    return place in incident.nodes or any(ends)
