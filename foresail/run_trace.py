"""`foresail run-trace FILE OUT`: the earlier system's trace played as an episode, into a recording."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bus.exit_codes import ExitCode
from foresail.common_form import add_common_form, common_options
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.run_log import add_run, note_artifact, stage
from foresail.verbs import Verb
from projections.figures import signed_score
from schemas.wording import count_text

VERB = Verb(
    45, "play a trace of the earlier system: decisions and rewards of its rows, as a recording"
)
EXAMPLES = (
    (
        "run-trace examples/predecessor/trace.jsonl episode.fslog",
        "what its rules decide on its rows",
    ),
    (
        "run-trace rows.jsonl part.fslog --offset 100 --max-rows 50",
        "a part; explain, report and what-if read it",
    ),
    (
        "run-trace clusterdata-2019/a a.fslog --form google2019 --max-nodes 32 --max-rows 200",
        "a trace of events and usage windows, a row for each five minutes",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    from lab.recordings.predecessors.options import FORMS, MODELS, PROFILE  # noqa: PLC0415 - quick to import

    parser.add_argument("file", metavar="FILE", type=Path,
                        help="a trace or raw metrics (.json, .jsonl, .csv), or with --form tables")  # fmt: skip
    parser.add_argument("out", metavar="OUT", type=Path, help="a new recording")
    parser.add_argument("--form", choices=FORMS,
                        help="what it is (default: a trace or metrics, whichever it is)")  # fmt: skip
    parser.add_argument("--profile", default=PROFILE, metavar="NAME",
                        help="whose rules decide (default: %(default)s)")  # fmt: skip
    parser.add_argument("--model", default=MODELS[0], choices=MODELS,
                        help="risk and demand: the rows' own (given/1), those and no less risk than the formula "
                        "sees, or the formula's (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--offset", type=int, default=0, metavar="N", help="leave out the first N rows"
    )
    parser.add_argument("--max-rows", type=int, metavar="N", help="play at most N rows")
    parser.add_argument("--max-nodes", type=int, metavar="N",
                        help="play the first N nodes by name alone")  # fmt: skip
    parser.add_argument("--cluster", default="trace", metavar="NAME",
                        help="what its cluster is called (default: %(default)s)")  # fmt: skip
    add_making(parser)
    add_common_form(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_run(parser)


def add_making(parser: argparse.ArgumentParser) -> None:
    """Add how rows are made where a file has none."""
    group = parser.add_argument_group("rows that are made of metrics or of a trace's tables")
    group.add_argument("--interval", type=seconds, metavar="DURATION",
                       help="the stretch of a row (default: 1m of metrics, 5m of tables)")  # fmt: skip
    group.add_argument("--max-tasks", type=int, default=64, metavar="N",
                       help="list at most N tasks a row; all are counted (default: %(default)s)")  # fmt: skip
    group.add_argument("--cell", metavar="NAME", help="play one cluster of the tables alone")
    for what in ("cpu", "memory"):
        group.add_argument(f"--node-{what}", type=float, default=1.0, metavar="X",
                           help=f"{what} of a node in the trace's unit, where no table of machines says it "
                           "(default: 1, the largest machine of Google's traces)")  # fmt: skip


def main(arguments: argparse.Namespace) -> ExitCode:
    """Play, and say what was decided.

    Raises:
        InputError: the file cannot be used, a number does not fit, or the new file cannot be written.
    """
    from lab.recordings.predecessors.episode import play_trace  # noqa: PLC0415 - loads numpy
    from lab.recordings.predecessors.options import Episode  # noqa: PLC0415 - likewise quick

    episode = Episode(
        profile=arguments.profile,
        model=arguments.model,
        most_rows=arguments.max_rows,
        most_nodes=arguments.max_nodes,
        offset=arguments.offset,
        cluster=arguments.cluster,
        form=arguments.form,
        cell=arguments.cell,
        interval_seconds=arguments.interval,
        most_tasks=arguments.max_tasks,
        node_size=(arguments.node_cpu, arguments.node_memory),
        common=common_options(arguments),
    )
    with stage("episode") as told:
        played = play_trace(arguments.file, arguments.out, episode)
        told.advance(1.0, samples=played.rows)
    note_artifact(arguments.out, "recording")
    if arguments.json:
        print_json({"file": arguments.out.name, **asdict(played)})
        return ExitCode.GOOD
    out = console()
    mean = "" if played.reward_mean is None else f", mean reward {signed_score(played.reward_mean)}"
    out.print(f"{count_text(played.rows, 'row')} played{mean}: {arguments.out.name}", markup=False)
    table = Table("decided", "times", box=None, pad_edge=False)
    for kind, count in played.decisions.items():
        table.add_row(kind, str(count))
    out.print(table)
    return ExitCode.GOOD
