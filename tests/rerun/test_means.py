"""What the executor cannot do travels with the observation, so that a recording is judged again alike."""

from __future__ import annotations

from pathlib import Path

from bus.events import event_of
from bus.recording import open_recording
from foresail.__main__ import main
from lab.rerun.verify import verify
from schemas.actions import ActionKind
from schemas.capabilities import OutcomeCapabilities
from schemas.observation import Observation
from schemas.proposal import Proposal
from schemas.reasons import Reason
from schemas.snapshot import SnapshotWorkloads

NODE_KINDS = {ActionKind.DVFS, ActionKind.POWER_STATE}


def test_agents_leave_out_what_cannot_be_done_and_verify_agrees(tmp_path: Path) -> None:
    """Namespaces are named and no node: once that is said, nobody proposes to write one."""
    config, path = tmp_path / "named.toml", tmp_path / "run.fslog"
    config.write_text('[executor]\nnamespaces = ["default"]\n', encoding="utf-8")
    flags = "--virtual-time --for 60s --nodes 4 --workload idle --seed 3 --interval 5 --mode active"
    flags += " --profile baseline-rules"
    given = ["up", *flags.split(), "--config", str(config), "--json", "--record", str(path)]
    assert main(given) == 0
    events = [event_of(message) for message in open_recording(path)]
    data = [event.data for event in events]

    (said,) = [one for one in data if isinstance(one, OutcomeCapabilities)]
    assert {one.kind for one in said.missing} == NODE_KINDS
    carried = [
        one.missing_means for one in data if isinstance(one, Observation | SnapshotWorkloads)
    ]
    assert carried[-1] == said.missing
    proposals = [one for one in data if isinstance(one, Proposal) and one.cycle > said.cycle + 1]
    assert not {one.action.kind for one in proposals} & NODE_KINDS
    assert Reason.MEANS_MISSING in {one.reason for one in proposals}
    report = verify(path)
    assert report.holds
    assert report.layers["proposal"].equal == len(
        [one for one in data if isinstance(one, Proposal)]
    )
