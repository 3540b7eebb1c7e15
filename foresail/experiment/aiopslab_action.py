"""`foresail experiment aiopslab [FAMILY ...]`: AIOpsLab's faults on the twin, answered and scored by its rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.events import read_entry
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.experiment.aiopslab_preflight import preflight
from foresail.experiment.trap_run import play_log
from foresail.output import console, print_json
from lab.aiopslab.catalogue import PROBLEMS, Catalogue, Family, read_catalogue
from lab.aiopslab.episode import Episode, read_episode
from lab.aiopslab.scoring import ProblemScore, score_family
from lab.traps.results import CheckResult, answer
from lab.traps.trap import Trap, read_trap
from lab.traps.trap_log import TrapLog
from projections.figures import number, signed_text
from schemas.envelope import Event

FOLDER = "experiments/aiopslab"
PROFILE = "foresail"

EXAMPLES = (
    ("experiment aiopslab --list", "its 89 problems: what is played here, and why the rest is not"),
    ("experiment aiopslab --keep episodes", "each fault that the twin can play, with recordings"),
    (
        "experiment aiopslab pod_failure_hotel_res --recording episodes/pod_failure_hotel_res.fslog",
        "score what was recorded",
    ),
    ("experiment aiopslab --preflight", "what AIOpsLab itself would need of this machine"),
)


@dataclass(frozen=True, slots=True)
class PlayedFamily:
    """A family's episode, its problems' scores and the checks of what was to be done."""

    family: Family
    episode: Episode
    scores: tuple[ProblemScore, ...]
    checks: tuple[CheckResult, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "names", metavar="FAMILY", nargs="*", help="families or ids; none: all that are played"
    )
    parser.add_argument(
        "--problems",
        metavar="FOLDER",
        default=FOLDER,
        help=f"catalogue and worlds (default: {FOLDER})",
    )
    parser.add_argument(
        "--profile", metavar="NAME", default=PROFILE, help=f"policy profile (default: {PROFILE})"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keep a recording of each episode there")
    parser.add_argument(
        "--recording",
        metavar="FILE",
        help="score this recording of one family instead of playing it",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--list", action="store_true", help="list every family and whether it is played here"
    )
    what.add_argument(
        "--preflight",
        action="store_true",
        help="say what AIOpsLab itself needs; exit code 1: it lacks some",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="of the cluster for --preflight")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Play, score and show.

    Raises:
        InputError: the catalogue, a world, a recording or the profile cannot be used.
    """
    if arguments.preflight:
        return _preflight(arguments)
    folder = Path(arguments.problems)
    catalogue = read_catalogue(folder)
    if arguments.list:
        _list(catalogue, as_json=arguments.json)
        return ExitCode.GOOD
    families = _chosen(catalogue, arguments.names)
    if arguments.recording and len(families) != 1:
        raise InputError("--recording", arguments.recording, "name the one family that it is of")
    if arguments.keep:
        Path(arguments.keep).mkdir(parents=True, exist_ok=True)
    played = tuple(_play(family, folder, arguments) for family in families)
    if arguments.json:
        print_json([_as_json(one) for one in played])
    else:
        _show(played)
    return (
        ExitCode.GOOD
        if all(check.holds for one in played for check in one.checks)
        else ExitCode.DIFFERS
    )


def _chosen(catalogue: Catalogue, names: Sequence[str]) -> tuple[Family, ...]:
    families = tuple(dict.fromkeys(catalogue.named(name) for name in names)) or catalogue.played
    for family in families:
        if family.left_out:
            raise InputError("FAMILY", family.name, f"it is not played here: {family.left_out}")
    return families


def _play(family: Family, folder: Path, arguments: argparse.Namespace) -> PlayedFamily:
    trap = read_trap(folder / PROBLEMS / f"{family.name}.toml")
    log = TrapLog()
    if arguments.recording:
        events = list(_events(Path(arguments.recording)))
        for event in events:
            log.take(event)
        episode = read_episode(events)
    else:
        episode = Episode()

        def listen(event: Event[Any]) -> None:
            log.take(event)
            episode.take(event)

        keep = Path(arguments.keep) / f"{family.name}.fslog" if arguments.keep else None
        play_log(trap, arguments.profile, folder, listen, keep)
    scores = score_family(family, episode.findings, _fault_seconds(trap, episode))
    return PlayedFamily(family, episode, scores, answer(trap, arguments.profile, log).results)


