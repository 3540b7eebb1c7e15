"""Session files become jobs: the predecessors' form as it stands, with its mistakes mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from foresail.session.place import session_name
from lab.sessions.jobs_file import read_jobs_file, write_jobs_file
from lab.sessions.names import object_name
from lab.sessions.payloads import BACKTEST, CommandPayload, words_of
from lab.sessions.planner import plan_jobs
from lab.sessions.session_file import SessionFile, read_session_file

BACKTEST_FILE = """
data_file: data/sample_arbitrage_prices.csv
min_spread_bps: 30
taker_fee_a_bps: 5
taker_fee_b_bps: 0
slippage_bps: 5
max_position_usd: 1000
grids:
  - name: min_spread_bps
    values: [20, 30, 40]
  - name: slippage_bps
    values: [0, 5]
tag_prefix: "sess001"
"""


def session_from(tmp_path: Path, text: str, name: str = "session.yaml") -> SessionFile:
    """Read a session file with this text."""
    path = tmp_path / name
    path.write_text(text)
    return read_session_file(path)


def test_the_predecessors_session_file_gives_their_jobs(tmp_path: Path) -> None:
    """Product in the order of the grids, ids from 1, paths below outputs/tuning, zero values kept."""
    jobs = plan_jobs(session_from(tmp_path, BACKTEST_FILE))

    assert [job.job_id for job in jobs] == [f"sess001_{number:04d}" for number in range(1, 7)]
    values = [(job.config["min_spread_bps"], job.config["slippage_bps"]) for job in jobs]
    assert values == [(20, 0), (20, 5), (30, 0), (30, 5), (40, 0), (40, 5)]
    assert jobs[0].output_json == "outputs/tuning/sess001/sess001_0001.json"
    assert jobs[0].config == {
        "max_open_trades": 1, "initial_balance_usd": 10_000, "tag": "sess001",
        "data_file": "data/sample_arbitrage_prices.csv", "min_spread_bps": 20,
        "taker_fee_a_bps": 5, "taker_fee_b_bps": 0, "slippage_bps": 0, "max_position_usd": 1000,
    }  # fmt: skip


def test_json_and_yaml_give_the_same_jobs(tmp_path: Path) -> None:
    """The ending says how a file is read."""
    content = {
        "data_file": "p.csv", "grids": [{"name": "min_spread_bps", "values": [1, 2]}], "max_jobs": 9,
    }  # fmt: skip
    as_json = session_from(tmp_path, json.dumps(content), "s.json")
    as_yaml = session_from(tmp_path, json.dumps(content), "s.yaml")

    assert plan_jobs(as_json) == plan_jobs(as_yaml)
    assert [job.job_id for job in plan_jobs(as_json)] == ["job_0001", "job_0002"]


@pytest.mark.parametrize("choose", ["random", "sobol"])
def test_a_choice_is_spread_over_the_grid_and_repeats(choose: str) -> None:
    """Cut to 16 of 4,096, a choice reaches most values of each grid; the first 16 would reach one of the first."""
    grids = [{"name": name, "values": list(range(16))} for name in ("a", "b", "c")]
    payload = {"kind": "command", "argv": ["true"]}
    session = SessionFile.model_validate(
        {"payload": payload, "grids": grids, "max_jobs": 16, "choose": choose, "seed": 3}
    )

    jobs = plan_jobs(session)

    assert jobs == plan_jobs(session)
    assert len({json.dumps(job.config) for job in jobs}) == 16
    reached = {name: len({job.config[name] for job in jobs}) for name in ("a", "b", "c")}
    assert min(reached.values()) >= (16 if choose == "sobol" else 8)
    first = plan_jobs(session.model_copy(update={"choose": "first"}))
    assert {job.config["a"] for job in first} == {0}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"min_spred_bps": 3}, "fixed = min_spred_bps"),
        ({"grids": [{"name": "spread", "values": [1]}]}, "grids = spread"),
        ({"grids": [{"name": "slippage_bps", "values": []}]}, "grids.0.values"),
        ({"grids": [{"name": "slippage_bps", "values": [1, 1]}]}, "grids.slippage_bps"),
        ({"grids": [{"name": "slippage_bps", "values": [1]}] * 2}, "grids = slippage_bps"),
        ({"max_jobs": 0}, "max_jobs"),
        ({"grids": 3}, "grids = 3: give a list"),
        ({"choose": "best"}, "choose"),
        ({"data_file": None}, "data_file"),
        ({"payload": {"kind": "shell"}}, "payload"),
        ({"payload": {"kind": "command", "argv": []}}, "payload.argv"),
        ({"payload": {"kind": "command", "argv": ["x"], "rank_by": "1 +"}}, "payload"),
    ],
)
def test_a_wrong_session_file_is_refused_by_name(
    change: dict[str, Any], field: str, tmp_path: Path
) -> None:
    """One line names field, value and remedy."""
    content = {"data_file": "p.csv", **change}

    with pytest.raises(InputError) as refused:
        plan_jobs(session_from(tmp_path, json.dumps(content), "s.json"))

    assert field in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "", "x: &a [*a]"])
def test_a_file_that_is_no_mapping_is_refused(text: str, tmp_path: Path) -> None:
    """No traceback, and the file is named."""
    with pytest.raises(InputError, match="session-file"):
        session_from(tmp_path, text)


def test_what_if_sessions_know_the_settings(tmp_path: Path) -> None:
    """A grid over a setting that there is not is refused with the nearest one."""
    text = "payload: {kind: what-if, recording: r.fslog}\ngrids: [{name: agents.safety.migrate, values: [1]}]"

    with pytest.raises(InputError, match="migrate_risk_ratio"):
        plan_jobs(session_from(tmp_path, text))


def test_jobs_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    """Of back-tests the lines have the predecessors' three fields and no other."""
    jobs = plan_jobs(session_from(tmp_path, BACKTEST_FILE))
    path = tmp_path / "jobs.jsonl"

    write_jobs_file(path, BACKTEST, jobs)

    assert read_jobs_file(path) == (BACKTEST, jobs)
    line = json.loads(path.read_text().splitlines()[0])
    assert list(line) == ["job_id", "config", "output_json"]


