// The page's start: one stream of updates in, each section drawn when it changes, ages moved on four times a second.

import { byId, fill, h, write } from "./dom.js";
import { age, clusterTime, number, words } from "./format.js";
import * as acting from "./acting.js";
import * as clock from "./clock.js";
import * as cluster from "./cluster.js";
import * as decision from "./decision.js";
import * as foresight from "./foresight.js";
import * as layers from "./layers.js";
import * as nodes from "./nodes.js";
import * as rewards from "./rewards.js";
import * as tail from "./tail.js";

const TICK_MS = 250;
const sections = {};
let source = null;
let chosen = null;

const DRAW = {
  head: drawHead,
  agents: drawAgents,
  layers: layers.render,
  cluster: cluster.render,
  signals: () => cluster.renderSignals(sections.signals, sections.models, sections.promotion),
  models: () => cluster.renderSignals(sections.signals, sections.models, sections.promotion),
  promotion: () => cluster.renderSignals(sections.signals, sections.models, sections.promotion),
  decision: (story) => { if (chosen === null) decision.render(story); },
  recent: drawRecent,
  acting: acting.render,
  foresight: foresight.render,
  rewards: rewards.render,
  reactions: cluster.renderReactions,
  stimulus: cluster.renderStimulus,
};

function connect() {
  if (source || document.hidden) return;
  source = new EventSource("/api/stream");
  source.addEventListener("update", (event) => update(JSON.parse(event.data)));
  source.onopen = () => document.body.classList.remove("offline");
  source.onerror = () => {
    document.body.classList.add("offline");
    if (source?.readyState === EventSource.CLOSED) { source = null; setTimeout(connect, 2000); }
  };
}

/** A hidden page lets go of its connection: browsers allow only six per host. */
function disconnect() {
  source?.close();
  source = null;
}

let newestRow = 0;

function update(message) {
  clock.set(message.now_ms);
  const before = sections.head?.incarnation;
  if (before && message.sections.head && message.sections.head.incarnation !== before) return location.reload();
  Object.assign(sections, message.sections);
  for (const name of Object.keys(message.sections)) DRAW[name]?.(sections[name]);
  if ("node_names" in message.sections || "node_cells" in message.sections) nodes.render(sections.node_names, sections.node_cells);
  const fresh = message.rows.filter(([seq]) => seq > newestRow);
  if (fresh.length) newestRow = fresh.at(-1)[0];
  tail.add(fresh, message.skipped);
  return tick();
}

function drawHead(head) {
  const where = head.source ? `${words(head.source.kind)} ${head.source.name}` : "";
  fill("identity",
    h("span", { class: "name", title: where }, head.cluster), h("span", { class: "note num" }, `run ${head.incarnation}`),
    head.cycle === null ? null : h("span", { class: "num" }, `cycle ${number(head.cycle)}`),
    head.cluster_time_seconds === null ? null : h("span", { class: "note num" }, `${clusterTime(head.cluster_time_seconds)} cluster time`));
  fill("badges",
    head.simulated ? h("span", { class: "badge simulated", "data-testid": "simulated", title: "The embedded cluster says all of this" }, "SIMULATED") : null,
    head.mode ? h("span", { class: "badge", "data-testid": "mode", title: head.mode === "shadow" ? "Writes are sent as dry runs" : "Writes take effect" }, head.mode) : null,
    head.early ? h("span", { class: "badge simulated", "data-testid": "early", title: "Active mode on a real cluster is early" }, head.early) : null,
    head.replay ? h("span", { class: "badge simulated", "data-testid": "replay" }, head.replay) : null,
    head.hold ? h("span", { class: "badge hold", "data-testid": "hold", title: head.hold_text }, head.hold === "kill" ? "KILLED" : "PAUSED") : null,
    ...head.breakers.map((text) => h("span", { class: "badge hold", "data-testid": "breaker", title: text }, "BREAKER")));
  const notice = byId("notice");
  const notes = [head.outage, head.stale, head.error, ...head.breakers].filter(Boolean);
  notice.hidden = !notes.length;
  write(notice, notes.join("; "));
  document.title = head.hold ? `${head.hold === "kill" ? "killed" : "paused"}: ${head.cluster}, Foresail` : `${head.cluster}, Foresail`;
}

function drawAgents(agents) {
  decision.setAgents(agents);
  layers.setAgents(agents);
}

function drawRecent(list) {
  decision.renderRecent(list, chosen ?? sections.decision?.cycle ?? null, choose);
}

async function choose(cycle) {
  const answer = await fetch(`/api/cycles/${cycle}`);
  if (!answer.ok) return;
  chosen = cycle;
  decision.render(await answer.json());
  byId("follow").hidden = false;
  drawRecent(sections.recent);
}

function followNewest() {
  chosen = null;
  byId("follow").hidden = true;
  decision.render(sections.decision);
  drawRecent(sections.recent);
}

function tick() {
  const head = sections.head;
  if (!head || !sections.layers) return;
  layers.tick(head.interval_ms);
  const seconds = clock.secondsSince(head.newest_ms);
  const offline = document.body.classList.contains("offline");
  const late = seconds !== null && head.interval_ms && seconds * 1000 > layers.STALE_INTERVALS * head.interval_ms;
  byId("live").dataset.state = offline || head.outage ? "offline" : seconds === null ? "waiting" : late ? "stale" : "live";
  write(byId("live-word"), offline ? "connection lost" : head.outage ? "cluster down" : late ? "nothing new" : "live");
  write(byId("newest-age"), seconds === null ? "no event yet" : `${age(seconds)} ago, wall time`);
}

byId("follow").addEventListener("click", followNewest);
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
window.addEventListener("pagehide", disconnect);
foresight.start();
nodes.start();
tail.start();
setInterval(tick, TICK_MS);
connect();
