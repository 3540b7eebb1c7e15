// One decision with the whole argument: who won, who lost to which rule, the numbers, and what came of it.

import { byId, fill, h, write } from "./dom.js";
import { age, COMPARISONS, measure, number, numberBeside, percent, signed, words } from "./format.js";

const agents = new Map();
const GOOD = new Set(["verified", "executed"]);
const BAD = new Set(["failed", "worse", "execution_failed", "rolled_back"]);
const SHOWN_EVIDENCE = 6;

export function render(story) {
  if (!story) return;
  write(byId("decision-note"), `cycle ${story.cycle}, closed by ${story.closed_by}, profile ${story.profile}`);
  const { action } = story;
  fill("decision",
    h("div", { class: "verdict", "data-testid": "action", "data-label": action.label },
      letter(action.letter),
      h("span", { class: "kind" }, action.kind === "noop" ? "nothing to do" : words(action.kind), parameters(action.parameters)),
      action.target ? h("span", { class: "target mono" }, action.target) : null,
      story.parts.slice(1).map(part),
      story.repeat_count > 1 ? h("span", { class: "chip" }, `${story.repeat_count} in a row`) : null,
      h("span", { class: "rule", "data-testid": "rule", title: "The referee's rule that settled it" }, story.rule)),
    h("p", { class: "rationale", "data-testid": "rationale" }, story.rationale),
    h("div", { class: "agents" }, story.agents.map((agent) => row(agent, story))),
    h("div", { class: "followed" }, h("h3", {}, "What became of it"), followed(story)));
}

/** One of the decision's further actions. */
function part(action) {
  return h("span", { class: "chip", "data-testid": "part", "data-label": action.label },
    letter(action.letter), " ", words(action.kind), parameters(action.parameters), action.target ? ` ${action.target}` : null);
}

/** Take the agents' names, letters and colours; every letter drawn from now on has them. */
export function setAgents(list) {
  agents.clear();
  for (const agent of list) agents.set(agent.letter, agent);
}

export function letter(name) {
  const agent = agents.get(name);
  const badge = h("span", { class: "letter", "data-agent": name, title: agent?.name ?? "referee" }, name);
  if (agent) {
    badge.style.setProperty("--agent", agent.colour);
    badge.style.setProperty("--agent-dark", agent.dark_colour);
  }
  return badge;
}

/** What an action says beyond its kind: `sleep`, `to 75 %`, or several named shares. */
function parameters(values) {
  const named = Object.entries(values);
  const said = named.map(([name, value]) => {
    if (!name.endsWith("_ratio")) return words(String(value));
    return named.length === 1 ? `to ${percent(value)}` : `${measure(name)} ${percent(value)}`;
  });
  return said.length ? h("span", { class: "parameters" }, said.join(", ")) : null;
}

function row(agent, story) {
  const testid = agent.verdict === "lost" ? `loser-${agent.agent}` : `${agent.verdict}-${agent.agent}`;
  if (agent.verdict === "missing") {
    return h("div", { class: "agent", "data-verdict": "missing", "data-testid": testid },
      letter(agent.letter), h("div", { class: "who" }, agent.agent),
      h("div", { class: "why" }, "no proposal before the cycle closed"));
  }
  return h("div", { class: "agent", "data-verdict": agent.verdict, "data-testid": testid },
    letter(agent.letter),
    h("div", { class: "who" },
      h("div", {}, h("b", {}, words(agent.kind)), parameters(agent.parameters), agent.target ? h("span", { class: "mono" }, agent.target) : null),
      h("div", { class: "note" }, agent.agent, ", score ", h("span", { class: "num" }, number(agent.score)))),
    h("div", { class: "why" }, beaten(agent, story), evidence(agent)));
}

function beaten(agent, story) {
  const lost = agent.override;
  if (agent.verdict === "waits") return agent.evidence.length ? h("div", { class: "note" }, agent.text) : null;
  if (!lost) {
    return h("div", {}, h("span", { class: "tag won" }, "won by"), " ", h("code", {}, story.rule),
      agent.rule ? h("span", { class: "note" }, `  ${agent.rule}`) : null);
  }
  const idle = agent.status !== "proposed";
  const reason = agent.reason ? words(agent.reason) : words(agent.status);
  return h("div", { title: lost.text },
    h("span", { class: "tag lost" }, lost.by_itself ? "comes after its own other action by" : lost.by_letter ? `lost to ${lost.by_letter} by` : "not taken by"), " ",
    h("code", { "data-testid": `loser-${agent.agent}-rule` }, lost.rule), " ",
    idle ? h("span", { class: "note" }, `${reason}; `) : null, h("span", { class: "note whole" }, versus(lost)));
}

function versus(lost) {
  if (lost.winner_score === null || lost.loser_score === null) return "";
  return `score ${numberBeside(lost.loser_score, lost.winner_score)} against ${numberBeside(lost.winner_score, lost.loser_score)}, ` +
    `priority ${lost.loser_priority} against ${lost.winner_priority}`;
}

