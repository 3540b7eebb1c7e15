"""What was played, as a table on the terminal, as a page of evidence, and as an excerpt of the audit log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.real_cluster.audit import Request
from proofs.real_cluster.population import Size
from proofs.real_cluster.session import Step

PAGE, EXCERPT = "evidence-real-cluster.md", "evidence-real-cluster.jsonl"
TEXT_CHARACTERS = 260
_HEAD = """# Evidence: actions on a real control plane

Made by `python -m proofs.real_cluster --evidence FOLDER` with KUBEBUILDER_ASSETS set; not written by hand. etcd,
kube-apiserver, kube-controller-manager and kube-scheduler are the real programs. The {nodes} nodes and {pods} pods have
no machines: a keeper renews leases and says that pods run, as kubelets do. Collector and executor are the product's,
each with a token of its own service account and exactly the rights that `foresail rbac` prints for every kind of action
in namespace `shop`. Decisions are the proof's own; the state of the cluster is read by an administrator. What reached
the server is quoted from its audit log; [the excerpt]({excerpt}) has every write of ours, bodies included.

| program | version |
|---|---|
{versions}

{held} of {count} cases held.
"""


@dataclass(frozen=True, slots=True)
class Played:
    """One case, played."""

    name: str
    title: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    problem: str
    """Why it did not hold; empty: it held."""
    seconds: float

    @property
    def held(self) -> bool:
        """Whether it held."""
        return not self.problem


def table(played: Sequence[Played]) -> str:
    """Return one line a case."""
    lines = [
        f"{one.name:24} {len(one.steps):2} steps  {'holds' if one.held else 'FAILED'}"
        for one in played
    ]
    return "\n".join([*lines, f"{sum(one.held for one in played)} of {len(played)} cases held"])


def evidence(played: Sequence[Played], versions: Mapping[str, str], size: Size) -> str:
    """Return the page."""
    rows = "\n".join(f"| {name} | {version} |" for name, version in versions.items())
    head = _HEAD.format(
        nodes=size.nodes, pods=size.pods, versions=rows, excerpt=EXCERPT,
        held=sum(one.held for one in played), count=len(played),
    )  # fmt: skip
    return "\n".join([head, *map(_section, played)])


def write_evidence(
    folder: Path, played: Sequence[Played], versions: Mapping[str, str], size: Size
) -> None:
    """Write the page and the excerpt."""
    (folder / PAGE).write_text(evidence(played, versions, size), encoding="utf-8")
    lines = [json.dumps(row, sort_keys=True) for one in played for row in _excerpt(one)]
    (folder / EXCERPT).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _section(one: Played) -> str:
    lines = [f"## {one.name}", "", f"{one.title[0].upper()}{one.title[1:]}.", ""]
    if one.problem:
        lines += [f"**Did not hold**: {_cell(one.problem)}", ""]
    if one.steps:
        lines += ["| asked | reached the server | the log says |", "|---|---|---|"]
        lines += [
            f"| {_cell(step.asked)} | {_cell(_reached(step.requests))} | {_cell(step.said)} |"
            for step in one.steps
        ]
        lines.append("")
    lines += [f"- {note}" for note in one.notes]
    return "\n".join(lines).rstrip() + "\n"


def _reached(requests: Sequence[Request]) -> str:
    """Return each request once, with how often it came."""
    counts = Counter(one.text for one in requests)
    return (
        "; ".join(text if count == 1 else f"{text} (x{count})" for text, count in counts.items())
        or "no write"
    )


def _excerpt(one: Played) -> list[dict[str, object]]:
    return [
        {
            "case": one.name, "step": number, "verb": request.verb, "resource": request.resource,
            "namespace": request.namespace, "name": request.name, "dry": request.dry, "code": request.code,
            "manager": request.manager, "agent": request.agent, "body": request.body,
        }
        for number, step in enumerate(one.steps) for request in step.requests
    ]  # fmt: skip


def _cell(text: str) -> str:
    cut = text if len(text) <= TEXT_CHARACTERS else text[: TEXT_CHARACTERS - 1] + "…"
    return cut.replace("|", "\\|").replace("\n", " ")
