"""Clusters by name: what `--kubeconfig [NAME=]FILE` means, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.named_clusters import clusters_by_name, kubeconfig_settings
from foresail.settings import resolve
from foresail.stack.several import members_of


def kubeconfig(folder: Path, file: str, context: str) -> str:
    """Write a kubeconfig that says nothing but its current context."""
    path = folder / file
    path.write_text(f"apiVersion: v1\nkind: Config\ncurrent-context: {context}\n", encoding="utf-8")
    return str(path)


def test_one_file_stays_what_it_was() -> None:
    """A path is a path, whatever `--cluster` says; a name before it is the cluster's."""
    assert kubeconfig_settings((), "prod") == {}
    assert kubeconfig_settings(["~/.kube/config"], "prod") == {"run.kubeconfig": "~/.kube/config"}
    assert kubeconfig_settings(["prod=/k"], None) == {
        "run.kubeconfig": "/k",
        "run.cluster": "prod",
    }
    assert kubeconfig_settings(["/a=b/k"], None) == {"run.kubeconfig": "/a=b/k"}


def test_a_name_comes_from_the_context_where_none_is_written(tmp_path: Path) -> None:
    """What no subject may hold becomes a dash."""
    given = [
        kubeconfig(tmp_path, "one", "arn:aws:eks:eu-west-1:1234:cluster/shop"),
        f"pay={kubeconfig(tmp_path, 'two', 'whatever')}",
    ]
    assert list(clusters_by_name(given)) == ["arn-aws-eks-eu-west-1-1234-cluster-shop", "pay"]


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("a=one", "a=two"), "two clusters are called 'a'"),
        (("two", "two-too"), "two clusters are called 'ctx'"),
        (("a=one", "b=one"), "'a' is the same file"),
        (("a b=one", "c=two"), "use up to 41 letters"),
        (("none", "c=two"), "it has no current context"),
        (("a=one", "b=gone"), "give a file that exists"),
        (("a=one", "b=two", "--cluster", "x"), "with several clusters write each name"),
        (("a=one", "b=two", "--context", "x"), "context is one cluster's"),
        (("a=one", "b=two", "--record", "x"), "use --recordings FOLDER"),
        (("a=one", "b=two", "--exercise"), "exercise is for one cluster"),
        (("a=one", "b=two", "--dashboard-port", "65535"), "on this port and the next ones"),
        (("a=one", "--cluster", "b"), "calls the cluster 'a'"),
    ],
)
def test_what_does_not_fit_is_one_line(
    flags: tuple[str, ...],
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And exit code 2, before anything starts."""
    monkeypatch.chdir(tmp_path)
    for file in ("one", "two", "two-too"):
        kubeconfig(tmp_path, file, "ctx")
    kubeconfig(tmp_path, "none", '""')
    words: list[str] = []
    rest = False
    for flag in flags:
        rest = rest or flag.startswith("--")
        words += [flag] if rest else ["--kubeconfig", flag]

    assert main(["up", *words, "--for", "1s"]) == ExitCode.BAD_INPUT

    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
    assert not (tmp_path / ".foresail").exists()


def test_each_cluster_gets_settings_and_a_folder_of_its_own() -> None:
    """Names, files, ports one after the other; what was given stands for all."""
    flags = {"run.kubeconfigs": ("a=/1", "b=/2"), "run.mode": "shadow", "dashboard.port": 9000}
    one, two = members_of(resolve(None, {}, flags))
    assert (one.name, one.settings.run.kubeconfig, one.settings.run.cluster) == ("a", "/1", "a")
    assert (two.settings.run.kubeconfig, two.settings.run.mode) == ("/2", "shadow")
    assert [each.settings.dashboard.port for each in (one, two)] == [9000, 9001]
    assert two.state.path == Path(".foresail/clusters/b")
    assert two.settings.run.kubeconfigs == ()
    assert "run.mode" in two.settings.origins


def test_several_in_a_file_are_two_or_more() -> None:
    """A list of one would be another way to say `kubeconfig`."""
    with pytest.raises(ConfigError, match="two or more clusters"):
        resolve(None, {"FORESAIL_RUN__KUBECONFIGS": '["a=/1"]'}, {})
