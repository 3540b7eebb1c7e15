"""Whether a search by TPE finds better settings than chance does with as many trials.

The search is that of a file for `foresail tune`; its trials are played in this process, on virtual time. With
`--storage` each repeat is a study of its own there, and what was played before is not played again.

    python -m benchmarks.search_beats_random [--storage sqlite:///studies.db] [--plot FILE.svg]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.machine import parser, progress, report
from bus.errors import InputError
from foresail.session.job_action import play_experiment
from lab.sessions.payloads import ExperimentPayload
from lab.sessions.search import Sampler, Search, read_search
from lab.sessions.study import distributions_of, load_optuna, sampler_of

SEARCH = Path("experiments/ripples-search.yaml")
SAMPLERS: tuple[Sampler, ...] = ("tpe", "random")
Courses = dict[str, list[list[float]]]
"""By sampler, for each repeat the best score after each trial."""


def main() -> int:
    """Print the best score of each repeat, and both medians; 1 when chance is as good."""
    given = parser(__doc__)
    given.add_argument("--search", type=Path, default=SEARCH)
    given.add_argument("--trials", type=int, default=60)
    given.add_argument("--repeats", type=int, default=5)
    given.add_argument("--storage", help="keep studies there, as an Optuna URL")
    given.add_argument("--plot", type=Path, help="draw the courses as SVG")
    arguments = given.parse_args()
    search = read_search(arguments.search)
    courses: Courses = {sampler: [] for sampler in SAMPLERS}
    with progress(quiet=arguments.json) as shown:
        task = shown.add_task("trials", total=2 * arguments.repeats * arguments.trials)
        for number in range(arguments.repeats):
            for sampler in SAMPLERS:
                seeded = search.model_copy(
                    update={"sampler": sampler, "seed": arguments.seed + number}
                )
                study = _played(seeded, arguments, lambda: shown.advance(task))
                courses[sampler].append(_course(study, arguments.trials))
    rows = [_row(sampler, some) for sampler, some in courses.items()]
    text = f"{arguments.search}, best of {arguments.trials} trials; TPE's median is to be better"
    report("A search beside chance", arguments, rows, text)
    if arguments.plot is not None:
        _plot(courses, arguments.plot)
    better, chance = (row["median"] for row in rows)
    return 0 if better > chance else 1


def _played(search: Search, arguments: Any, advance: Any) -> Any:
    """Return the study of one sampler and seed, with all its trials."""
    study = load_optuna().create_study(
        study_name=f"{search.study}-{search.sampler}-{search.seed}",
        storage=arguments.storage,
        load_if_exists=True,
        direction=search.objectives[0].direction,
        sampler=sampler_of(search),
    )
    for trial in study.get_trials(states=(load_optuna().trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=load_optuna().trial.TrialState.FAIL)  # of a killed run
    for _ in range(_done(study)):
        advance()
    while _done(study) < arguments.trials:
        trial = study.ask(distributions_of(search))
        study.tell(trial, _score(search, trial.params), skip_if_finished=True)
        advance()
    return study


def _done(study: Any) -> int:
    return len(study.get_trials(states=(load_optuna().trial.TrialState.COMPLETE,)))


def _score(search: Search, values: Mapping[str, Any]) -> float:
    assert isinstance(search.payload, ExperimentPayload)
    figure = search.objectives[0].figure.removeprefix("metrics.")
    try:
        return float(play_experiment(search.payload, {**search.fixed, **values})["metrics"][figure])
    except KeyError as error:
        raise InputError("--search", figure, "name a metric of its experiment") from error


def _course(study: Any, trials: int) -> list[float]:
    states = (load_optuna().trial.TrialState.COMPLETE,)
    return list(accumulate((one.value for one in study.get_trials(states=states)[:trials]), max))


def _row(sampler: str, some: list[list[float]]) -> dict[str, Any]:
    best = [course[-1] for course in some]
    return {
        "sampler": sampler,
        **{f"repeat {number}": round(value, 4) for number, value in enumerate(best, 1)},
        "median": round(statistics.median(best), 4),
    }


def _plot(courses: Courses, path: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only where a picture is asked for

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 4))
    for place, (sampler, some) in enumerate(courses.items()):
        trials = range(1, len(some[0]) + 1)
        for course in some:
            axes.plot(trials, course, color=f"C{place}", alpha=0.3)
        median = [statistics.median(values) for values in zip(*some, strict=True)]
        axes.plot(trials, median, color=f"C{place}", linewidth=2, label=f"{sampler}, median")
    axes.set_xlabel("trials")
    axes.set_ylabel("best outcome score so far, $/h")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
