// The event tail: newest first, capped, and still while paused or while somebody reads a whole event.

import { byId, h, write } from "./dom.js";
import { number, wallTime } from "./format.js";

const KEPT = 300;
let paused = false;
let waiting = [];
let missed = 0;

export function start() {
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    write(byId("pause"), paused ? "Resume" : "Pause");
    if (!paused) show(waiting.splice(0));
    note();
  });
}

export function add(rows, skipped) {
  missed += skipped;
  if (paused) waiting = [...waiting, ...rows].slice(-KEPT);
  else show(rows);
  note();
}

function note() {
  const said = [paused ? `paused, ${waiting.length} waiting` : "", missed ? `${number(missed)} skipped while this page was behind` : ""];
  write(byId("tail-note"), said.filter(Boolean).join("; ") || "newest first, at wall time; select one to read it whole");
}

function show(rows) {
  const list = byId("tail");
  const elements = rows.slice(-KEPT).map(([seq, recorded, subject, text]) =>
    h("button", { type: "button", class: "event", "data-layer": subject.split(".")[0], onclick: () => open(seq) },
      h("span", { class: "num seq" }, String(seq)), h("span", { class: "num time" }, wallTime(recorded)),
      h("span", { class: "subject mono" }, subject), h("span", { class: "text" }, text)));
  list.prepend(...elements.reverse());
  while (list.childElementCount > KEPT) list.lastElementChild.remove();
}

async function open(seq) {
  const detail = byId("detail");
  const answer = await fetch(`/api/events/${seq}`);
  const text = JSON.stringify(await answer.json(), null, 2);
  detail.textContent = text.length > 200000 ? `${text.slice(0, 200000)}\n… (${number(text.length)} characters; GET /api/events/${seq} has them all)` : text;
  detail.hidden = false;
  detail.scrollTop = 0;
}
