"""A file of machines is taken as it says, or refused with its line, its field and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from inputs.errors import InputError
from twin.config import TwinConfig
from twin.config.provisioning import ProvisioningConfig
from twin.engine import Engine
from twin.machines.public_shapes import default_shapes, public_shapes
from twin.machines.reading import check_machines, is_machine_file, machines_of, read_machines

GOOD = """\
machines:
  - name: small
    cpu_cores: 2
    memory_gib: 8
    price_per_hour: 0.1
    spot_price_per_hour: 0.03
    zones: [a, b]
    boot_seconds: 20
    idle_watts: 10
    full_watts: 30
  - {name: large, cpu_cores: 15.5, memory_gib: 64, price_per_hour: 0.8, gpus: 2}
groups:
  - name: web
    machine: small
    min: 1
    max: 5
    start: 2
    zone: b
    spot: true
    labels: {team: web}
    taints: ["only=web:NoSchedule"]
cloud:
  quota_cores: 40
  refuse: [large/spot]
  never_boots: [large]
karpenter:
  interruption_queue: notices
"""


@pytest.fixture
def base() -> ProvisioningConfig:
    """Settings before a file."""
    return ProvisioningConfig(provisioner="cluster-autoscaler")


def test_a_file_is_taken_as_it_says(base: ProvisioningConfig, tmp_path: Path) -> None:
    """Every key of a good file arrives in the settings, in the units that the twin counts in."""
    path = tmp_path / "machines.yaml"
    path.write_text(GOOD, encoding="utf-8")
    config = read_machines(path, base)

    small, large = config.machines
    assert (small.cpu_millicores, small.memory_bytes, small.zones) == (2_000, 8 * 2**30, ("a", "b"))
    assert (small.spot_price_per_hour, small.boot_median_seconds) == (0.03, 20.0)
    assert (small.idle_watts, small.full_watts) == (10.0, 30.0)
    assert (large.cpu_millicores, large.gpus, large.price_per_hour) == (15_500, 2, 0.8)
    (group,) = config.groups
    assert (group.machine, group.least, group.most, group.start) == ("small", 1, 5, 2)
    assert (group.zone, group.spot, group.labels) == ("b", True, (("team", "web"),))
    assert group.taints == (("only", "web", "NoSchedule"),)
    assert (config.cloud.quota_cores, config.cloud.refuse) == (40.0, ("large/spot",))
    assert config.karpenter.interruption_queue == "notices"
    assert config.provisioner == "cluster-autoscaler"


def test_a_file_without_machines_rents_from_the_table(base: ProvisioningConfig) -> None:
    """Groups alone name machines of the table, of whichever provider, and a cluster runs on them."""
    assert machines_of(b"cloud: {quota_cores: 8}", "f", base).machines == ()
    for name in ("m5.large", "e2-standard-4"):
        text = f"groups: [{{name: g, machine: {name}, max: 3, start: 1}}]"
        config = machines_of(text.encode(), "f", base)
        engine = Engine(TwinConfig(provisioning=config), seed=1)
        engine.advance(engine.now + 1.0)

        assert [machine.machine for machine in engine.cloud.machines.values()] == [name]
    assert set(default_shapes()) < set(public_shapes())


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "remedy"),
    [
        ("cpu_cores: 2\n", "cpu_cores: 0\n", 3, "machines[0].cpu_cores", "greater than 0"),
        ("cpu_cores: 2\n", "cpu_cores: two\n", 3, "machines[0].cpu_cores", "valid number"),
        ("price_per_hour: 0.1\n", "price_per_hour: -1\n", 5, "machines[0].price_per_hour", "than"),
        ("price_per_hour: 0.1\n", "prize: 0.1\n", 2, "machines[0].price_per_hour", "add this key"),
        ("boot_seconds: 20", "boot: 20", 8, "machines[0].boot", "take it out or correct"),
        ("zones: [a, b]", "zones: []", 7, "machines[0].zones", "at least 1"),
        ("full_watts: 30", "full_watts: 3", 10, "machines[0].full_watts", "give at least idle"),
        ("name: large", "name: small", 11, "machines[1].name", "give each machine once"),
        ("name: small", "name: Small!", 2, "machines[0].name", "lower-case"),
        ("machine: small", "machine: tiny", 14, "groups[0].machine", "choose from large, small"),
        ("zone: b", "zone: c", 18, "groups[0].zone", "choose from a, b"),
        ("max: 5", "max: 1", 16, "groups[0].max", "give at least 2"),
        ("min: 1", "min: 9", 16, "groups[0].max", "give at least 9"),
        ("per_hour: 0.03", "per_hour: 0", 19, "groups[0].spot", "spot_price_per_hour"),
        ("only=web:NoSchedule", "only=web", 21, "groups[0].taints", "key=value:NoSchedule"),
        ("quota_cores: 40", "quota_cores: much", 23, "cloud.quota_cores", "valid number"),
        ("[large/spot]", "[huge]", 24, "cloud.refuse", "choose from large, small"),
        ("queue: notices", "queue: yes", 27, "karpenter.interruption_queue", "valid string"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(
    base: ProvisioningConfig, old: str, new: str, line: int, field: str, remedy: str
) -> None:
    """One line names the file's line, the field, the value, and what to write instead."""
    assert GOOD.count(old) == 1
    with pytest.raises(InputError) as refused:
        machines_of(GOOD.replace(old, new).encode(), "machines.yaml", base)

    told = str(refused.value)
    assert "\n" not in told
    assert f"machines.yaml line {line}: {field}" in told
    assert remedy in told


