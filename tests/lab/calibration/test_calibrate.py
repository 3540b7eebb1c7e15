"""Expected against observed: what is sampled, what the table says, and the command around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from foresail.experiment import calibrate_action
from foresail.experiment.calibration_run import played_code
from lab.calibration.draw import WINDOW_SECONDS, draw_branched_world, is_sampled
from lab.calibration.samples import ActionSample, WorldSamples, find_samples, keep_samples
from lab.calibration.table import KindTable, kind_tables, ratio_interval
from schemas.actions import Action, MigrateAction, PowerStateAction, ReplicateAction, Target
from schemas.effect import Effect
from services.agents.calibration import KINDS, kind_of
from twin.port.files import read_scenario
from twin.port.workloads import open_workload

SLEEP = "power_state:sleep"


def sample(expected: float, score: float, kind: str = SLEEP, **fields: object) -> ActionSample:
    """Return what was expected of an action and what came of it."""
    given = {
        "kind": kind,
        "cycle": 1,
        "part": 0,
        "at_seconds": 15.0,
        "target": "n",
        "horizon_seconds": 600.0,
        "stated": expected,
        "low": expected - 0.1,
        "high": expected + 0.1,
        "expected_terms": {"energy": expected},
        "score": score,
        "capacity": 0.0,
        "components": {"energy": score},
    }
    return ActionSample.model_validate({**given, **fields})


def world(seed: int, *samples: ActionSample, executed: int = 5) -> WorldSamples:
    """Return a world's samples."""
    return WorldSamples(
        seed=seed,
        profile="foresail",
        code=played_code(),
        executed={SLEEP: executed},
        samples=samples,
    )


def table(*worlds: WorldSamples, most: int = 200) -> KindTable:
    """Return the table of the only kind."""
    (only,) = kind_tables(worlds, most)
    return only


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, "calibrated"), (0.5, "too low"), (2.0, "too high")]
)
def test_a_planted_factor_in_the_expectation_is_noticed(factor: float, verdict: str) -> None:
    """Thirty actions of which twice, or half, of what came was expected."""
    seen = [1.0 + 0.1 * (place % 5) for place in range(30)]
    found = table(*(world(seed, sample(factor * seen[seed], seen[seed])) for seed in range(30)))

    assert found.ratio == pytest.approx(1.0 / factor)
    assert found.low == pytest.approx(found.high) == pytest.approx(1.0 / factor)
    assert found.verdict == verdict


def test_few_samples_say_nothing() -> None:
    """Twenty-nine that fit are too few, and one world gives no interval."""
    found = table(world(1, *(sample(1.0, 1.0) for _ in range(29))))

    assert found.verdict == "too few"
    assert found.low != found.low


def test_a_table_says_how_expectations_rank_and_how_bad_it_gets() -> None:
    """Quarters by what was expected, the worst tenth, and what lies within the stated interval."""
    found = table(*(world(seed, sample(float(seed), 2.0 * seed)) for seed in range(1, 41)))

    assert [part.count for part in found.quarters] == [10, 10, 10, 10]
    assert found.quarters[0].expected == pytest.approx(5.5)
    assert found.quarters[3].observed == pytest.approx(71.0)
    assert found.worst == pytest.approx(5.0)
    assert found.within == 0.0
    assert found.terms == {"energy": (pytest.approx(20.5), pytest.approx(41.0))}
    assert (found.count, found.worlds, found.executed) == (40, 40, 200)


def test_what_the_score_does_not_price_is_counted_apart() -> None:
    """Capacity that an expectation charges for belongs to what is observed, not to the score."""
    found = table(world(1, sample(1.0, 0.5, capacity=-0.2)))

    assert (found.score, found.observed) == (0.5, pytest.approx(0.3))
    assert found.terms["capacity"] == (0.0, -0.2)


def test_what_nothing_shows_is_left_out_of_what_was_expected() -> None:
    """The cost of switching a machine is a guess that no observation can confirm."""
    terms = {"energy": 1.2, "switching": -0.2}

    assert table(world(1, sample(1.0, 1.2, expected_terms=terms))).ratio == pytest.approx(1.0)


def test_the_first_samples_by_seed_are_taken() -> None:
    """However many worlds were played, and in whatever order."""
    worlds = [world(seed, sample(1.0, float(seed))) for seed in (3, 1, 2)]

    assert table(*worlds, most=2).observed == pytest.approx(1.5)


def test_the_interval_draws_worlds() -> None:
    """Ten alike actions of one world tell no more than one."""
    many = ratio_interval([(10.0, 10.0), (10.0, 30.0)])

    assert many == pytest.approx(ratio_interval([(1.0, 1.0), (1.0, 3.0)]))
    assert many == pytest.approx((2.0, 1.0, 3.0))


