// What acting changed against the same world left alone: a verdict, a sentence, figures, and the run of totals.

import { byId, fill, h, svg, write } from "./dom.js";
import { number } from "./format.js";

const WIDTH = 240;
const HEIGHT = 56;
const COLOURS = { helps: "good", harms: "bad" };

export function render(acting) {
  write(byId("acting-note"), acting.score ? `outcome score ${acting.score}` : "");
  byId("acting-note").title = "What this world's work was worth: benefit minus cost";
  if (acting.verdict === null) return fill("acting", h("p", { class: "empty" }, acting.text));
  const late = acting.behind ? `; ${number(acting.behind)} cycles ago` : "";
  const missing = acting.missing.length ? `; not shown: ${acting.missing.join(", ")}` : "";
  return fill("acting",
    h("div", { class: "effect", "data-verdict": acting.verdict, "data-testid": "acting-verdict" },
      h("b", { class: COLOURS[acting.verdict] }, acting.verdict),
      h("p", {}, acting.text),
      h("p", { class: "note" }, `Up to cycle ${acting.cycle}${late}${missing}. One world says what happened in it, not what acting is worth elsewhere.`)),
    h("dl", { class: "changes" }, acting.figures.map(figure)),
    chart(acting));
}

function figure({ name, unit, total, total_verdict, step, step_verdict }) {
  return h("div", { "data-testid": `acting-${name.replaceAll(" ", "-")}` },
    h("dt", {}, name), h("dd", { class: `num ${COLOURS[total_verdict] ?? ""}` }, total, h("span", { class: "unit" }, ` ${unit}`)),
    h("dd", { class: `note ${COLOURS[step_verdict] ?? ""}` }, `this cycle ${step}`));
}

function chart({ totals, cycles, currency }) {
  if (totals.length < 2) return null;
  const low = Math.min(0, ...totals);
  const high = Math.max(0, ...totals);
  const scaleY = (value) => HEIGHT - 4 - ((value - low) / (high - low || 1)) * (HEIGHT - 8);
  const stepX = WIDTH / (totals.length - 1);
  const path = totals.map((value, index) => `${index ? "L" : "M"}${(index * stepX).toFixed(1)} ${scaleY(value).toFixed(1)}`).join("");
  const picture = svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${currency} by cycle, ${cycles[0]} to ${cycles.at(-1)}: ${number(totals.at(-1))} at the end` },
    svg("line", { class: "zero", x1: 0, x2: WIDTH, y1: scaleY(0), y2: scaleY(0) }), svg("path", { class: "observed", d: path }));
  return h("figure", {}, h("div", { class: "axis num note" }, h("span", {}, number(high)), h("span", {}, number(low))), picture,
    h("figcaption", { class: "note" }, `${currency} since the start, cycles ${cycles[0]} to ${cycles.at(-1)}`));
}
