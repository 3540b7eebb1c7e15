"""kustomize and Helm write the same objects, from one source, and refuse what cannot be meant."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.utils.quantity import parse_quantity

from deploy.make_manifests import ROOT as DEPLOY_ROOT
from deploy.manifests.files import all_files
from deploy.manifests.overlays import OVERLAYS
from deploy.manifests.processes import PROCESSES
from deploy.manifests.values import KINDS
from foresail import log_copy
from services.dashboard import kept_states
from services.identities import BY_NAME
from services.rights import Right
from services.rights.installation import Grants, granted_rights
from tests.install.renderers import CHART, DEPLOY, Key, Object, kustomized, run, templated
from tests.patience import HANGS_SECONDS
from twin.tests.clients.conftest import install
from twin.tests.clients.test_helm import helm_binary
from twin.tests.kubectl.conftest import packaged_kubectl

pytestmark = pytest.mark.slow
KUSTOMIZE, VALUES = DEPLOY / "kustomize", DEPLOY / "helm" / "values"
HOLDS_PODS = {"Deployment", "StatefulSet", "Job"}
VALIDATOR = "kubernetes-validate==1.37.0"
"""Schemas of Kubernetes' own OpenAPI documents."""


@pytest.fixture(scope="module")
def helm() -> str:
    """Return a Helm; skip where there is none."""
    return helm_binary()


@pytest.fixture(scope="module")
def kubectl() -> Path:
    """Return the kubectl that is installed with the tests; skip where there is none."""
    if not shutil.which(packaged_kubectl()):
        pytest.skip("no kubectl beside Python: make setup")
    return packaged_kubectl()


@pytest.fixture(scope="module", params=OVERLAYS)
def rendered(request: pytest.FixtureRequest, kubectl: Path) -> tuple[str, dict[Key, Object]]:
    """Return each overlay's name and objects."""
    return request.param, kustomized(kubectl, KUSTOMIZE / "overlays" / request.param)


def pod_of(workload: Object) -> Any:
    """Return the spec of a workload's pods."""
    return workload["spec"]["template"]["spec"]


def pods(objects: dict[Key, Object]) -> dict[str, Any]:
    """Return the spec of every workload's pods, by the workload's name."""
    return {key[2]: pod_of(one) for key, one in objects.items() if key[0] in HOLDS_PODS}


