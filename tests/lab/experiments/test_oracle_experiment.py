"""The arm `oracle` played in a whole experiment, from the file to its regret in the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.experiment.folder import plan_for
from lab.experiments.results import ResultFolder

FILE = """
name = "foreseen"
arms = ["none", "baseline-rules", "oracle"]
[world]
warm_up = "0s"
length = "22m"
cycle = "60s"
weather = "off"
[[workloads]]
name = "shop"
plays = "shop.csv"
[seeds]
count = 2
[hypothesis]
arm = "baseline-rules"
against = "none"
metric = "score_dollars_per_hour"
[inference]
resamples = 200
"""
WORKLOAD = """\
record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,memory_request_bytes,replicas,traffic
node,n1,4000,17179869184,,,,,,
node,n2,4000,17179869184,,,,,,
node,n3,4000,17179869184,,,,,,
arrival,shop,,,0,service,1000,1073741824,1,"recorded rates=0:20,600:150,1200:20"
"""


def test_regret_is_what_an_arm_leaves_behind_the_oracle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The oracle is ready for a rush that nobody else sees coming, and the report says what that was worth."""
    file = tmp_path / "foreseen.toml"
    file.write_text(FILE, encoding="utf-8")
    (tmp_path / "shop.csv").write_text(WORKLOAD, encoding="utf-8")
    command = ["--dir", str(tmp_path / "results")]
    run = ["experiment", "run", str(file), "--jobs", "1", "--recordings", "none", *command]
    assert main(run) == ExitCode.GOOD
    plan = plan_for(file, "development", tmp_path / "results")
    scores: dict[str, list[float]] = {}
    for result in ResultFolder(plan.folder).read(task.fingerprint for task in plan.tasks):
        scores.setdefault(result.arm, []).append(result.metrics["score_dollars_per_hour"])
    assert min(scores["oracle"]) > max(*scores["none"], *scores["baseline-rules"])

    assert main(["experiment", "report", str(file), *command]) == ExitCode.GOOD
    capsys.readouterr()
    text = (tmp_path / "results" / "report.md").read_text(encoding="utf-8")
    table = text.split("## Regret")[1].split("\n## ")[0]
    means = {arm: sum(values) / len(values) for arm, values in scores.items()}
    for arm in ("none", "baseline-rules"):
        regret = re.search(rf"\| `?{re.escape(arm)}`? \| ([-+][0-9.e-]+) \$/h", table)
        assert regret is not None, table
        assert float(regret[1]) == pytest.approx(means[arm] - means["oracle"], rel=0.01)
    assert not re.search(r"\| `?oracle`? \|", table)
