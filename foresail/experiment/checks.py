"""Everything that an experiment names is looked at before its first trial, so that none fails hours later."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from foresail.experiment.drawn_world import with_files
from foresail.experiment.trial import trial_settings
from foresail.run_settings import RunSettings
from foresail.stack.preflight import check_file
from foresail.stack.provisioning import provisioning_of
from foresail.stack.workload import choose_workload
from lab.experiments.spec import Experiment, Split
from twin.port.files import read_scenario


def check_trials(experiment: Experiment, split: Split) -> None:
    """Read workloads, scenarios, machines and every arm's settings.

    Raises:
        InputError: one of them cannot be used.
    """
    seen: set[str] = set()
    for trial in experiment.trials(split):
        if f"arm {trial.arm.name}" not in seen or f"workload {trial.workload.name}" not in seen:
            with with_files(trial) as there:
                _check_world(trial_settings(there, None).run)
        seen |= {f"arm {trial.arm.name}", f"workload {trial.workload.name}"}


def _check_world(run: RunSettings) -> None:
    check_file("scenario", run.scenario)
    check_file("machines", run.machines)
    provisioning_of(run)
    if run.scenario is not None:
        read_scenario(Path(run.scenario))
    with TemporaryDirectory(prefix="foresail-") as folder:
        choose_workload(run, Path(folder))