function evidence(agent) {
  if (!agent.evidence.length) return agent.text ? h("div", { class: "note" }, agent.text) : null;
  const shown = telling(agent.evidence).map((one) =>
    h("span", { class: "evidence num", "data-holds": String(one.holds), 
      title: [one.subject, one.age_seconds === null ? "" : `${age(one.age_seconds)} old`].filter(Boolean).join(", ") },
      h("span", { class: "sign" }, one.holds ? "✓" : "✗"),
      `${one.label} ${numberBeside(one.value, one.threshold)} ${COMPARISONS[one.comparison] ?? one.comparison} ${numberBeside(one.threshold, one.value)}`));
  const more = agent.evidence.length - shown.length;
  return h("div", { class: "numbers" }, shown, more > 0 ? h("span", { class: "note" }, `and ${more} more`) : null);
}

/** What holds is what decided, so it is always shown; of the rest, the first that were tried. */
function telling(all) {
  let room = SHOWN_EVIDENCE - all.filter((one) => one.holds).length;
  return all.filter((one) => one.holds || room-- > 0);
}

function followed(story) {
  const steps = [step("decided", "done", `cycle ${story.cycle}`)];
  for (const part of story.parts) steps.push(...became(part, story.parts.length > 1 ? `${words(part.kind)}, ` : ""));
  const { reward } = story;
  if (reward) {
    const observed = reward.observed ? signed(reward.observed.total) : "not observed";
    steps.push(step("reward", "done", `${observed}, predicted ${signed(reward.predicted.total)}`));
  }
  return h("ol", { class: "steps", "data-testid": "followed" }, steps);
}

/** What became of one part; `which` names it where there are several. */
function became(part, which) {
  const steps = [];
  const { execution, verification, rollback } = part;
  if (execution?.reason === "noop") {
    steps.push(step("nothing to do", "done", which + execution.text));
  } else if (execution) {
    const state = execution.phase === "refused" ? "refused" : execution.phase === "started" ? "open" : execution.succeeded ? "done" : "bad";
    steps.push(step(execution.phase === "finished" ? "executed" : words(execution.phase), state, which + ranThrough(execution)));
  } else {
    steps.push(step("execution", "open", which + (part.kind === "noop" ? "nothing to execute" : "not yet")));
  }
  if (verification) {
    const state = GOOD.has(verification.status) ? "done" : BAD.has(verification.status) ? "bad" : "open";
    steps.push(step(words(verification.status), state, `${which}${verification.text} (${age(verification.lag_seconds)} after)`));
  }
  if (rollback) steps.push(step("rolled back", "bad", which + rollback.text));
  return steps;
}

function step(name, state, text) {
  return h("li", { "data-state": state }, h("b", {}, name), h("span", { class: "note" }, text));
}

function ranThrough(execution) {
  const guards = execution.failed_guards.map((one) =>
    `${words(one.guard)} ${number(one.measured)} of ${number(one.limit)} ${one.unit}`.trim());
  const results = Object.entries(execution.results).map(([name, count]) => `${count} ${name}`);
  const more = execution.operations_total - execution.operations.length;
  const parts = [execution.mode === "shadow" ? "dry run" : "", execution.reason ? words(execution.reason) : "", ...guards,
    ...results, ...execution.operations.slice(0, 3), more > 0 ? `and ${more} more` : ""].filter(Boolean);
  return parts.join(", ") || execution.text;
}

/** The list of recent decisions; `choose` is called with a cycle. */
export function renderRecent(decisions, chosen, choose) {
  if (!decisions.length) return;
  fill("recent", h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["Cycle", "", "Action", "Rule", "Became", "Reward"].map((name, index) =>
      h("th", { class: index === 0 || index === 5 ? "right" : null }, name)))),
    h("tbody", {}, decisions.map((one) => line(one, chosen, choose)))));
}

function line(one, chosen, choose) {
  const became = one.became.split(", ");
  const state = became.some((word) => BAD.has(word)) ? "bad" : became.includes("refused") ? "warn" : became.every((word) => GOOD.has(word)) ? "good" : "";
  // The button is for the keyboard; a click on it reaches the row.
  const cycles = one.count > 1 ? `${one.first}–${one.cycle}` : String(one.cycle);
  const open = h("button", { type: "button", class: "link num" }, cycles);
  const here = chosen !== null && one.first <= chosen && chosen <= one.cycle;
  return h("tr", { "data-chosen": String(here), "data-noop": String(one.noop !== null), "data-testid": `recent-${one.cycle}`, onclick: () => choose(one.cycle) },
    h("td", { class: "right" }, open), h("td", {}, letter(one.letter)),
    h("td", { class: "wide", title: one.noop }, one.noop ?? words(one.label.split(":").slice(1).join(" ")), one.target ? h("span", { class: "mono note" }, ` ${one.target}`) : null,
      one.more.length ? h("span", { class: "note" }, ` and ${one.more.length} more`) : null),
    h("td", {}, h("code", {}, one.rule), one.missing.length ? h("span", { class: "tag warn" }, `no ${one.missing.join(" ")}`) : null),
    h("td", { class: `word ${state}` }, became.map(words).join(", "), one.count > 1 ? `, ${number(one.count)} times` : null), h("td", { class: "right num" }, one.reward === null ? "" : signed(one.reward)));
}
