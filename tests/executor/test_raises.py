"""Whatever is wanted of a workload and whoever writes meanwhile: never below its owner's number."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.actions import ActionKind
from schemas.reasons import Reason
from schemas.surge import OWNER_REPLICAS, surge_limit
from services.executor.facts import AutoscalerFacts, Facts, PodFacts, WorkloadFacts
from services.executor.facts import NodeFacts as Node
from services.executor.plans import PLANS
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.plans.scale_ups import ScaleUp, added_pods, read_scale_up
from services.executor.reading.quotas import Quota, QuotaSpec, QuotaStatus, ScopeSelector, room_for
from services.executor.settings import Caps, ExecutorSettings
from services.kube_objects import Container, PodSpec, ResourceRequirements
from tests.builders import make_action

SETTINGS = ExecutorSettings()
WEB = "shop/Deployment/web"
MAXIMUM = 12
STEP = st.tuples(st.sampled_from(["wanted", "owner", "autoscaler", "time"]), st.integers(1, 15))


@dataclass
class Model:
    """A Deployment, perhaps with an autoscaler, as the API would show them."""

    autoscaled: bool
    running: int = 3
    minimum: int = 2
    annotations: dict[str, str] = field(default_factory=dict)
    now: float = 1_000.0

    @property
    def number(self) -> int:
        """The number that we write."""
        return self.minimum if self.autoscaled else self.running

    def facts(self) -> Facts:
        """Return what the executor reads."""
        own = {} if self.autoscaled else self.annotations
        workload = WorkloadFacts(
            id=WEB,
            kind="Deployment",
            namespace="shop",
            name="web",
            uid="w",
            resource_version="1",
            replicas=self.running,
            annotations=own,
        )
        autoscaler = AutoscalerFacts(
            namespace="shop",
            name="web",
            uid="h",
            resource_version="1",
            least_replicas=self.minimum,
            most_replicas=MAXIMUM,
            annotations=self.annotations,
        )
        return Facts(
            time_seconds=self.now,
            workloads=(workload,),
            autoscaler=autoscaler if self.autoscaled else None,
        )

    def plan(self, wanted: int) -> OperationPlan | PlanRefusal:
        """Return what is planned for a wish."""
        action = make_action(kind=ActionKind.REPLICATE, target=WEB, replicas=wanted)
        return PLANS[ActionKind.REPLICATE](action, self.facts(), SETTINGS)

    def write(self, patch: str) -> None:
        """Apply a merge patch."""
        content = json.loads(patch)
        text = content["metadata"]["annotations"][OWNER_REPLICAS]
        self.annotations = {} if text is None else {OWNER_REPLICAS: text}
        self.set_number(next(iter(content["spec"].values())))

    def set_number(self, number: int) -> None:
        """Write the number; an autoscaler follows its minimum at once."""
        if self.autoscaled:
            self.minimum = number
            self.running = max(self.running, number)
        else:
            self.running = number


@given(st.booleans(), st.lists(STEP, max_size=12))
def test_no_sequence_goes_below_the_owner_or_above_the_maximum(
    autoscaled: bool, steps: list[tuple[str, int]]
) -> None:
    """Of any wishes, owners' writes and scalings, each write of ours keeps both bounds, and undoes exactly."""
    model = Model(autoscaled)
    owner = model.number
    for what, number in steps:
        if what == "time":
            model.now += number * 100.0
        elif what == "autoscaler" and autoscaled:
            model.running = min(MAXIMUM, max(model.minimum, number))
        elif what == "owner" and min(number, MAXIMUM) not in {model.number, _ours(model)}:
            owner = min(number, MAXIMUM)
            model.set_number(owner)
        elif what == "wanted":
            _check_wish(model, owner, number)


def _ours(model: Model) -> int:
    """Return the number that we wrote last: nobody can tell an owner's equal one from it."""
    remembered = read_scale_up(model.annotations)
    return 0 if remembered is None else remembered.ours


def _check_wish(model: Model, owner: int, wanted: int) -> None:
    before = (model.number, dict(model.annotations))
    planned = model.plan(wanted)
    if isinstance(planned, PlanRefusal):
        return
    (operation,) = planned.operations
    running = model.running
    model.write(operation.undo)
    assert (model.number, model.annotations) == before
    model.running = running
    model.write(operation.patch)
    assert model.number >= owner
    assert not model.autoscaled or model.number <= MAXIMUM
    remembered = read_scale_up(model.annotations)
    assert (remembered is None) == (model.number == owner)
    assert remembered is None or remembered.owner == owner


