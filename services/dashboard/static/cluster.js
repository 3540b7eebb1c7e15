// The cluster in numbers, and where those numbers come from.

import { byId, fill, h, write } from "./dom.js";
import { age, number, percent, watts, words } from "./format.js";

export function render(cluster) {
  if (!cluster) return;
  write(byId("cluster-note"), `one cycle every ${age(cluster.interval_seconds)} of cluster time` +
    (cluster.namespaces.length ? `, namespaces ${cluster.namespaces.join(", ")}` : ""));
  const asleep = cluster.nodes_asleep ? `${cluster.nodes_asleep} asleep` : "";
  const cordoned = cluster.nodes - cluster.nodes_schedulable - cluster.nodes_asleep;
  fill("cluster",
    h("dl", { class: "facts" },
      fact("Nodes ready", `${number(cluster.nodes_ready)} / ${number(cluster.nodes)}`, [asleep, cordoned > 0 ? `${cordoned} cordoned` : ""].filter(Boolean).join(", ")),
      fact("Pods running", number(cluster.pods_running), `of ${number(cluster.pods_total)}`),
      fact("Queue", number(cluster.queue_length), pending(cluster.pending_by_class), cluster.queue_length > 0),
      fact("Unhealthy pods", number(cluster.sla_violations), `${number(cluster.completed_tasks)} tasks done`, cluster.sla_violations > 0),
      fact("Power, estimated", watts(cluster.energy_watts), `at ${number(cluster.energy_price)} per kWh`)),
    h("div", { class: "loads" },
      load("CPU", cluster.cpu_requested_ratio, cluster.cpu_used_ratio),
      load("Memory", cluster.memory_requested_ratio, cluster.memory_used_ratio)));
}

function fact(name, value, note, warn = false) {
  return h("div", { class: warn ? "warn" : null }, h("dt", {}, name), h("dd", { class: "num" }, value), h("dd", { class: "note" }, note || " "));
}

function pending(classes) {
  const named = Object.entries(classes).filter(([, count]) => count > 0).sort((left, right) => right[1] - left[1]);
  return named.slice(0, 3).map(([name, count]) => `${count} ${words(name)}`).join(", ") + (named.length > 3 ? ", …" : "");
}

function load(name, requested, used) {
  return h("div", { class: "load" }, h("span", {}, name),
    h("meter-bar", {}, bar("requested", requested), bar("used", used)),
    h("span", { class: "num note" }, `${percent(requested)} requested, `, used === null ? "use unknown" : `${percent(used)} used`));
}

function bar(kind, ratio) {
  const element = h("i", { class: kind });
  element.style.setProperty("width", `${Math.min(1, ratio ?? 0) * 100}%`);
  return element;
}

export function renderSignals(signals, models, promotion) {
  if (!signals?.length) return;
  const old = signals.filter((one) => one.status === "stale" || one.status === "missing").length;
  write(byId("signals-note"), old ? `${old} stale or missing` : "as the newest observation had them");
  fill("signals", h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["Signal", "Source", "Status", "Age, cluster time"].map((name, index) => h("th", { class: index === 3 ? "right" : null }, name)))),
    h("tbody", {}, signals.map((one) => h("tr", { "data-testid": `signal-${one.name}` },
      h("td", {}, words(one.name)), h("td", { class: "note" }, words(one.source)),
      h("td", {}, h("span", { class: "status", "data-status": one.status }, one.status),
        one.reason ? h("span", { class: "note" }, ` ${words(one.reason)}`) : null,
        one.exceptions ? h("span", { class: "note" }, ` but ${one.exceptions} rows`) : null),
      h("td", { class: "right num" }, age(one.age_seconds)))))), renderModels(models ?? []), ...renderPromotion(promotion));
}

function renderModels(models) {
  return h("table", { class: "table models" },
    h("thead", {}, h("tr", {}, ["Prediction", "Model", "Status", "Horizon"].map((name, index) => h("th", { class: index === 3 ? "right" : null }, name)))),
    h("tbody", {}, models.map((one) => h("tr", { "data-testid": `model-${one.name}` },
      h("td", {}, one.name), h("td", { class: "mono" }, one.model_id),
      h("td", { class: one.status === "skipped" ? "warn" : null }, one.status === "skipped" ? `skipped: ${words(one.reason)}` : one.calibrated ? "calibrated" : "a score, not a probability"),
      h("td", { class: "right num" }, age(one.horizon_seconds))))));
}

function renderPromotion(promotion) {
  if (!promotion) return [];
  const between = (value, low, high) => value === null ? "not known"
    : low === null ? `${number(value)}` : `${number(value)} (${number(low)} to ${number(high)})`;
  return [
    h("p", { class: "note", "data-testid": "promotion" }, promotion.text),
    h("table", { class: "table models" },
      h("thead", {}, h("tr", {}, ["Model of risk", "Is", "Because", "Brier skill", "Lift of alarms"].map((name, index) => h("th", { class: index > 2 ? "right" : null }, name)))),
      h("tbody", {}, promotion.models.map((one) => h("tr", { "data-testid": `promotion-${one.model_id.split("/")[0]}`, title: one.text },
        h("td", { class: "mono" }, one.model_id), h("td", {}, h("span", { class: "status", "data-status": one.state }, one.state)),
        h("td", { class: "note" }, one.why),
        h("td", { class: "right num" }, between(one.skill, one.skill_low, one.skill_high)),
        h("td", { class: "right num" }, between(one.lift, one.lift_low, one.lift_high)))))),
  ];
}

export function renderReactions(reactions) {
  if (!reactions.length) return;
  fill("reactions", h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["What", "Object", "Class", "Lag, cluster time"].map((name, index) => h("th", { class: index === 3 ? "right" : null }, name)))),
    h("tbody", {}, reactions.map((one) => h("tr", { title: one.text },
      h("td", {}, words(one.kind)), h("td", { class: "mono wide" }, one.object),
      h("td", { class: "note" }, words(one.pending_class)),
      h("td", { class: "right num", title: one.since ? `since ${words(one.since)}` : null }, age(one.lag_seconds)))))));
}

export function renderStimulus(stimulus) {
  const element = byId("stimulus");
  if (!stimulus) return write(element, "");
  const wanted = stimulus.intended_agent ? `, meant for ${stimulus.intended_agent} ${words(stimulus.intended_kind ?? "")}` : "";
  return write(element, `exercise: phase ${stimulus.phase} ${stimulus.name} ${words(stimulus.status)}${wanted}`);
}
