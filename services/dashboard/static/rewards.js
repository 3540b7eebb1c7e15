// What decisions were worth: observed next to predicted, per agent, and the run of totals.

import { byId, fill, h, svg, write } from "./dom.js";
import { number, signed } from "./format.js";

const WIDTH = 600;
const HEIGHT = 72;

export function render(rewards) {
  if (!rewards) return;
  write(byId("rewards-note"), `reward.baseline, ${rewards.scale}, mean total ${signed(rewards.mean_total)} over ${number(rewards.scored)}`);
  fill("rewards",
    h("table", { class: "table" },
      h("thead", {}, h("tr", {}, [`Cycle ${rewards.cycle}`, "Weight", "Observed", "Predicted", "Difference"].map((name, index) =>
        h("th", { class: index ? "right" : null }, name)))),
      h("tbody", {}, rewards.agents.map((one) => row(`${one.letter} ${one.name}`, number(one.weight), one)),
        row("Total", "", rewards.total, "total"))),
    chart(rewards));
}

function row(name, weight, { observed, predicted }, kind = null) {
  const difference = observed === null ? "–" : signed(observed - predicted);
  return h("tr", { class: kind, "data-testid": kind ? "reward-total" : null }, h("td", {}, name), h("td", { class: "right num note" }, weight),
    h("td", { class: "right num" }, signed(observed)), h("td", { class: "right num" }, signed(predicted)),
    h("td", { class: "right num note" }, difference));
}

function chart({ observed, predicted, cycles }) {
  const values = [...observed, ...predicted].filter((value) => value !== null);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const scaleY = (value) => HEIGHT - 4 - ((value - low) / (high - low || 1)) * (HEIGHT - 8);
  const stepX = WIDTH / Math.max(1, observed.length - 1);
  const path = (series) => {
    let pen = "M";
    return series.map((value, index) => {
      if (value === null) { pen = "M"; return ""; }
      const command = `${pen}${(index * stepX).toFixed(1)} ${scaleY(value).toFixed(1)}`;
      pen = "L";
      return command;
    }).join("");
  };
  const picture = svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Totals of cycles ${cycles[0]} to ${cycles.at(-1)}` },
    svg("line", { class: "zero", x1: 0, x2: WIDTH, y1: scaleY(0), y2: scaleY(0) }),
    svg("path", { class: "predicted", d: path(predicted) }), svg("path", { class: "observed", d: path(observed) }));
  return h("figure", {}, h("div", { class: "axis num note" }, h("span", {}, signed(high, 1)), h("span", {}, signed(low, 1))), picture,
    h("figcaption", { class: "note" }, h("i", { class: "line observed" }), "observed", h("i", { class: "line predicted" }), "predicted",
      h("span", { class: "num" }, `total per cycle, ${cycles[0]} to ${cycles.at(-1)}`)));
}
