"""`foresail run-trace FILE OUT`: the earlier system's trace played as an episode, into a recording."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bus.exit_codes import ExitCode
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
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    from lab.recordings.predecessors.options import MODELS, PROFILE  # noqa: PLC0415 - quick to import

    parser.add_argument("file", metavar="FILE", type=Path, help="a trace (.json, .jsonl)")
    parser.add_argument("out", metavar="OUT", type=Path, help="a new recording")
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
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_run(parser)


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
