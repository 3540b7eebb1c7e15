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

from deploy.make_manifests import ROOT as DEPLOY_ROOT
from deploy.manifests.files import all_files
from deploy.manifests.overlays import OVERLAYS
from deploy.manifests.processes import PROCESSES
from deploy.manifests.values import KINDS
from foresail.install_rights import Grants, granted_rights
from services.identities import BY_NAME
from services.node_agent.settings import NodeAgentSettings
from services.recorder.settings import FOLDER_VARIABLE, RecorderSettings
from services.rights import Right
from tests.install.renderers import CHART, DEPLOY, Key, Object, kustomized, run, templated
from tests.twin.clients.conftest import install
from tests.twin.clients.test_helm import helm_binary
from tests.twin.kubectl.conftest import packaged_kubectl

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
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
    own = ("Namespace", "", "foresail")
    without_space = {key: one for key, one in objects.items() if key != own}
    assert by_helm == without_space
    assert len(by_helm) > 20


def test_monitoring_is_the_same_by_component_and_by_value(
    helm: str, kubectl: Path, tmp_path: Path
) -> None:
    """ServiceMonitor, PrometheusRule, dashboard and the way in for Prometheus; templates of alerts stay theirs."""
    objects = with_component(kubectl, tmp_path, "monitoring")
    by_helm = templated(helm, "--set", "monitoring.enabled=true")
    assert by_helm == {key: one for key, one in objects.items() if key[0] != "Namespace"}
    kinds = {key[0] for key in by_helm}
    assert {"ServiceMonitor", "PrometheusRule"} <= kinds
    alerts = yaml.safe_load((DEPLOY / "grafana" / "alerts.yml").read_text(encoding="utf-8"))
    assert by_helm["PrometheusRule", "foresail", "foresail"]["spec"] == alerts


