"""Writes and ways back, against a model of the kernel that limits, rounds and refuses by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.node_annotations import NodeLimit
from schemas.node_limits import AgentReport, LimitState, RefusedBecause, limit_annotations
from services.kube_objects import Condition
from services.node_agent.kept import Kept, of_this_boot, read_kept
from services.node_agent.machine import CPU_MAX, CpuGroup, Machine, Policy, parse_group
from services.node_agent.reports import changes_told, condition_patch, limit_reports
from services.node_agent.settings import NodeAgentSettings
from services.node_agent.steps import Step, plan_step, settle
from services.node_agent.wishes import Wish, read_wishes

NOW, MOST, LEAST = 1_767_225_600.0, 3_200_000, 800_000
NO_QUOTA = CpuGroup(None, 100_000)
CLOCK, CPU = NodeLimit.CLOCK_SCALE, NodeLimit.CPU_CAP


@dataclass
class Kernel:
    """cpufreq as it aggregates limits: what is shown is the lowest of user space's and the firmware's."""

    user: dict[str, int] = field(default_factory=lambda: {"policy0": MOST, "policy1": MOST})
    firmware: int = MOST
    refuses: frozenset[str] = frozenset()
    group: CpuGroup = NO_QUOTA

    def machine(self) -> Machine:
        """Return what the agent sees."""
        shown = {name: min(khz, self.firmware) for name, khz in self.user.items()}
        policies = tuple(Policy(name, LEAST, MOST, khz) for name, khz in shown.items())
        return Machine("boot", policies, self.group)

    def write(self, step: Step, crash_after: int = 99) -> tuple[dict[str, str], bool]:
        """Take writes until the agent is killed; return what was refused, and whether it was killed."""
        failed = {}
        for count, write in enumerate(step.writes):
            if count >= crash_after:
                return failed, True
            if write.knob in self.refuses:
                failed[write.knob] = "Invalid argument"
            elif write.knob == CPU_MAX:
                self.group = parse_group(write.text)
            else:
                self.user[write.knob.split("/")[1]] = int(write.text)
        return failed, crash_after <= len(step.writes)


@dataclass
class Agent:
    """The fold without its shell; `disk` survives it."""

    kernel: Kernel
    disk: Kept = field(default_factory=lambda: Kept(boot="boot"))
    kept: Kept = field(default_factory=lambda: Kept(boot="boot"))

    def look(self, notes: dict[str, str], crash_after: int = 99) -> tuple[Wish, ...]:
        """Do one step; where it is killed, a new one begins with what is on disk."""
        machine = self.kernel.machine()
        wishes = read_wishes(
            notes, machine, NodeAgentSettings(), now_seconds=NOW, allocatable_cores=4.0
        )
        step = plan_step(self.kept, wishes, machine)
        self.disk = step.before
        failed, killed = self.kernel.write(step, crash_after)
        if killed:
            self.restart()
            return ()
        machine = self.kernel.machine()
        self.kept = self.disk = settle(self.kept, step, failed, machine)
        self.reports = limit_reports(step.wishes, machine, failed)
        return step.wishes

    def restart(self) -> None:
        """Begin anew with what is on disk: give everything back."""
        self.kept = of_this_boot(read_kept(self.disk.model_dump_json().encode()), "boot")
        self.look({})


def ask(ratio: float, limit: NodeLimit = CLOCK, decision: str = "d") -> dict[str, str]:
    """Return the annotations of a limit."""
    return limit_annotations(limit, ratio, decision, NOW + 600.0)


def test_a_limit_is_written_and_given_back() -> None:
    """Each policy to its share, and back to what it was, which need not be the hardware's most."""
    agent = Agent(Kernel(user={"policy0": MOST, "policy1": 3_000_000}))
    agent.look(ask(0.65))
    assert agent.kernel.user == {"policy0": 2_080_000, "policy1": 2_080_000}
    assert agent.reports[0].state is LimitState.IN_FORCE
    agent.look({})
    assert agent.kernel.user == {"policy0": MOST, "policy1": 3_000_000}
    assert agent.kept.changes == ()


def test_what_is_lower_already_is_left_alone() -> None:
    """It is limit enough, and not ours to give back."""
    agent = Agent(Kernel(user={"policy0": 1_000_000, "policy1": MOST}))
    agent.look(ask(0.65))
    assert agent.kernel.user == {"policy0": 1_000_000, "policy1": 2_080_000}
    agent.look({})
    assert agent.kernel.user == {"policy0": 1_000_000, "policy1": MOST}


def test_what_somebody_else_raises_is_theirs_until_another_limit_is_asked_for() -> None:
    """The other policy is given back; a new decision counts again."""
    agent = Agent(Kernel())
    agent.look(ask(0.65))
    agent.kernel.user["policy0"] = 2_900_000
    agent.look(ask(0.65))
    assert agent.kernel.user == {"policy0": 2_900_000, "policy1": MOST}
    assert agent.reports[0].reason is RefusedBecause.CHANGED_BY_OTHER
    agent.look(ask(0.65))
    assert agent.kernel.user == {"policy0": 2_900_000, "policy1": MOST}
    agent.look(ask(0.65, decision="another"))
    assert agent.kernel.user == {"policy0": 2_080_000, "policy1": 2_080_000}


