"""docs/fidelity.md: one row a promise, from the committed recordings and the twin of this checkout."""

from __future__ import annotations

from collections.abc import Sequence

from lab.fidelity.compare import Comparison, FidelityRow
from lab.fidelity.metrics import Value
from lab.fidelity.scenario import KINDS

_TITLES = {
    "control-plane": "Scheduler and controllers",
    "cluster-autoscaler": "Cluster Autoscaler",
    "karpenter": "Karpenter",
}


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the page."""
    parts = [_head(comparisons)]
    for kind in KINDS:
        of_kind = [one for one in comparisons if one.scenario.kind == kind]
        if of_kind:
            parts += [f"## {_TITLES[kind]}\n", _programs(of_kind), *map(_section, of_kind)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _head(comparisons: Sequence[Comparison]) -> str:
    rows = [row for one in comparisons for row in one.rows]
    failing = [row for row in rows if not row.holds]
    unexplained = [row for row in failing if not row.promise.cause]
    measured = sum(bool(one.programs) for one in comparisons)
    holding = len(rows) - len(failing)
    return f"""# The twin beside real Kubernetes programs

Made by `python -m lab.fidelity`. {len(comparisons)} scenarios, {measured} measured on real programs. Of {len(rows)}
rows {holding} hold and {len(failing)} fail, {len(unexplained)} of them without a known cause.

*Real* is what the real programs did, in real time, on a real kube-apiserver with etcd. `python -m lab.fidelity measure
--binaries DIR` measured it and wrote the tables in `lab/fidelity/data/`. Nobody runs containers there: a node keeper
(`lab/fidelity/real/node_keeper.py`, the same for every program) renews leases, reports pods as Running 1.7 s after
their binding and ends them 1 s after their deletion. *Twin* is this checkout, played in virtual time with the same
fixed times whenever this page is made. Both were looked at every 0.5 s, so every time is known to about a second.
Loops that look every 10 or 15 s begin at any moment of that period, so times that wait for it differ by up to one.

A row holds when the twin's figure is as documented, and as the real program's: equal, or as near as its tolerance (±).
Where the real program does not repeat itself all its runs stand there, and the twin has to be near one of them.
Paths that begin with `pkg/` are of kubernetes/kubernetes, "website" is kubernetes/website below `content/en/docs/`.
"""


def _programs(comparisons: Sequence[Comparison]) -> str:
    known: dict[str, list[str]] = {}
    for one in comparisons:
        for program, version in one.programs.items():
            if version not in known.setdefault(program, []):
                known[program].append(version)
    if not known:
        return "Not measured on real programs.\n"
    texts = [f"{program} {', '.join(versions)}" for program, versions in known.items()]
    return "Real programs: " + "; ".join(texts) + ".\n"


def _section(one: Comparison) -> str:
    settings = ", ".join(f"`{key}` {value}" for key, value in one.scenario.settings.items())
    about = one.scenario.about + (f" Settings on both sides: {settings}." if settings else "")
    about += "" if one.programs else " **Not measured on real programs.**"
    lines = [
        f"### {one.scenario.name}\n",
        f"{about}\n",
        "| promise | documented | real | twin | | source |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_line(row) for row in one.rows]
    failing = [row for row in one.rows if not row.holds]
    if failing:
        lines.append("")
        lines += [
            f"- **{row.promise.text}**: {row.promise.cause or 'cause unknown.'}" for row in failing
        ]
    return "\n".join(lines) + "\n"


def _line(row: FidelityRow) -> str:
    promise = row.promise
    real = "; again ".join(map(_text, row.real)) or "-"
    real += "" if row.real_as_documented is not False else ", **not as documented**"
    near = f" (± {promise.near:g})" if promise.near else ""
    verdict = "holds" if row.holds else "**FAILS**"
    cells = (
        promise.text,
        promise.documented,
        real,
        _text(row.twin) + near,
        verdict,
        promise.source,
    )
    return "| " + " | ".join(cells) + " |"


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else value