def test_an_autoscaler_that_has_gone_further_by_itself_is_the_base() -> None:
    """What it chose is given back to; its maximum is its owner's word, so no cap on surges counts below it."""
    model = Model(autoscaled=True, running=10)
    planned = model.plan(12)
    assert isinstance(planned, OperationPlan)
    assert planned.surge is None
    model.write(planned.operations[0].patch)
    assert isinstance(refused := model.plan(11), OperationPlan)
    assert refused.direction == "down"
    back = model.plan(10)
    assert isinstance(back, OperationPlan)
    assert json.loads(back.operations[0].patch)["spec"] == {"minReplicas": 2}


def test_a_floor_below_what_runs_is_not_written() -> None:
    """With ten running, eight is a reduction of what we never raised."""
    refused = Model(autoscaled=True, running=10).plan(8)
    assert isinstance(refused, PlanRefusal)
    assert refused.reason is Reason.NOT_RAISED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "{}",
        '{"owner":5,"ours":5,"base":5,"time_seconds":1}',
        '{"owner":-1,"ours":5,"base":5,"time_seconds":1}',
        '{"owner":"3","ours":5,"base":3,"time_seconds":1}',
        '{"owner":1,"ours":1000001,"base":3,"time_seconds":1}',
    ],
)
def test_an_annotation_that_is_not_ours_is_none(text: str) -> None:
    """Anybody may write annotations."""
    assert read_scale_up({OWNER_REPLICAS: text}) is None


def test_only_a_standing_raise_adds_pods() -> None:
    """Where somebody else has written the number, nothing of ours is left."""
    remembered = ScaleUp(owner=3, ours=7, base=4, time_seconds=1)
    annotations = {OWNER_REPLICAS: remembered.model_dump_json()}
    assert (added_pods(annotations, 7), added_pods(annotations, 6)) == (3, 0)


def test_a_node_s_replicate_keeps_the_annotation_true() -> None:
    """One more of a Deployment that we raised is a raise, not an owner's change."""
    model = Model(autoscaled=False)
    planned = model.plan(7)
    assert isinstance(planned, OperationPlan)
    model.write(planned.operations[0].patch)
    node = Node(name="n1", uid="n", resource_version="1", ready=True, unschedulable=False)
    pod = PodFacts(namespace="shop", name="p", uid="p", workload=WEB, cpu_request_cores=1.0)
    facts = model.facts().model_copy(update={"node": node, "pods": (pod,)})
    action = make_action(kind=ActionKind.REPLICATE, target="n1")
    again = PLANS[ActionKind.REPLICATE](action, facts, SETTINGS)
    assert isinstance(again, OperationPlan)
    model.write(again.operations[0].patch)
    remembered = read_scale_up(model.annotations)
    assert remembered is not None
    assert (model.number, remembered.owner, remembered.ours) == (8, 3, 8)


@pytest.mark.parametrize(
    ("settings", "running", "limit"),
    [({}, 400, 320), ({}, 10, 10), ({"surge_pods": "3"}, 400, 3), ({"surge_pods": "50%"}, 90, 45)],
)
def test_the_limit_of_all_raises(settings: dict[str, str], running: int, limit: int) -> None:
    """A share of the running pods, at least ten; or a count."""
    caps = Caps.model_validate(settings)
    assert surge_limit(caps.surge_pods, running) == limit


@pytest.mark.parametrize(
    ("hard", "scopes", "pods"),
    [
        ({"pods": "10", "requests.cpu": "4"}, (), 4),
        ({"limits.memory": "6Gi"}, (), 2),
        ({"requests.nvidia.com/gpu": "3"}, (), 3),
        ({"pods": "10"}, ("NotBestEffort", "NotTerminating"), 7),
        ({"pods": "0"}, (), 0),
        ({"pods": "0"}, ("BestEffort",), None),
        ({"pods": "0"}, ("Terminating",), None),
        ({"services": "0", "count/deployments.apps": "0"}, (), None),
    ],
)
def test_how_many_pods_a_quota_lets_in(
    hard: dict[str, str], scopes: tuple[str, ...], pods: int | None
) -> None:
    """What binds first, of what counts for these pods."""
    amounts = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}
    resources = ResourceRequirements(requests=amounts, limits={"memory": "2Gi"})
    used = QuotaStatus(used={"pods": "3", "requests.cpu": "2", "limits.memory": "1Gi"})
    quota = Quota(spec=QuotaSpec(hard=hard, scopes=scopes), status=used)
    room = room_for(PodSpec(containers=(Container(resources=resources),)), [quota])
    assert (room and room.pods) == pods


def test_quotas_of_other_pods_do_not_count() -> None:
    """One for a priority class is left to the API server; one for pods with requests passes those without."""
    selector = ScopeSelector(match_expressions=({"scopeName": "PriorityClass"},))
    selecting = Quota(spec=QuotaSpec(hard={"pods": "0"}, scope_selector=selector))
    asking = Quota(spec=QuotaSpec(hard={"pods": "0"}, scopes=("NotBestEffort",)))
    assert room_for(PodSpec(containers=(Container(),)), [selecting, asking]) is None
