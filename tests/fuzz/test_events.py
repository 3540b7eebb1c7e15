"""Readers of events: broken ones are named, accepted ones fit the published schema and come back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas import queue
from schemas.actions import ActionKind, NoopAction
from schemas.capabilities import MissingCapability, OutcomeCapabilities
from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.envelope import Event, attributes_of
from schemas.frames import FrameMismatch, FullState, apply_frame
from schemas.history import FilledSeries, HistoryFilled
from schemas.imported import ImportedLine, ImportedNodes, ImportedRow
from schemas.learned import LearnedChoice, LearnedRank, OutcomeLearned
from schemas.model import EventData
from schemas.observation import Observation
from schemas.registry import BY_TYPE, EVENT_TYPES, Encoded, UnknownEvent, decode, encode
from schemas.sizes import PredictionSizes, SizeTable
from schemas.switchback import OutcomeSwitchback, SwitchbackPair
from schemas.upcast import upcast
from tests.builders import make_control, stamp_event
from tests.fuzz.made_runs import OF_RUN, OF_SESSION
from tests.fuzz.mutation import DEEP, FUZZ, ODD_TEXTS, broken_encodings, mutations
from tests.score_events import make_breaker_change, make_foresight, make_judgement, make_mismatch

ROOT = Path(__file__).parents[2]
NO_EVICTION = MissingCapability(kind=ActionKind.MIGRATE, needs="evict", why="forbidden")
CAPACITY = PredictionCapacity(
    cycle=4,
    cluster_time_seconds=100.0,
    latency_seconds=0.5,
    bad_ratio=0.01,
    workloads=CapacityTable(
        ids=("shop/Deployment/web",), version=("7",), replica_rate=(48.0,), low=(44.0,), high=(None,),
        windows=(12.5,), source=("borne",),
    ),
)  # fmt: skip
SIZES = PredictionSizes(
    cycle=4,
    cluster_time_seconds=300.0,
    measured_seconds=290.0,
    workloads=SizeTable(
        ids=("shop/Deployment/web",), pods=(3,), cpu_request_cores=(1.0,), memory_request_bytes=(1 << 30,),
        cpu_peak_cores=(0.25,), memory_peak_bytes=(1 << 29,), known_seconds=(3_600,), rule=("percentile",),
    ),
)  # fmt: skip
FILLED = HistoryFilled(
    cycle=0,
    cluster_time_seconds=1_800.0,
    source="table",
    part=0,
    start_time_seconds=900.0,
    step_seconds=300.0,
    series=(FilledSeries(id="service/shop/web", values=(1.5, None, 2.0)),),
)
IMPORTED = ImportedRow(
    cycle=1,
    cluster_time_seconds=100.0,
    form="trace",
    nodes=ImportedNodes(
        ids=("a",),
        cpu_util_ratio=(0.5,),
        mem_util_ratio=(0.25,),
        disk_util_ratio=(None,),
        net_util_ratio=(0.1,),
        power_state=("on",),
    ),
    queue_length=3,
    telemetry_sources=("kubernetes_api",),
)
SWITCHBACK = OutcomeSwitchback(
    cycle=9,
    cluster_time_seconds=7_200.0,
    unit="namespace",
    seed=7,
    block_seconds=1_800.0,
    wash_out_seconds=600.0,
    currency="USD",
    pair=SwitchbackPair(
        first_block=2,
        first_money_per_hour=-1.5,
        second_money_per_hour=-0.5,
        first_seconds=1_200.0,
        second_seconds=1_200.0,
        acting_first=("", "shop"),
        counts=True,
    ),
    pairs=2,
    pairs_left_out=0,
    executions=3,
    held=4,
    effect_money_per_hour=-1.0,
    low_money_per_hour=-2.0,
    high_money_per_hour=0.5,
    confidence_ratio=0.95,
)
"""Nothing of the kind is in a run whose executor may always act."""
"""No run of a stack makes any."""
_FIGURES = {
    name: 1
    for name in queue.QueueState.model_fields
    if name not in {"missing", "cpu_used_ratio", "memory_used_ratio"}
}
_JOB = queue.QueueJob(
    job_id="u", name="j", namespace="batch", status="Pending", submission_time_seconds=90.0
)
QUEUE = (
    queue.QueueJobs(look=1, cluster_time_seconds=100.0, jobs=(_JOB,), removed=("gone",)),
    queue.QueueState(**_FIGURES, missing=("usage",)),
    queue.QueueAlert(
        cluster_time_seconds=100.0, alert="high_oom_rate", state="firing", value=6.0, limit=5.0
    ),
    queue.QueuePolicy(
        cluster_time_seconds=100.0, name="p", weights_sha256="ab", file_base64="eA=="
    ),
    queue.QueueChoice(
        look=1,
        place=0,
        cluster_time_seconds=100.0,
        policy="p",
        weights_sha256="ab",
        means="active",
        quota_cpu_cores=8.0,
        quota_memory_bytes=2**30,
        left_out=("other",),
        slots=("j",),
        allowed=(True, False),
        scores=(0.5, 0.25),
        action=0,
        runner_up=1,
        admits="j",
    ),
    queue.QueueScore(
        look=1,
        cluster_time_seconds=100.0,
        policy="p",
        acts=False,
        jobs=1,
        acted_slowdown=2.0,
        policy_slowdown=1.5,
        acted_wait_seconds=60.0,
        policy_wait_seconds=30.0,
        acted_admitted=1,
        policy_admitted=1,
    ),
)
"""`foresail queue` alone makes these."""
LEARNED = (
    LearnedChoice(
        cycle=9,
        cluster_time_seconds=100.0,
        agent="admission",
        policy="p",
        weights_sha256="ab",
        acts=True,
        seen=(0.5,),
        ranks=(LearnedRank(action="admission:admit", allowed=True, score=0.5),),
        choice=0,
        action=NoopAction(),
        rules=NoopAction(),
    ),
    OutcomeLearned(
        cycle=9,
        cluster_time_seconds=115.0,
        agent="admission",
        policy="p",
        acts=True,
        same=True,
        policy_reward=1.0,
        rules_reward=1.0,
        scored=1,
        agreed=1,
        policy_total=1.0,
        rules_total=1.0,
    ),
)
"""Of runs with a learned policy alone."""
FRAMED = [kind.TYPE for kind in EVENT_TYPES if "frame" in kind.model_fields]


@cache
def examples() -> Mapping[str, list[Encoded]]:
    """Return real events of every type: of a short run, and made where a run makes none."""
    found: dict[str, list[Encoded]] = {kind.TYPE: [] for kind in EVENT_TYPES}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.fslog"
        flags = {"virtual_time": True, "for_seconds": 130.0, "nodes": 6, "record": str(path)}
        given_flags = {f"run.{name}": value for name, value in flags.items()}
        run_virtual_stack(resolve(None, {}, {**given_flags, "run.exercise": True}), quiet=True)
        for message in open_recording(path):
            encoded = Encoded(message.subject, message.headers, message.data)
            found[attributes_of(message.headers)["type"]].append(encoded)
    for made in (
        *OF_RUN,
        make_control(),
        SWITCHBACK,
        make_breaker_change(),
        make_judgement(),
        make_foresight(),
        make_mismatch(),
        OutcomeCapabilities(cycle=1, cluster_time_seconds=100.0, missing=(NO_EVICTION,)),
        IMPORTED,
        ImportedLine(cycle=2, form="events", content='{"kind": "reward", "total": 1.0}'),
        CAPACITY,
        SIZES,
        FILLED,
        *OF_SESSION,
        *QUEUE,
        *LEARNED,
    ):
        found[made.TYPE].append(encode(stamp_event(made)))
    return found


@cache
def validator(event_type: str) -> Draft202012Validator:
    """Return the published schema of a type, as readers use it: unknown fields are let through."""
    path = ROOT / "schemas" / "exported" / f"{event_type}.json"
    text = path.read_text(encoding="utf-8").replace('"additionalProperties": false', '"x": false')
    return Draft202012Validator(json.loads(text))


def read(encoded: Encoded, data: bytes) -> Event[Any] | None:
    """Decode; None when it is refused in the documented way."""
    try:
        return decode(encoded.subject, encoded.headers, data)
    except UnknownEvent:
        return None


def test_every_type_has_an_example() -> None:
    """No type escapes: each has a valid event that is read back."""
    for event_type, ones in examples().items():
        assert ones, event_type
        for one in ones:
            event = read(one, one.data)
            assert event is not None
            assert one.data == encode(event).data
            validator(event_type).validate(json.loads(one.data))


@pytest.mark.parametrize("event_type", BY_TYPE)
@FUZZ
@given(st.data())
def test_broken_data_is_refused_or_fits_the_schema(event_type: str, data: st.DataObject) -> None:
    """UnknownEvent is the only error; what is accepted fits the schema and is read back equal."""
    one = data.draw(st.sampled_from(examples()[event_type][-4:]))
    sent = data.draw(broken_encodings(json.loads(one.data)))
    event = read(one, sent)

    if event is not None:
        validator(event_type).validate(json.loads(sent))
        again = encode(event)
        assert event == decode(again.subject, again.headers, again.data)


@FUZZ
@given(st.data())
def test_broken_headers_are_refused(data: st.DataObject) -> None:
    """Whatever stands in headers and subject, an event is read that has a place, or none."""
    event_type = data.draw(st.sampled_from(sorted(BY_TYPE)))
    one = data.draw(st.sampled_from(examples()[event_type][-4:]))
    headers = dict(one.headers)
    for _ in range(data.draw(st.integers(0, 2))):
        name = data.draw(st.sampled_from(sorted(one.headers)) | st.text(max_size=8))
        headers[name] = data.draw(st.sampled_from(ODD_TEXTS) | st.text(max_size=10))
    subject = data.draw(
        st.just(one.subject)
        | st.sampled_from(["", ".", "foresail", "foresail.c", "foresail.c..x", "live.foresail.c.x"])
        | st.text(max_size=12)
    )
    event = read(Encoded(subject, headers, one.data), one.data)

    if event is not None:
        assert event.cycle >= 0
        assert event.id
        assert event.data.tokens() == one_of(event).tokens()
        encode(event)


def one_of(event: Event[Any]) -> EventData:
    """Return the event's data with its type."""
    assert isinstance(event.data, BY_TYPE[event.type])
    return event.data


