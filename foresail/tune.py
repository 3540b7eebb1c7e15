"""`foresail tune FILE`: searches settings, on the development split alone, and confirms the winner once on the other.

The study is Optuna's: it can be stopped and gone on with, shared by a storage URL, and looked at with
optuna-dashboard. A trial that fails is counted and shown; too many end the study.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail import stopping
from foresail.flags import seconds
from foresail.output import console, print_error, print_json
from foresail.progress import doing_shares
from foresail.run_log import add_run, how_it_ended
from foresail.session.engine_choice import add_engine, engine_of, environment_given
from foresail.session.place import SessionTaken, add_place, folder_of, owned_log
from foresail.session.ray_notes import ray_noted
from foresail.session.stack_copy import copied
from foresail.session.training_jobs import check_booster
from foresail.verbs import Verb
from lab.learning.libraries import check_installed
from lab.sessions.attempts import JobStart
from lab.sessions.limits import Limits
from lab.sessions.payloads import check_files
from lab.sessions.presets import PRESETS, preset
from lab.sessions.search import Search, read_search
from lab.sessions.session_log import SessionLog
from lab.sessions.study import StudyRunner, StudyState, load_optuna, parameters_text
from lab.sessions.training_payloads import BoosterPayload, PolicyPayload
from projections.figures import number
from schemas.wording import count_text

VERB = Verb(
    188, "search settings on the development split, and confirm the winner once on the test split"
)
EXAMPLES = (
    ("tune search.yaml", "as many trials as the file says; the same command goes on"),
    ("tune search.yaml --engine ray --max-parallel 16", "on a Ray cluster"),
    (
        "tune search.yaml --confirm experiments/short.toml --profile-out tuned.toml",
        "then the gate, once, on the test split",
    ),
    (
        "tune search.yaml --confirm experiments/short.toml --profile-out tuned.toml --adopt .foresail",
        "and the stack that runs here shadows it, then uses it",
    ),
    ("tune --preset reward-search --recording run.fslog", "the predecessors' search of weights"),
    (
        "tune --preset policy-search --trials 5",
        "theirs of weights and PPO; needs foresail[learn], too",
    ),
    ("tune --preset booster-profiles --dataset mine", "their four boosters of failure risk"),
)
EXIT_CODES = {
    ExitCode.DIFFERS: "too many trials failed, none held every constraint, or the gate of `--confirm` does not pass",
    ExitCode.ANOTHER_WRITER: "another process runs this study from here",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a search, YAML or JSON (docs/sessions.md)"
    )
    parser.add_argument(
        "--preset", choices=tuple(PRESETS), help="a search of the predecessors' instead"
    )
    parser.add_argument("--recording", metavar="FILE", help="what reward-search is searched on")
    parser.add_argument("--dataset", metavar="NAME",
                        help="what booster-profiles trains on, of `foresail forecast dataset`")  # fmt: skip
    parser.add_argument("--trials", type=int, metavar="N", help="instead of the file's")
    parser.add_argument("--storage", metavar="URL",
                        help="of the study, as Optuna takes it (default: SQLite in the state folder)")  # fmt: skip
    parser.add_argument("--max-parallel", type=int, default=1, metavar="N",
                        help="trials at the same time (default: %(default)s)")  # fmt: skip
    parser.add_argument("--timeout-per-trial", type=seconds, default=3_600.0, metavar="DURATION",
                        help="a trial that takes longer has failed (default: 1h)")  # fmt: skip
    parser.add_argument("--confirm", metavar="EXPERIMENT",
                        help="then play the winner on the test split beside this experiment's arm")  # fmt: skip
    parser.add_argument("--profile-out", metavar="FILE",
                        help="with --confirm: where the settings are written if the gate passes")  # fmt: skip
    parser.add_argument("--adopt", metavar="FOLDER",
                        help="let the stack that runs in this state folder shadow --profile-out once the gate has "
                        "passed, then use it")  # fmt: skip
    parser.add_argument("--shadow-for", type=seconds, default=900.0, metavar="DURATION",
                        help="with --adopt: how long it is shadowed (default: 15m)")  # fmt: skip
    add_place(parser)
    add_engine(parser)
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Search, and confirm where that is asked for.

    Raises:
        InputError: the search, the storage, the engine or an extra is not there or cannot be used.
    """
    load_optuna()
    search = _search_of(arguments)
    check_files(search.payload)
    if isinstance(search.payload, PolicyPayload) and arguments.engine == "local":
        check_installed()
    if isinstance(search.payload, BoosterPayload) and arguments.engine == "local":
        check_booster(search.payload)
    if arguments.confirm is not None and search.circular:
        raise InputError("--confirm", arguments.confirm, f"nothing to confirm: {search.circular}")
    if (arguments.profile_out is None) != (arguments.confirm is None):
        raise InputError("--confirm", arguments.confirm, "give it and --profile-out, or neither")
    if arguments.adopt is not None and arguments.confirm is None:
        raise InputError("--adopt", arguments.adopt, "only what --confirm lets pass is adopted")
    try:
        state = stopping.run(_run(arguments, search))
    except SessionTaken as error:
        print_error(str(error))
        return ExitCode.ANOTHER_WRITER
    _show(arguments, search, state)
    if not state.best:
        return ExitCode.DIFFERS
    if arguments.confirm is None:
        return ExitCode.GOOD
    from foresail.session.confirming import confirm  # noqa: PLC0415 - the whole stack

    code = confirm(arguments, search, state.best[0])
    if code != ExitCode.GOOD or arguments.adopt is None:
        return code
    from foresail.session.adopting import adopt  # noqa: PLC0415

    profile = Path(arguments.profile_out)
    adopted = stopping.run(adopt(Path(arguments.adopt), profile, arguments.shadow_for))
    return verdict(differs=not adopted)


