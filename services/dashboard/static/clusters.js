// The chooser: every cluster of the stack with how it stands, each a link to its own page.

import { byId, fill, h } from "./dom.js";
import { number } from "./format.js";

const STATES = { lost: "cannot be read", held: "stopped by the operator", ended: "ended", well: "acting as its mode says" };

function stateOf(one) {
  if (!one.running) return "ended";
  return one.trouble ? "lost" : one.hold ? "held" : "well";
}

function link(one) {
  const state = stateOf(one);
  const linked = one.running && !one.here && one.dashboard_url.startsWith("http");
  return h(linked ? "a" : "span",
    { class: "cluster-link", href: linked ? one.dashboard_url : null, "data-state": state, "data-testid": `cluster-${one.name}`,
      "aria-current": one.here ? "page" : null, title: [STATES[state], one.trouble || one.hold].filter(Boolean).join(": ") },
    h("span", { class: "dot" }), h("b", {}, one.name),
    h("span", { class: "note num" }, state === "well" ? [one.mode, one.cycle < 0 ? null : ` cycle ${number(one.cycle)}`] : STATES[state]));
}

/** Draw all clusters; a stack of one has no chooser. */
export function render(list) {
  byId("clusters").hidden = !list.length;
  fill("clusters", ...list.map(link));
}