@FUZZ
@given(st.data())
def test_upcasters_get_objects_only(data: st.DataObject) -> None:
    """An old version that is no JSON object is refused before an upcaster sees it."""
    sent = data.draw(broken_encodings({"a": 1}))
    chain = {"old.v1": ("old.v2", lambda content: {**content, "b": 2})}
    try:
        content = json.loads(sent)
    except (ValueError, RecursionError):
        return
    if isinstance(content, dict):
        assert ("old.v2", {**content, "b": 2}) == upcast("old.v1", content, chain)


def framed_examples(event_type: str) -> Iterator[tuple[FullState, Any]]:
    """Yield (state before, delta event) of a type's examples."""
    state: FullState | None = None
    for example in examples_in_order(event_type):
        data = decode(example.subject, example.headers, example.data).data
        if state is not None and data.frame.frame == "delta":
            yield state, data
        state = apply_frame(state, data)


def examples_in_order(event_type: str) -> list[Encoded]:
    """Return the first events of a type: a keyframe and deltas after it."""
    return examples()[event_type][:6]


@pytest.mark.parametrize("event_type", FRAMED)
@FUZZ
@given(st.data())
def test_a_wrong_delta_is_noticed(event_type: str, data: st.DataObject) -> None:
    """A delta gives the state whose hash it names, or FrameMismatch; never another state."""
    state, delta = data.draw(st.sampled_from(list(framed_examples(event_type))))
    content = delta.model_dump(mode="json")
    content["frame"] = data.draw(mutations(content["frame"]))
    try:
        changed = type(delta).read(json.dumps(content).encode())
    except ValueError:
        return
    try:
        after = apply_frame(data.draw(st.sampled_from([state, None])), changed)
    except FrameMismatch:
        return
    assert after.hash == apply_frame(state, delta).hash or changed.frame.frame == "keyframe"


def test_a_keyframe_proves_its_hash() -> None:
    """A keyframe with one changed cell, or without a table, is not believed."""
    one = examples_in_order(Observation.TYPE)[0]
    content = json.loads(one.data)
    assert "keyframe" == content["frame"]["frame"]
    content["nodes"]["pods"][0] += 1
    without = {**json.loads(one.data), "nodes": None}

    for wrong in (content, without):
        with pytest.raises(FrameMismatch):
            apply_frame(None, Observation.read(json.dumps(wrong).encode()))


def test_deep_nesting_is_refused() -> None:
    """Brackets without end are an unreadable event, not a crash."""
    one = examples()["foresail.config.v1"][0]

    assert read(one, b'{"settings":' + b"[" * DEEP) is None
