"""Every file of deploy/kustomize and deploy/helm, from one set of objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from jsonpatch import JsonPatch

import foresail
from deploy.manifests import log, monitoring, network, rights, workloads
from deploy.manifests.overlays import OVERLAYS, Overlay
from deploy.manifests.tree import Document, plain_documents, template
from deploy.manifests.values import DEFAULTS, SCHEMA, SENTENCES, Chart, Values, merged

MADE = "# Made by `python -m deploy.make_manifests`; do not edit.\n"
HOME = "foresail"
CHART = "helm/foresail"
LEVEL = "pod-security.kubernetes.io"
Object = dict[str, Any]
Key = tuple[str, str, str]
NOTES = """\
Foresail runs in {{ .Values.mode }} mode. What it would do, and why:

    kubectl -n {{ .Release.Namespace }} port-forward service/foresail-dashboard 8765
"""


def all_documents(values: Values) -> list[Document]:
    """Return every object of an installation under some values."""
    chart = Chart(values)
    parts = (rights, log, workloads, network, monitoring)
    return [document for part in parts for document in part.documents(chart)]


def all_files() -> dict[str, str]:
    """Return the content of each file, by its path below deploy/."""
    return {**_kustomize(), **_helm()}


def objects_of(values: Values) -> dict[Key, tuple[str, Object]]:
    """Return each object with its file, by kind, namespace and name; lists are taken apart."""
    found = {}
    for file, tree in plain_documents(all_documents(values)):
        for one in tree["items"] if tree["kind"] == "List" else [tree]:
            metadata = one["metadata"]
            found[one["kind"], metadata.get("namespace", ""), metadata["name"]] = (file, one)
    return found


def _kustomize() -> dict[str, str]:
    base = objects_of({})
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": HOME,
            "labels": {f"{LEVEL}/{mode}": "restricted" for mode in ("enforce", "audit", "warn")},
        },
    }
    files = {"kustomize/base/namespace.yaml": _yaml([space])}
    by_file: dict[str, list[Object]] = {}
    for file, one in base.values():
        by_file.setdefault(file, []).append(one)
    files |= {f"kustomize/base/{file}.yaml": _yaml(some) for file, some in by_file.items()}
    names = sorted(["namespace.yaml", *(f"{file}.yaml" for file in by_file)])
    files["kustomize/base/kustomization.yaml"] = _kustomization({"resources": names})
    for name, overlay in OVERLAYS.items():
        files |= _overlay(name, overlay, base)
    watched = objects_of({"monitoring": {"enabled": True}})
    added = [one for key, (_, one) in watched.items() if key not in base]
    files["kustomize/components/monitoring/monitoring.yaml"] = _yaml(added)
    files["kustomize/components/monitoring/kustomization.yaml"] = _kustomization(
        {"resources": ["monitoring.yaml"]}, kind="Component", version="v1alpha1"
    )
    return files


def _overlay(name: str, overlay: Overlay, base: Mapping[Key, tuple[str, Object]]) -> dict[str, str]:
    """Return an overlay: objects that are added, and patches of those that differ."""
    wanted = objects_of(overlay.values)
    folder = f"kustomize/overlays/{name}"
    resources, files = ["../../base"], {}
    added = [one for key, (_, one) in wanted.items() if key not in base]
    if added:
        resources.append("added.yaml")
        files[f"{folder}/added.yaml"] = _yaml(added)
    content: dict[str, Any] = {"resources": resources}
    patches = []
    for key, (_, one) in base.items():
        if key not in wanted:
            raise ValueError(f"overlay {name} leaves out {key}, which a patch cannot say")
        if steps := JsonPatch.from_diff(one, wanted[key][1], optimization=False).patch:
            kind, _, own = key
            target = {"kind": kind, "name": own}
            patches.append({"target": target, "patch": yaml.safe_dump(steps, sort_keys=False)})
    if patches:
        content["patches"] = patches
    if overlay.image is not None:
        new, tag = overlay.image
        content["images"] = [{"name": "foresail", "newName": new, "newTag": tag}]
    files[f"{folder}/kustomization.yaml"] = f"# {overlay.purpose}\n" + _kustomization(content)
    return files


def overlay_values(name: str) -> dict[str, Any]:
    """Return the values that make the chart render what an overlay renders."""
    overlay = OVERLAYS[name]
    image = {} if overlay.image is None else {"image": ":".join(overlay.image)}
    return merged(overlay.values, image)


def _helm() -> dict[str, str]:
    by_file: dict[str, list[str]] = {}
    for document in all_documents({}):
        by_file.setdefault(document.file, []).append(template(document))
    files = {
        f"{CHART}/templates/{name}.yaml": f"{MADE}{''.join(texts)}"
        for name, texts in by_file.items()
    }
    files[f"{CHART}/templates/NOTES.txt"] = NOTES
    about = {
        "apiVersion": "v2",
        "name": "foresail",
        "description": "Watches a Kubernetes cluster, predicts, decides, and says why.",
        "type": "application",
        "version": foresail.__version__,
        "appVersion": foresail.__version__,
        "kubeVersion": ">=1.29.0-0",
    }
    files[f"{CHART}/Chart.yaml"] = MADE + yaml.safe_dump(about, sort_keys=False)
    files[f"{CHART}/values.schema.json"] = json.dumps(SCHEMA, indent=2) + "\n"
    words = []
    for name, default in DEFAULTS.items():
        words.append(f"# {SENTENCES[name]}\n{yaml.safe_dump({name: default}, sort_keys=False)}")
    files[f"{CHART}/values.yaml"] = MADE + "\n" + "\n".join(words)
    for name, overlay in OVERLAYS.items():
        text = yaml.safe_dump(overlay_values(name), sort_keys=False)
        files[f"helm/values/{name}.yaml"] = f"{MADE}# {overlay.purpose}\n{text}"
    return files


def _kustomization(
    content: Mapping[str, Any], kind: str = "Kustomization", version: str = "v1beta1"
) -> str:
    head = {"apiVersion": f"kustomize.config.k8s.io/{version}", "kind": kind}
    return MADE + yaml.dump({**head, **content}, Dumper=_Blocks, sort_keys=False, width=200)


def _yaml(objects: Sequence[Object]) -> str:
    return MADE + yaml.dump_all(objects, Dumper=_Blocks, sort_keys=False, width=200)


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and what occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class' form
        """Return whether a value is written out wherever it occurs."""
        return True


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _block)
