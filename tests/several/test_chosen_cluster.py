"""Which cluster a verb is about: by name, asked for by name, or all."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bus.cluster_list import FILE, cluster_folder, read_clusters, write_clusters
from bus.errors import InputError
from foresail.chosen_cluster import choose_cluster, folder_of, folders_of
from foresail.stack.state_folder import StackFile, StateFolder
from schemas.cluster_standing import ClusterStanding


def arguments(state: Path, cluster: str | None = None, **more: object) -> argparse.Namespace:
    """Return what a verb that reads a stack's log is given."""
    given = {"state": str(state), "cluster": cluster, "nats_url": None, "recording": None}
    return argparse.Namespace(**{**given, **more})


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Give the state folder of a stack of two clusters."""
    write_clusters(tmp_path, {"shop": ClusterStanding(cycle=3), "pay": ClusterStanding(hold="x")})
    return tmp_path


def test_what_is_written_is_read(several: Path) -> None:
    """Whole, with its figures."""
    assert read_clusters(several)["shop"] == ClusterStanding(cycle=3)
    assert read_clusters(several)["pay"].hold == "x"


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a": 1}', '{"a": {"cycle": "7"}}', '{"a": {"x": 1}}']
)
def test_a_list_that_is_none_means_one_cluster(tmp_path: Path, text: str) -> None:
    """Somebody else's file, or half of one, is no list."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert read_clusters(tmp_path) == {}


def test_a_name_leads_to_its_folder(several: Path) -> None:
    """So a verb does there what it does with a stack of one."""
    words = arguments(several, "pay")
    choose_cluster(words)
    assert Path(words.state) == cluster_folder(several, "pay")


def test_without_a_name_it_says_which_there_are(several: Path) -> None:
    """And how to mean all, where that can be meant."""
    with pytest.raises(InputError, match=r"name one of shop, pay$"):
        choose_cluster(arguments(several))
    with pytest.raises(InputError, match="shop, pay, or give --all-clusters"):
        choose_cluster(arguments(several, all_clusters=False))
    with pytest.raises(InputError, match=r"did you mean pay\?"):
        choose_cluster(arguments(several, "pya"))


@pytest.mark.parametrize(
    "more",
    [
        {"nats_url": "nats://x"},
        {"recording": "run.fslog"},
        {"all_clusters": True},
        {"kubeconfig": "k"},
    ],
)
def test_what_reads_no_log_of_here_is_left_alone(several: Path, more: dict[str, object]) -> None:
    """A recording, a remote server, all clusters, a cluster that is read itself."""
    words = arguments(several, **more)
    choose_cluster(words)
    assert words.state == str(several)


def test_all_are_named_in_their_order(several: Path) -> None:
    """One alone where it is named; one without a name where there is only one."""
    assert [name for name, _ in folders_of(several, None)] == ["shop", "pay"]
    assert folders_of(several, "pay") == [("", cluster_folder(several, "pay"))]
    assert folders_of(several / "elsewhere", None) == [("", several / "elsewhere")]


def test_a_stack_of_one_knows_its_own_name_alone(tmp_path: Path) -> None:
    """Its folder stays what it was; another name would have been overlooked before."""
    state = StateFolder(tmp_path)
    state.write(StackFile("prod", "i1", "FORESAIL_prod_i1", "nats://x", embedded=True, pid=1))
    assert folder_of(tmp_path, None) == folder_of(tmp_path, "prod") == tmp_path
    with pytest.raises(InputError, match=r"the only cluster of .* is 'prod'"):
        folder_of(tmp_path, "shop")


def test_a_start_forgets_the_other_form(several: Path) -> None:
    """A stack of one in a folder where several ran, and the other way round."""
    state = StateFolder(several)
    state.write(StackFile("a", "i1", "FORESAIL_a_i1", "nats://x", embedded=True, pid=1))
    state.forget_clusters()
    assert read_clusters(several) == {}
    state.forget_stack()
    assert not (several / "stack.json").exists()


def test_worlds_of_a_cluster_never_share_a_number(tmp_path: Path) -> None:
    """Neither with its own earlier ones nor below the server's."""
    state = StateFolder(tmp_path)
    assert state.new_incarnation(least=4) == "i4"
    state.incarnation("i7")
    assert state.new_incarnation(least=4) == "i8"


def test_a_stack_file_of_before_is_read(tmp_path: Path) -> None:
    """It says nothing of a common server: its own is in the world's folder."""
    state = StateFolder(tmp_path)
    stack = StackFile("twin", "i2", "FORESAIL_twin_i2", "nats://x", embedded=True, pid=1)
    state.write(stack)
    content = json.loads((tmp_path / "stack.json").read_text(encoding="utf-8"))
    del content["bus_folder"]
    (tmp_path / "stack.json").write_text(json.dumps(content), encoding="utf-8")
    assert state.server_folder(state.read()) == tmp_path / "incarnations" / "i2" / "nats"
    stack.bus_folder = "../../incarnations/i9/nats"
    assert state.server_folder(stack) == tmp_path / stack.bus_folder
