"""An experiment's report as Markdown."""

from __future__ import annotations

from lab.experiments.report import Report, about
from lab.experiments.section import Section, Table
from lab.experiments.tables import sections


def markdown(report: Report) -> str:
    """Return the page; headings begin at the first level."""
    parts = [
        f"# Experiment {report.experiment.name}",
        report.experiment.question,
        _first_screen(report),
        "## How it was tried\n\n" + "\n".join(f"- {line}" for line in about(report)),
        *map(_section, sections(report)),
        "## What this is no evidence of\n\n" + "\n".join(f"- {line}" for line in report.boundary),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _first_screen(report: Report) -> str:
    answer = "passes" if report.gate.passes else "does not pass"
    lines = [f"**The gate: {report.experiment.hypothesis.arm} {answer}.**", ""]
    lines += [f"- {reason}." for reason in report.gate.reasons]
    lines += ["", *(f"- **{finding.heading}.** {finding.text}" for finding in report.findings)]
    return "\n".join(lines)


def _section(section: Section) -> str:
    return f"## {section.title}\n\n{section.about}\n\n{table_markdown(section.table)}"


def table_markdown(table: Table) -> str:
    """Return a table; figures stand to the right."""
    alignment = ["---" if place < table.names else "---:" for place in range(len(table.columns))]
    if table.verdicts:
        alignment[-1] = "---"
    lines = [table.columns, tuple(alignment), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
