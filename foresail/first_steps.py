"""Output of `foresail` when it is called without a verb: the five things one does first."""

from __future__ import annotations

FIRST_STEPS = (
    ("foresail up", "start everything with a simulated cluster; Ctrl-C stops it"),
    ("foresail status", "is it well? its processes, its log, where the dashboard is"),
    ("foresail tap decision", "watch one layer: the decisions as they are made"),
    ("foresail explain last", "why was the newest decision made, and who lost?"),
    (
        "foresail up --for 2m --record run.fslog",
        "record a run; explain, verify or what-if it later",
    ),
)


def first_steps() -> str:
    """Return the text, ready to print."""
    wide = max(len(command) for command, _ in FIRST_STEPS)
    lines = [f"  {command:<{wide}}  {what}" for command, what in FIRST_STEPS]
    return "\n".join(
        [
            "Foresail watches a Kubernetes cluster, predicts, decides, and can say why.",
            "",
            "Five things to do first:",
            *lines,
            "",
            "`foresail --help` lists every verb, `foresail VERB --help` explains one.",
        ]
    )