def _events(path: Path) -> Iterator[Event[Any]]:
    for message in open_recording(path):
        event = read_entry(message).event
        if event is not None:
            yield event


def _fault_seconds(trap: Trap, episode: Episode) -> float:
    """Return the cluster time of the fault; its begin where there is none."""
    first = min((float(fault.get("at_seconds", 0.0)) for fault in trap.faults), default=0.0)
    return (episode.first_seconds or 0.0) + first


def _preflight(arguments: argparse.Namespace) -> ExitCode:
    found = preflight(arguments.kubeconfig)
    if arguments.json:
        print_json(found)
    else:
        console().print(f"AIOpsLab: {found['status']}", markup=False)
        for blocker in found["blockers"]:
            console().print(f"  {blocker}", markup=False, soft_wrap=True)
    return ExitCode.DIFFERS if found["blockers"] else ExitCode.GOOD


def _list(catalogue: Catalogue, *, as_json: bool) -> None:
    if as_json:
        rows = [
            {**family.model_dump(mode="json"), "problem_ids": list(family.problem_ids)}
            for family in catalogue.family
        ]
        print_json({"source": catalogue.source, "families": rows})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("family", "ids", "fault", "symptom", "here"):
        table.add_column(heading, overflow="fold")
    for family in catalogue.family:
        here = f"not played: {family.left_out}" if family.left_out else f"played: {family.expected}"
        table.add_row(family.name, str(len(family.problem_ids)), family.fault, family.symptom, here)
    console().print(table)
    played = sum(len(family.problem_ids) for family in catalogue.played)
    console().print(
        f"{played} of {len(catalogue.problem_ids)} problems are played; {catalogue.source}",
        markup=False,
    )


def _show(played: Sequence[PlayedFamily]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("problem", "answer", "score", "done", "rewards A, B, C"):
        table.add_column(heading, overflow="fold")
    for one in played:
        for place, scored in enumerate(one.scores):
            first = place == 0
            table.add_row(
                scored.problem_id,
                _answer_text(scored),
                _score_text(scored),
                _done_text(one) if first else "",
                ", ".join(signed_text(amount) for amount in one.episode.rewards.values())
                if first
                else "",
            )
    console().print(table)
    scores = [scored for one in played for scored in one.scores]
    console().print(f"{sum(scored.solved for scored in scores)} of {len(scores)} problems solved")


def _answer_text(scored: ProblemScore) -> str:
    if scored.answer is None:
        return "none given" if "system_level_correct" in scored.score else "submit()"
    return scored.answer if isinstance(scored.answer, str) else ", ".join(scored.answer) or "none"


def _score_text(scored: ProblemScore) -> str:
    shown = ("Detection Accuracy", "Localization Accuracy", "TTD", "TTL", "success")
    parts = [
        f"{name} {number(value) if isinstance(value, float) else value}"
        for name, value in scored.score.items()
        if name in shown and value is not None
    ]
    return ", ".join(parts)


def _done_text(one: PlayedFamily) -> str:
    failed = [check.check.text for check in one.checks if not check.holds]
    actions = ", ".join(f"{count} {label}" for label, count in one.episode.actions.items())
    return f"{actions or 'nothing'}; " + (
        f"FAILS: {', '.join(failed)}" if failed else "as expected"
    )


def _as_json(one: PlayedFamily) -> dict[str, Any]:
    return {
        "family": one.family.name,
        "findings": [
            {"service": each.service, "sign": each.sign, "at_seconds": each.at_seconds}
            for each in one.episode.findings.found
        ],
        "actions": one.episode.actions,
        "decisions": one.episode.decisions,
        "rewards": one.episode.rewards,
        "problems": [
            {"id": each.problem_id, "answer": each.answer, "solved": each.solved, **each.score}
            for each in one.scores
        ],
        "checks": [
            {"text": each.check.text, "value": each.value, "holds": each.holds}
            for each in one.checks
        ],
    }