def test_at_most_one_action_of_a_kind_is_branched_in_a_window() -> None:
    """A draw by seed and place, again after the window, and for each kind by itself."""
    drawn = [place for place in range(200) if is_sampled(1, f"{place}/0", SLEEP, 20.0, frozenset())]

    assert 160 < len(drawn) < 200
    place = f"{drawn[0]}/0"
    assert not is_sampled(1, place, SLEEP, 20.0, {(SLEEP, 0)})
    assert is_sampled(1, place, SLEEP, 20.0, {("migrate:pack", 0)})
    assert is_sampled(1, place, SLEEP, WINDOW_SECONDS, {(SLEEP, 0)})


def test_worlds_that_are_branched_can_be_played(tmp_path: Path) -> None:
    """Two with bursts, a random one with spot notices, then a quiet one."""
    notices = 0
    for seed in range(1, 21):
        drawn = draw_branched_world(seed)
        assert drawn == draw_branched_world(seed)
        (tmp_path / "world.jsonl").write_text(drawn.workload_text(), encoding="utf-8")
        open_workload(str(tmp_path / "world.jsonl"), nodes=4, seed=seed)
        if drawn.faults:
            (tmp_path / "script.yaml").write_text(drawn.scenario_text(), encoding="utf-8")
            read_scenario(tmp_path / "script.yaml")
        notices += sum(fault["fault"] == "spot_notice" for fault in drawn.faults)
    assert notices == 10


def effect(**terms: float) -> Effect:
    """Return an expectation made of these terms."""
    return Effect(
        horizon_seconds=600.0, terms=terms, net=1.0, low=0.0, high=2.0, per_hour=6.0, currency="USD"
    )


NODE, WEB = Target(kind="node", name="n"), Target(kind="workload", name="shop/Deployment/web")


@pytest.mark.parametrize(
    ("kind", "action", "terms"),
    [
        ("replicate:more", ReplicateAction(target=WEB, replicas=3), {"slo_services": 1, "capacity": -1}),
        ("replicate:before_end", ReplicateAction(target=WEB, replicas=3), {"slo_services": 1}),
        ("replicate:fewer", ReplicateAction(target=WEB, replicas=3), {"capacity": 1}),
        ("migrate:pack", MigrateAction(target=NODE), {"evictions": -1, "energy": 1}),
        ("migrate:notice", MigrateAction(target=NODE), {"slo_services": 1}),
        ("migrate:room", MigrateAction(target=NODE), {"evictions": -1, "overdue": 1}),
        ("power_state:sleep", PowerStateAction(target=NODE, power_state="sleep"), {"energy": 1}),
        ("power_state:wake", PowerStateAction(target=NODE, power_state="on"), {"energy": -1}),
        ("power_state:unmark", PowerStateAction(target=NODE, power_state="on"), {"waiting": 1}),
    ],
)  # fmt: skip
def test_an_expectation_has_a_kind_of_its_own(
    kind: str, action: Action, terms: dict[str, float]
) -> None:
    """The same action for another reason is another expectation."""
    assert kind_of(action, effect(**terms)) == kind
    assert kind in KINDS


@pytest.mark.parametrize(("observed", "code"), [(1.0, 0), (0.5, 1)])
def test_kept_samples_are_judged_without_playing(
    observed: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code says whether every kind with enough samples is calibrated; the page says it, too."""
    for seed in (1, 2):
        others = [sample(1.0, 1.0, "migrate:pack") for _ in range(20)]
        mine = [sample(1.0, observed) for _ in range(20)]
        keep_samples(tmp_path, world(seed, *others, *mine))
    page = tmp_path / "page.md"
    command = ["experiment", "calibrate", "--worlds", "2", "--dir", str(tmp_path), "--json"]

    assert main([*command, "--markdown", str(page)]) == code
    _, kind = json.loads(capsys.readouterr().out)["kinds"]
    assert (kind["ratio"], kind["count"]) == (observed, 40)
    assert f"| `{SLEEP}` | 40 of 10 | 2 |" in page.read_text(encoding="utf-8")


def test_a_time_limit_leaves_worlds_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples of other code, or of other kinds, do not count."""
    keep_samples(tmp_path, world(1).model_copy(update={"code": "other"}))
    assert find_samples(tmp_path, "foresail", 1, played_code(), ()) is None
    keep_samples(tmp_path, world(1).model_copy(update={"kinds": (SLEEP,)}))
    assert find_samples(tmp_path, "foresail", 1, played_code(), ()) is None
    assert find_samples(tmp_path, "foresail", 1, played_code(), (SLEEP,)) is not None
    monkeypatch.setattr(calibrate_action, "run_local", lambda *_: iter(()))

    assert main(["experiment", "calibrate", "--worlds", "1", "--dir", str(tmp_path)]) == 5


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--count", "0"], "--count = 0: give 1 or more"),
        (["--kind", "sleeping"], "--kind"),
        (["--worlds", "1", "--markdown", "missing/page.md"], "--markdown = missing/page.md"),
    ],
)
def test_bad_input_is_refused(
    flags: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line that names the flag."""
    monkeypatch.chdir(tmp_path)
    keep_samples(tmp_path / "calibration.results", world(1))

    try:
        code = main(["experiment", "calibrate", *flags])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err
