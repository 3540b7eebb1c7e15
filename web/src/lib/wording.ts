// What an action says beyond its kind, and how an outcome is to be taken.

import { measure, number, percent, words } from "./format.js";
import type { Execution, Guard, Part } from "./sections";

const GOOD = new Set(["verified", "executed"]);
const BAD = new Set(["failed", "worse", "execution_failed", "rolled_back"]);

/** `sleep`, `to 75 %`, or several named shares. */
export function parametersText(values: Record<string, unknown>): string {
  const named = Object.entries(values);
  const said = named.map(([name, value]) => {
    if (typeof value !== "number" || !name.endsWith("_ratio")) return words(String(value));
    return named.length === 1 ? `to ${percent(value)}` : `${measure(name)} ${percent(value)}`;
  });
  return said.join(", ");
}

/** Whether outcomes of a decision are good, bad, refused, or none of these. */
export function outcomeState(became: string): "good" | "bad" | "warn" | "" {
  const all = became.split(", ");
  if (all.some((word) => BAD.has(word))) return "bad";
  if (all.includes("refused")) return "warn";
  return all.every((word) => GOOD.has(word)) ? "good" : "";
}

export interface Step { name: string; state: "done" | "open" | "bad" | "refused"; text: string }

/** What became of one part of a decision; `which` names it where there are several. */
export function stepsOf(part: Part, which: string): Step[] {
  const steps: Step[] = [];
  const { execution, verification, rollback } = part;
  if (execution?.reason === "noop") {
    steps.push({ name: "nothing to do", state: "done", text: which + execution.text });
  } else if (execution) {
    const name = execution.phase === "finished" ? "executed" : words(execution.phase);
    steps.push({ name, state: executionState(execution), text: which + executionText(execution) });
  } else {
    steps.push({ name: "execution", state: "open", text: which + (part.kind === "noop" ? "nothing to execute" : "not yet") });
  }
  if (verification) {
    const state = GOOD.has(verification.status) ? "done" : BAD.has(verification.status) ? "bad" : "open";
    steps.push({ name: words(verification.status), state, text: which + verification.text });
  }
  if (rollback) steps.push({ name: "rolled back", state: "bad", text: which + rollback.text });
  return steps;
}

function executionState(execution: Execution): Step["state"] {
  if (execution.phase === "refused") return "refused";
  if (execution.phase === "started") return "open";
  return execution.succeeded ? "done" : "bad";
}

function executionText(execution: Execution): string {
  const more = execution.operations_total - Math.min(3, execution.operations.length);
  const parts = [
    execution.mode === "shadow" ? "dry run" : "",
    execution.reason ? words(execution.reason) : "",
    ...execution.failed_guards.map(guardText),
    ...Object.entries(execution.results).map(([name, count]) => `${count} ${name}`),
    ...execution.operations.slice(0, 3),
    more > 0 ? `and ${more} more` : "",
  ];
  return parts.filter(Boolean).join(", ") || execution.text;
}

function guardText(guard: Guard): string {
  return `${words(guard.guard)} ${number(guard.measured)} of ${number(guard.limit)} ${guard.unit}`.trim();
}