def test_committed_files_are_up_to_date() -> None:
    """`python -m deploy.make_manifests` would change nothing and remove nothing."""
    made = all_files()
    folders = (DEPLOY / "kustomize", DEPLOY / "helm")
    there = {
        path.relative_to(DEPLOY_ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(made)
    assert [name for name in made if made[name] != there[name]] == []


def test_helm_and_kustomize_write_the_same(
    helm: str, rendered: tuple[str, dict[Key, Object]]
) -> None:
    """All but the Namespace, which Helm makes itself, is the same object by object."""
    name, objects = rendered
    by_helm = templated(helm, "--values", VALUES / f"{name}.yaml")
    without_space = {key: one for key, one in objects.items() if key[0] != "Namespace"}
    assert by_helm == without_space
    assert len(by_helm) > 20


def test_monitoring_is_the_same_by_component_and_by_value(
    helm: str, kubectl: Path, tmp_path: Path
) -> None:
    """ServiceMonitor, PrometheusRule, dashboard and the way in for Prometheus; templates of alerts stay theirs."""
    parts = {"base": KUSTOMIZE / "base", "monitoring": KUSTOMIZE / "components" / "monitoring"}
    there = {name: os.path.relpath(path, tmp_path) for name, path in parts.items()}
    content = {"resources": [there["base"]], "components": [there["monitoring"]]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    objects = kustomized(kubectl, tmp_path)
    by_helm = templated(helm, "--set", "monitoring.enabled=true")
    assert by_helm == {key: one for key, one in objects.items() if key[0] != "Namespace"}
    kinds = {key[0] for key in by_helm}
    assert {"ServiceMonitor", "PrometheusRule"} <= kinds
    alerts = yaml.safe_load((DEPLOY / "grafana" / "alerts.yml").read_text(encoding="utf-8"))
    assert by_helm["PrometheusRule", "foresail", "foresail"]["spec"] == alerts


def test_tracing_is_there_where_a_receiver_is_named(helm: str) -> None:
    """Its Deployment, the receiver in its settings, and the way out."""
    assert ("Deployment", "foresail", "foresail-tracing") not in templated(helm)
    objects = templated(helm, "--set", "tracing.otlpUrl=http://receiver:4318")
    (container,) = pod_of(objects["Deployment", "foresail", "foresail-tracing"])["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert json.loads(variables["FORESAIL_SETTINGS"]) == {"otlp_url": "http://receiver:4318"}
    assert ("NetworkPolicy", "foresail", "foresail-tracing") in objects


def test_every_process_of_compose_has_a_deployment(rendered: tuple[str, dict[Key, Object]]) -> None:
    """With its own login, and a token only where it talks to the API server."""
    _, objects = rendered
    for process in PROCESSES:
        if process.name == "tracing":
            continue
        pod = pod_of(objects["Deployment", "foresail", f"foresail-{process.name}"])
        assert process.name in BY_NAME
        (login,) = [one for one in pod["volumes"] if one["name"] == "login"]
        assert [one["key"] for one in login["secret"]["items"]] == [f"{process.name}.env"]
        assert pod["automountServiceAccountToken"] is process.reads_cluster
        assert tuple(pod["containers"][0]["args"]) == process.command


def test_what_the_page_writes_fits_on_its_disk(rendered: tuple[str, dict[Key, Object]]) -> None:
    """Its past states and two copies of logs; on disk, since its memory is limited to less."""
    _, objects = rendered
    pod = pod_of(objects["Deployment", "foresail", "foresail-dashboard"])
    (volume,) = [one["emptyDir"] for one in pod["volumes"] if one["name"] == "tmp"]
    states = len(kept_states.EVERY_MESSAGES) * kept_states.MOST_BYTES

    assert "medium" not in volume
    assert parse_quantity(volume["sizeLimit"]) > states + 2 * log_copy.MOST_BYTES


def test_every_pod_is_restricted(rendered: tuple[str, dict[Key, Object]]) -> None:
    """The restricted Pod Security Standard, a read-only root, probes, requests and a limit of memory."""
    _, objects = rendered
    for name, pod in pods(objects).items():
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["seccompProfile"]["type"]) == (
            True,
            "RuntimeDefault",
        )
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert not [one for one in pod["volumes"] if "hostPath" in one]
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            own = container["securityContext"]
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert (own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"]) == (False, True)
            assert container["resources"]["limits"]["memory"], name
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}
            if name != "foresail-setup":
                assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_no_password_is_in_any_file() -> None:
    """Secrets are named, never written."""
    objects = [one for text in all_files().values() if "\nkind: Secret\n" in text for one in text]
    assert objects == []


@pytest.mark.parametrize(
    ("name", "grants"),
    [
        ("shadow", Grants()),
        ("active", Grants(actions=("replicate",), namespaces=("shop",))),
    ],
)
def test_roles_are_those_that_are_printed(name: str, grants: Grants, kubectl: Path) -> None:
    """What an overlay grants is what `foresail rbac` prints for the same kinds of action, right by right."""
    objects = kustomized(kubectl, KUSTOMIZE / "overlays" / name)
    granted = {
        (key[2].removesuffix("-write"), verb, group, resource)
        for key, one in objects.items()
        if key[0] in {"Role", "ClusterRole"}
        for rule in one["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }

    def row(process: str, right: Right) -> tuple[str, str, str, str]:
        return f"foresail-{process}", right.verb, right.group, right.resource

    wanted = {row(process, one) for process, some in granted_rights(grants).items() for one in some}
    assert granted == wanted


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("mode=wild", "/mode': value must be one of"),
        ("mode=active", "/actions': minItems: got 0, want 1"),
        ("nats.servers=2", "/nats/servers': value must be one of 1, 3"),
        ("actions={dance}", "/actions/0': value must be one of"),
        ("namespaces={Shop}", "/namespaces/0': 'Shop' does not match pattern"),
        ("writableNodes=pool", "/writableNodes': 'pool' does not match pattern"),
        ("replicas=3", "additional properties 'replicas' not allowed"),
        ("settings.cook.x=1", "/settings': additional properties 'cook' not allowed"),
        ("environment.PATH=x", "/environment': additional properties 'PATH' not allowed"),
        ("resources.executor.limits.memory=much", "/resources/executor/limits/memory': 'much'"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(helm: str, flag: str, said: str) -> None:
    """By the chart's schema, in one line that names the value."""
    done = run(helm, "template", "foresail", CHART, "--set", flag)
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("- at ")]
    assert any(said in line for line in lines), done.stderr


def test_every_kind_of_action_may_be_a_value(helm: str) -> None:
    """All at once, with nodes, render; the role of nodes is there with its label alone."""
    flags = ("--set", "mode=active", "--set", "namespaces={shop,batch}")
    kinds = ("--set", f"actions={{{','.join(KINDS)}}}")
    objects = templated(helm, *flags, *kinds)
    assert ("ClusterRole", "", "foresail-executor-nodes") not in objects
    bound = {key[1] for key in objects if key[0] == "RoleBinding" and "executor" in key[2]}
    assert bound == {"shop", "batch"}
    with_nodes = templated(helm, *flags, *kinds, "--set", "writableNodes=pool=shop")
    assert ("ClusterRoleBinding", "", "foresail-executor-nodes") in with_nodes


def test_kubernetes_own_schemas_accept_every_object(
    rendered: tuple[str, dict[Key, Object]], tmp_path: Path
) -> None:
    """Strictly: no field that Kubernetes does not know, none of a wrong kind."""
    folder = install(VALIDATOR)
    name, objects = rendered
    file = tmp_path / f"{name}.yaml"
    file.write_text(yaml.safe_dump_all(objects.values()), encoding="utf-8")
    program = (
        "import sys, yaml, kubernetes_validate as v\n"
        "for one in yaml.safe_load_all(open(sys.argv[1])):\n"
        "    v.validate(one, '1.36', strict=True)\n"
    )
    done = subprocess.run(
        [shutil.which("python3") or "python3", "-c", program, str(file)],
        env={"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1_000:]