def test_every_wrong_value_is_found(base: ProvisioningConfig) -> None:
    """Each value of a wrong form is an error with its own line, in the order of the file."""
    text = GOOD.replace("cpu_cores: 2\n", "cpu_cores: 0\n").replace("max: 5", "max: none")
    config, errors = check_machines(text.encode(), "m.yaml", base)

    assert config is base
    assert [error.field for error in errors] == [
        "m.yaml line 3: machines[0].cpu_cores",
        "m.yaml line 16: groups[0].max",
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (GOOD, True),
        ("# mine\ncloud : {}\n", True),
        ("groups: [", True),
        ('{"machines": []}', True),
        ('{\n  "cloud": {}\n}', True),
        ("{groups: []}", True),
        ("karpenter:\n", True),
        ("\ufeffmachines: []", True),
        ("faults:\n- fault: node_death\n", False),
        ("faults:\n  machines: 3\n", False),
        ("# machines: none\n", False),
        ("machines are many", False),
    ],
)
def test_a_file_of_machines_is_known_by_its_keys(tmp_path: Path, text: str, is_one: bool) -> None:
    """A key at the top tells it from a scenario, also while its YAML is broken."""
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")

    assert is_machine_file(path) == is_one
    assert not is_machine_file(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", [b"", b"- a\n", b"machines: [", b"\xff\xfe", b"&a [*a, *a]"])
def test_what_is_no_such_file_is_told(base: ProvisioningConfig, text: bytes) -> None:
    """Other YAML, broken YAML and bytes are refused in one line, too."""
    with pytest.raises(InputError) as refused:
        machines_of(text, "machines.yaml", base)

    assert "machines.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_scenario_is_no_file_of_machines(base: ProvisioningConfig) -> None:
    """It is named for what it is, with the flag that takes it."""
    with pytest.raises(InputError, match=r"m\.yaml = a scenario: give it to --scenario"):
        machines_of(b"name: storm\nfaults:\n- {fault: watch_cut}\n", "m.yaml", base)


def test_a_file_that_is_not_there_is_told(base: ProvisioningConfig, tmp_path: Path) -> None:
    """So is a path that leads nowhere."""
    with pytest.raises(InputError, match="give a readable file"):
        read_machines(tmp_path / "none.yaml", base)