def test_a_quota_that_systemd_has_reset_is_written_again() -> None:
    """It is in a cgroup of ours."""
    agent = Agent(Kernel())
    agent.look(ask(0.5, CPU))
    assert agent.kernel.group == CpuGroup(200_000, 100_000)
    agent.kernel.group = CpuGroup(None, 100_000)
    agent.look(ask(0.5, CPU))
    assert agent.kernel.group == CpuGroup(200_000, 100_000)
    agent.look({})
    assert agent.kernel.group == CpuGroup(None, 100_000)


def test_a_limit_of_the_firmware_below_ours_does_not_keep_ours_for_ever() -> None:
    """The same file shows both; at the end the former value is written all the same."""
    agent = Agent(Kernel())
    agent.look(ask(0.65))
    agent.kernel.firmware = 1_000_000
    agent.look(ask(0.65))
    assert agent.reports[0].state is LimitState.IN_FORCE
    agent.look({})
    agent.kernel.firmware = MOST
    assert agent.kernel.user == {"policy0": MOST, "policy1": MOST}


def test_what_the_kernel_does_not_take_is_refused_with_its_words() -> None:
    """The limit is not said to be in force, nothing is kept of it, and it is tried again."""
    knob = "cpufreq/policy1/scaling_max_freq"
    agent = Agent(Kernel(refuses=frozenset({knob})))
    agent.look(ask(0.65))
    (report,) = agent.reports
    assert (report.state, report.reason) == (LimitState.REFUSED, RefusedBecause.WRITE_FAILED)
    assert "Invalid argument" in report.text
    assert [one.knob for one in agent.kept.changes] == ["cpufreq/policy0/scaling_max_freq"]
    agent.kernel.refuses = frozenset()
    agent.look(ask(0.65))
    assert agent.reports[0].state is LimitState.IN_FORCE


def test_the_condition_turns_only_with_what_it_says() -> None:
    """Its transition time stays while its status does, as the API asks of conditions."""
    idle = AgentReport(version="1", can=(CLOCK,), heartbeat_seconds=300.0)
    before = Condition(status="True", last_transition_time="2026-01-01T00:00:00Z")
    (same,) = condition_patch(idle, before, NOW + 60.0)["status"]["conditions"]
    assert same["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert same["lastHeartbeatTime"] == "2026-01-01T00:01:00Z"
    turned = Condition(status="False", last_transition_time="2025-12-31T00:00:00Z")
    (other,) = condition_patch(idle, turned, NOW + 60.0)["status"]["conditions"]
    assert other["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_each_change_is_told_once() -> None:
    """In force, then ended; what stays as it is says nothing."""
    agent = Agent(Kernel())
    agent.look(ask(0.65))
    held, machine = agent.reports, agent.kernel.machine()
    assert [one.reason for one in changes_told((), held, machine)] == ["LimitInForce"]
    assert changes_told(held, held, machine) == ()
    agent.look({})
    (told,) = changes_told(held, agent.reports, agent.kernel.machine())
    assert (told.reason, told.note) == (
        "LimitEnded",
        "clock-scale 0.65 ended, its annotation is gone: 2 x 3200000 kHz of 3200000",
    )


RATIOS = st.sampled_from([None, 0.1, 0.4, 0.65, 0.9, 1.0])
MOMENTS = st.tuples(
    RATIOS,
    RATIOS,
    st.sampled_from([99, 99, 99, 0, 1, 2]),  # writes until it is killed
    st.sets(st.sampled_from(["cpufreq/policy0/scaling_max_freq", CPU_MAX]), max_size=2),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(MOMENTS, max_size=8),
    st.tuples(st.integers(LEAST, MOST), st.integers(LEAST, MOST)),
)
def test_after_anything_nothing_is_higher_than_before_and_all_is_given_back(
    moments: list[tuple[float | None, float | None, int, set[str]]], former: tuple[int, int]
) -> None:
    """Limits that come and go, writes that fail, kills between two writes."""
    before = dict(zip(("policy0", "policy1"), former, strict=True))
    agent = Agent(Kernel(user=dict(before)))
    for clock, cpu, crash_after, refuses in moments:
        agent.kernel.refuses = frozenset(refuses)
        notes = {} if clock is None else ask(clock)
        notes |= {} if cpu is None else ask(cpu, CPU)
        agent.look(notes, crash_after)
        assert all(agent.kernel.user[name] <= khz for name, khz in before.items())
    agent.kernel.refuses = frozenset()
    agent.look({})
    assert agent.kernel.user == before
    assert agent.kernel.group == CpuGroup(None, 100_000)
    assert agent.kept.changes == ()