def _search_of(arguments: argparse.Namespace) -> Search:
    if (arguments.file is None) == (arguments.preset is None):
        raise InputError("FILE", arguments.file, "give a search, or --preset")
    search = (
        read_search(Path(arguments.file))
        if arguments.preset is None
        else preset(arguments.preset, arguments.recording, arguments.dataset)
    )
    if arguments.trials is None:
        return search
    if arguments.trials < 1:
        raise InputError("--trials", arguments.trials, "give 1 or more")
    if search.sampler == "grid" and arguments.trials > len(search.grid()):
        raise InputError("--trials", arguments.trials, f"the grid has {len(search.grid())}")
    return search.model_copy(update={"trials": arguments.trials})


async def _run(arguments: argparse.Namespace, search: Search) -> StudyState:
    session = f"tune-{search.study}"
    folder = folder_of(arguments.state, session)
    async with owned_log(folder, session) as log, copied(log, arguments.state):
        storage = arguments.storage or f"sqlite:///{(folder / 'study.db').absolute()}"
        engine = engine_of(arguments, session, folder)
        python = sys.executable if arguments.engine == "local" else "python"
        start = JobStart(python, environment_given(arguments), engine.result_path)
        limits = Limits(arguments.max_parallel, arguments.timeout_per_trial)
        limits.check()
        with doing_shares(f"study {search.study}") as show:

            async def on_change(state: StudyState) -> None:
                show(_progress(state), state.done / max(1, state.trials))
                await _note(log, search, state, arguments.engine, "running")

            runner = StudyRunner(
                search, engine, start, limits, folder / "trials", storage, on_change
            )
            if not runner.study.trials:
                shutil.rmtree(folder / "ended", ignore_errors=True)  # of a study that is no more
            try:
                await engine.open()
                async with ray_noted(log, engine, lambda: runner.state.trainings):
                    state = await runner.run()
            except BaseException as error:
                reason = how_it_ended(error)[1]
                await _note(log, search, runner.state, arguments.engine, "failed", reason)
                raise
            finally:
                await engine.close()
        await _note(log, search, state, arguments.engine, "complete")
        return state


async def _note(
    log: SessionLog, search: Search, state: StudyState, engine: str, status: str, reason: str = ""
) -> None:
    best = state.best[0] if state.best else None
    await log.note_study(
        status=status,
        study=state.study,
        trials=state.trials,
        completed_trials=state.completed,
        failed_trials=state.failed,
        pruned_trials=state.pruned,
        trial=None if best is None else best.number,
        best_score=() if best is None else best.values,
        best_params={} if best is None else best.parameters,
        history=tuple(state.history),
        engine=engine,
        why=reason,
        objectives=tuple(one.model_dump() for one in search.objectives),
        circular=search.circular,
    )


def _progress(state: StudyState) -> str:
    best = f", best {number(state.best[0].values[0])}" if state.best else ""
    failed = f", {state.failed} failed" if state.failed else ""
    return f"{state.done} of {state.trials} trials{failed}{best}"


def _show(arguments: argparse.Namespace, search: Search, state: StudyState) -> None:
    if arguments.json:
        print_json({**asdict(state), "circular": search.circular})
        return
    out = console()
    counts = f"{state.completed} completed, {state.pruned} given up early, {state.failed} failed"
    out.print(f"{search.study}: {count_text(state.done, 'trial')}: {counts}", markup=False)
    for why in dict.fromkeys(state.errors[-3:]):
        out.print(f"  failed: {why}", markup=False, style="red")
    if search.circular:
        out.print(f"circular: {search.circular}", markup=False, style="yellow")
    if not state.best:
        out.print("no trial holds every constraint")
        return
    out.print(_table(search, state))


def _table(search: Search, state: StudyState) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("trial", justify="right")
    for objective in search.objectives:
        table.add_column(objective.figure, justify="right", overflow="fold")
    table.add_column("settings", overflow="fold")
    known: Mapping[str, Any] = {"metrics": state.baseline, **state.baseline}
    from lab.sessions.results import figure_of  # noqa: PLC0415

    figures = [figure_of(dict(known), one.figure) for one in search.objectives]
    table.add_row("baseline", *("" if one is None else number(one) for one in figures), "")
    for best in state.best:
        values = (number(value) for value in best.values)
        table.add_row(str(best.number), *values, parameters_text(best.parameters))
    return table
