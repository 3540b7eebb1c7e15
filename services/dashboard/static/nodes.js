// The node strip: one cell per node on a canvas, so that 5,000 nodes cost one small redraw.

import { byId, fill, h, write } from "./dom.js";

const GAP = 2;
const state = { names: [], cells: "", columns: 1, side: 12 };
const CLASSES = [["zz", "asleep"], ["!!", "not ready"], ["--", "no prediction"]];

export function render(names, cells) {
  if (names) state.names = names;
  if (cells !== undefined) state.cells = cells;
  draw();
  summarise();
}

export function start() {
  const canvas = byId("nodes");
  new ResizeObserver(draw).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  canvas.addEventListener("mousemove", (event) => {
    const pitch = state.side + GAP;
    const index = Math.floor(event.offsetY / pitch) * state.columns + Math.floor(event.offsetX / pitch);
    canvas.title = index < state.names.length ? `${state.names[index]}: ${said(cell(index))}` : "";
  });
}

const cell = (index) => state.cells.slice(index * 2, index * 2 + 2);

function said(value) {
  const named = CLASSES.find(([code]) => code === value);
  if (named) return named[1];
  return value === "99" ? "risk 0.99 or more" : `risk 0.${value}`;
}

function draw() {
  const canvas = byId("nodes");
  const width = canvas.parentElement.clientWidth;
  const count = state.names.length;
  if (!width || !count) return;
  state.side = count <= 150 ? 16 : count <= 400 ? 12 : count <= 1500 ? 7 : 4;
  const pitch = state.side + GAP;
  state.columns = Math.max(1, Math.floor((width + GAP) / pitch));
  const height = Math.ceil(count / state.columns) * pitch;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${height}px`);
  const brush = canvas.getContext("2d");
  brush.scale(ratio, ratio);
  const colours = palette();
  for (let index = 0; index < count; index += 1) {
    paint(brush, (index % state.columns) * pitch, Math.floor(index / state.columns) * pitch, cell(index), colours);
  }
}

function paint(brush, x, y, value, colours) {
  const { side } = state;
  if (value === "zz" || value === "--") {
    brush.strokeStyle = value === "zz" ? colours.asleep : colours.unknown;
    brush.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    return;
  }
  brush.fillStyle = value === "!!" ? colours.down : colours.risk(Number(value) / 100);
  brush.fillRect(x, y, side, side);
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const steps = [0, 1, 2, 3, 4, 5].map((index) => colour(`--risk-${index}`));
  return { asleep: colour("--faint"), unknown: colour("--line"), down: colour("--ink"), risk: (ratio) => steps[step(ratio)] };
}

const step = (ratio) => [0.25, 0.45, 0.6, 0.75, 0.9].filter((limit) => ratio >= limit).length;

function summarise() {
  const count = state.names.length;
  const values = Array.from({ length: count }, (_, index) => cell(index));
  const highest = values.reduce((best, value, index) => (/^\d\d$/.test(value) && (best < 0 || value > values[best]) ? index : best), -1);
  const text = highest < 0 ? `${count} nodes` : `${count} nodes, highest ${said(values[highest])} on ${state.names[highest]}`;
  write(byId("nodes-note"), text);
  byId("nodes").setAttribute("aria-label", text);
  const named = CLASSES.map(([code, name]) => [code, name, values.filter((value) => value === code).length]).filter(([, , total]) => total);
  fill("nodes-legend",
    h("span", {}, "risk 0"), h("span", { class: "scale" }, [0, 1, 2, 3, 4, 5].map((index) => h("i", { class: `risk-${index}` }))), h("span", {}, "1"),
    named.map(([code, name, total]) => h("span", { class: "key" }, h("i", { class: code === "!!" ? "down" : code === "zz" ? "asleep" : "unknown" }), `${total} ${name}`)));
}