def test_the_first_jobs_of_a_file_are_a_session_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--max-jobs` of the predecessors' runner takes so many lines; what only planning knows is refused."""
    path = tmp_path / "jobs.jsonl"
    write_jobs_file(path, BACKTEST, plan_jobs(session_from(tmp_path, BACKTEST_FILE)))
    run = ["session", "run", "--jobs-file", str(path), "--dry-run", "--max-jobs"]

    assert main([*run, "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main([*run, "0"]) == main([*run, "2", "--seed", "1"]) == 2
    assert len({session_name(path, None, chosen) for chosen in ("", "max2", "max3")}) == 3


GOOD = '{"job_id": "a_1", "config": {}, "output_json": "o/1.json"}'


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "no JSON"),
        ("[]", "write an object"),
        ('{"config": {}, "output_json": "x.json"}', "job_id"),
        ('{"job_id": "", "config": {}, "output_json": "x.json"}', "job_id"),
        ('{"job_id": "b", "config": [], "output_json": "x.json"}', "config"),
        ('{"job_id": "b", "config": {}}', "output_json"),
        ('{"job_id": "b", "config": {"spread": 1}, "output_json": "x.json"}', "spread"),
        ('{"job_id": "b", "config": {}, "output_json": "x.json", "more": 1}', "more"),
        ('{"job_id": "a_1", "config": {}, "output_json": "x.json"}', "stands twice"),
        ('{"job_id": "a-1", "config": {}, "output_json": "x.json"}', "one name"),
        ('{"job_id": "b", "config": {}, "output_json": "o/1.json"}', "that of a_1"),
    ],
)
def test_a_wrong_line_is_one_invalid_job(line: str, why: str, tmp_path: Path) -> None:
    """The others stay good, and no job vanishes."""
    path = tmp_path / "jobs.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n")

    _, jobs = read_jobs_file(path)

    assert len(jobs) == len({job.job_id for job in jobs}) == 2
    assert jobs[0].refused == ""
    assert why in jobs[1].refused


def test_a_file_without_a_job_is_refused(tmp_path: Path) -> None:
    """Empty and missing files are input errors."""
    (tmp_path / "empty.jsonl").write_text("\n")

    for name in ("empty.jsonl", "missing.jsonl"):
        with pytest.raises(InputError, match="--jobs-file"):
            read_jobs_file(tmp_path / name)


def test_no_word_of_a_command_meets_a_shell() -> None:
    """Values stay one word each, whatever is in them."""
    payload = CommandPayload(kind="command", argv=("run", "--name={config.name}", "{config}"))
    config = {"name": "$(rm -rf x); `y` {python}", "n": 0}

    words = words_of(payload, "j", config, "out.json", python="python")

    assert words == ("run", "--name=$(rm -rf x); `y` {python}", json.dumps(config))
    with pytest.raises(InputError, match="no such name"):
        words_of(CommandPayload(kind="command", argv=("{config.z}",)), "j", config, "o", python="p")


@pytest.mark.parametrize(
    ("job_id", "name"),
    [
        ("sess001_0001", "sess001-0001"),
        ("A__b..c", "a-b-c"),
        ("0001", "job-0001"),
        ("_", "job"),
        ("é", "job"),
    ],
)
def test_ids_become_names_of_objects(job_id: str, name: str) -> None:
    """Lower case, dashes, a letter first."""
    assert object_name(job_id) == name


def test_long_ids_that_differ_at_their_end_stay_two_names() -> None:
    """A name that is cut ends with a hash of the whole."""
    first, second = (object_name("x" * 80 + end) for end in ("1", "2"))

    assert first != second
    assert len(first) <= 52