def with_component(kubectl: Path, folder: Path, name: str) -> dict[Key, Object]:
    """Return the base with one component."""
    parts = {"base": KUSTOMIZE / "base", "part": KUSTOMIZE / "components" / name}
    there = {one: os.path.relpath(path, folder) for one, path in parts.items()}
    content = {"resources": [there["base"]], "components": [there["part"]]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return kustomized(kubectl, folder)


RECORDER = ("StatefulSet", "foresail", "foresail-recorder")


def test_the_recorder_is_the_same_by_component_and_by_value(
    helm: str, kubectl: Path, tmp_path: Path
) -> None:
    """Only where it is asked for: one restricted pod with its own login, no token, and a volume of its own."""
    assert RECORDER not in templated(helm)
    objects = with_component(kubectl, tmp_path, "recorder")
    by_helm = templated(helm, "--set", "recorder.enabled=true")
    assert by_helm == {key: one for key, one in objects.items() if key[0] != "Namespace"}
    spec = by_helm[RECORDER]["spec"]
    assert spec["replicas"] == 1
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "25Gi"
    pod = pod_of(by_helm[RECORDER])
    assert pod["automountServiceAccountToken"] is False
    (login,) = [one for one in pod["volumes"] if one["name"] == "login"]
    assert [one["key"] for one in login["secret"]["items"]] == ["recorder.env"]
    (container,) = pod["containers"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert mounts[claim["metadata"]["name"]] == variables[FOLDER_VARIABLE]
    settings = RecorderSettings.model_validate_json(variables["FORESAIL_SETTINGS"])
    assert settings == RecorderSettings(folder=variables[FOLDER_VARIABLE])
    assert not [key for key in by_helm if key[0] == "NetworkPolicy" and "recorder" in key[2]]
    test_every_pod_is_restricted(("recorder", {RECORDER: by_helm[RECORDER]}))


def test_a_bucket_has_its_keys_and_a_way_out(helm: str) -> None:
    """Settings of the recorder go over what follows from the volume; the keys are a Secret of the user's."""
    flags = ["recorder.enabled=true", "recorder.settings.bucket=s3://week/shop"]
    flags += ["recorder.settings.roll_seconds=600", "recorder.bucketSecret=bucket-keys"]
    objects = templated(helm, *(word for flag in flags for word in ("--set", flag)))
    (container,) = pod_of(objects[RECORDER])["containers"]
    (text,) = [one["value"] for one in container["env"] if one["name"] == "FORESAIL_SETTINGS"]
    settings = RecorderSettings.model_validate_json(text)
    assert (settings.bucket, settings.roll_seconds) == ("s3://week/shop", 600.0)
    assert {"secretRef": {"name": "bucket-keys"}} in container["envFrom"]
    policy = objects["NetworkPolicy", "foresail", "foresail-recorder"]["spec"]
    assert policy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "recorder"
    assert policy["egress"] == [{}]


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


def agent_objects(helm: str, *flags: str) -> dict[Key, Object]:
    """Return what the chart renders with node agents."""
    return templated(helm, "--set", "nodeAgent.enabled=true", *flags)


def test_node_agents_are_apart_and_only_where_they_are_asked_for(helm: str) -> None:
    """In a namespace of their own that allows what every other refuses: files of the machine, as root."""
    assert not [key for key in templated(helm) if "node-agent" in key[2]]
    objects = agent_objects(helm)
    labels = objects["Namespace", "", "foresail-node-agent"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    pod = pod_of(objects["DaemonSet", "foresail-node-agent", "foresail-node-agent"])
    mounted = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    assert mounted == {
        "cpu": "/sys/devices/system/cpu",
        "state": "/var/lib/foresail/node-agent",
    }
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert (security["allowPrivilegeEscalation"], security["readOnlyRootFilesystem"]) == (
        False,
        True,
    )
    assert security["runAsUser"] == 0
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_a_cgroup_is_mounted_where_one_is_named(helm: str) -> None:
    """That one folder, and the agent's own settings go over what follows."""
    path = "/sys/fs/cgroup/foresail.slice"
    flags = ("--set", f"nodeAgent.cgroup={path}", "--set", "nodeAgent.settings.check_seconds=5")
    pod = pod_of(
        agent_objects(helm, *flags)["DaemonSet", "foresail-node-agent", "foresail-node-agent"]
    )
    assert {"path": path, "type": "Directory"} in [one.get("hostPath") for one in pod["volumes"]]
    (container,) = pod["containers"]
    (text,) = [one["value"] for one in container["env"] if one["name"] == "FORESAIL_SETTINGS"]
    settings = NodeAgentSettings.model_validate_json(text)
    assert (settings.cgroup_folder, settings.check_seconds) == ("/machine/cgroup", 5.0)
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts["cgroup"] == settings.cgroup_folder
    assert mounts["cpu"] == settings.cpu_folder


def test_no_password_is_in_any_file() -> None:
    """Secrets are named, never written."""
    objects = [one for text in all_files().values() if "\nkind: Secret\n" in text for one in text]
    assert objects == []


@pytest.mark.parametrize(
    ("name", "grants"),
    [
        ("shadow", Grants()),
        ("active", Grants(actions=("replicate",), namespaces=("shop",))),
        ("node-agent", Grants(node_agent=True)),
    ],
)
def test_roles_are_those_that_are_printed(name: str, grants: Grants, kubectl: Path) -> None:
    """What an overlay grants is what `foresail rbac` prints for the same kinds of action, right by right."""
    objects = kustomized(kubectl, KUSTOMIZE / "overlays" / name)
    granted = {
        (key[2].removesuffix("-write").removesuffix("-lease"), verb, group, resource)
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
        (
            "recorder.settings.speed=1",
            "/recorder/settings': additional properties 'speed' not allowed",
        ),
        ("recorder.bucketSecret=Keys", "/recorder/bucketSecret': 'Keys' does not match pattern"),
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
    assert bound == {"shop", "batch", "kube-system"}  # the Lease lies there
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
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1_000:]
