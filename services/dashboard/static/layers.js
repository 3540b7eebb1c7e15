// The six-layer strip: how many, how fast, how old. A layer turns amber when nothing came for three intervals.

import { byId, h, write } from "./dom.js";
import { age, number, rate as perSecond } from "./format.js";
import { now, secondsSince } from "./clock.js";

export const STALE_INTERVALS = 3;
const PRODUCERS = {
  snapshot: "collector", observation: "collector", prediction: "inference",
  proposal: "agents", decision: "referee", outcome: "executor, scoreboard",
};
const cells = new Map();

/** Name the agents in the strip, by their letters. */
export function setAgents(agents) {
  PRODUCERS.proposal = `agents ${agents.map((agent) => agent.letter).join(" ")}`;
}

export function render(layers) {
  for (const layer of layers) {
    if (!cells.has(layer.name)) cells.set(layer.name, cell(layer.name));
    cells.get(layer.name).layer = layer;
  }
}

function cell(name) {
  const rate = h("span", { class: "rate num" });
  const count = h("span", { class: "num" });
  const newest = h("span", { class: "num newest", "data-testid": `layer-${name}-age`, title: "since its newest event, wall time" });
  const element = h("div", { class: "layer", "data-testid": `layer-${name}`, "data-state": "waiting" },
    h("div", { class: "layer-name" }, h("b", {}, name), h("span", { class: "note" }, PRODUCERS[name])),
    h("div", { class: "layer-rate" }, rate, h("span", { class: "unit" }, "events/s")),
    h("div", { class: "layer-foot" }, h("span", {}, count, h("span", { class: "unit" }, " seen")), newest));
  byId("layers").append(element);
  return { element, rate, count, newest, layer: null };
}

/** Bring rates and ages up to date; called a few times a second. */
export function tick(intervalMs) {
  for (const { element, rate, count, newest, layer } of cells.values()) {
    const seconds = secondsSince(layer.newest_ms);
    const span = (now() - layer.oldest_ms) / 1000;
    write(rate, layer.window < 3 ? "–" : perSecond(layer.window / Math.max(span, 0.001)));
    write(count, number(layer.count));
    write(newest, seconds === null ? "none yet" : `${age(seconds)} ago`);
    const late = seconds !== null && intervalMs && seconds * 1000 > STALE_INTERVALS * intervalMs;
    element.dataset.state = seconds === null ? "waiting" : late ? "stale" : "live";
  }
}
