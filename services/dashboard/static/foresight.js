// What was foreseen of one Service: requests measured, the band ahead, what its replicas bear, and what failed here and without us.

import { byId, fill, h, svg, write } from "./dom.js";
import { clusterTime, number } from "./format.js";

const HEIGHT = 210;
const FAILED_HEIGHT = 74;
const LEAST_WIDTH = 280;
const LEFT = 52;
const RIGHT = 8;
const TOP = 18;
const STEPS = [60, 120, 300, 600, 900, 1800, 3600];
const MOST_TICKS = 8;
const MARKS = { foreseen: "foreseen", asked: "replicas asked", ready: "ready", rise: "the rise" };

let shown = null;
let drawnWidth = 0;

export function start() {
  new ResizeObserver(() => { if (byId("foresight").clientWidth !== drawnWidth) draw(); }).observe(byId("foresight"));
}

export function render(foresight) {
  shown = foresight;
  draw();
}

function draw() {
  drawnWidth = byId("foresight").clientWidth;
  if (!shown) return fill("foresight", h("p", { class: "empty" }, "Nothing is foreseen of any Service."));
  write(byId("foresight-note"), shown.others ? `${shown.service}; ${number(shown.others)} more had replicas asked for by a forecast` : shown.service);
  const charts = h("div", { class: "charts" });
  fill("foresight", told(), charts);
  const width = Math.max(LEAST_WIDTH, charts.clientWidth);
  return charts.append(requests(width), failures(width), key());
}

function told() {
  const spared = shown.untouched_failed == null ? null : shown.untouched_failed - shown.failed;
  return h("div", { class: "told" }, h("b", { "data-testid": "foresight-heading" }, shown.heading),
    shown.failed === undefined ? null : h("dl", { class: "changes" },
      fact("failed here", shown.failed), spared === null ? null : fact("failed without us", shown.untouched_failed),
      shown.worth ? h("div", {}, h("dt", {}, "worth"), h("dd", { class: "num" }, shown.worth)) : null),
    shown.lines.map((line) => h("p", { class: "note" }, line)));
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", { class: "num", "data-testid": name.replaceAll(" ", "-") }, number(value)));

/** Where times and values go, in pixels of a chart. */
function scales(width, height, top) {
  const span = shown.to - shown.from || 1;
  return {
    x: (at) => LEFT + ((at - shown.from) / span) * (width - LEFT - RIGHT),
    y: (value) => height - 18 - (value / (top || 1)) * (height - 18 - TOP),
  };
}

function requests(width) {
  const { measured, band } = shown;
  const known = [...measured.rate, ...measured.bears, ...band.highest, ...band.high].filter((value) => value !== null);
  const top = Math.max(1, ...known);
  const to = scales(width, HEIGHT, top);
  return chart(width, HEIGHT, top, to, "Requests a second, foreseen and measured", [
    area(band, band.lowest, band.highest, "wider", to), area(band, band.low, band.high, "band", to),
    line(band.at, band.middle, "middle", to), steps(measured.at, measured.bears, "bears", to), line(measured.at, measured.rate, "measured", to),
    ...shown.marks.map((mark, index) => moment(mark, index, to, HEIGHT)),
  ], "requests/s");
}

function failures(width) {
  const { measured, untouched } = shown;
  const top = Math.max(1, ...measured.failed, ...(untouched?.failed ?? []));
  const to = scales(width, FAILED_HEIGHT, top);
  return chart(width, FAILED_HEIGHT, top, to, "Failed requests a second", [
    untouched ? line(untouched.at, untouched.failed, "without", to) : null, line(measured.at, measured.failed, "failed", to),
  ], "failed/s");
}

function chart(width, height, top, to, label, parts, unit) {
  const base = to.y(0);
  const step = STEPS.find((one) => (shown.to - shown.from) / one <= Math.max(3, Math.min(MOST_TICKS, width / 90))) ?? STEPS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(shown.from / step) * step; to.x(at) <= width - RIGHT - 16; at += step) {
    ticks.push(svg("text", { x: to.x(at), y: height - 4, "text-anchor": "middle" }, clusterTime(at).slice(11, 16)));
  }
  return svg("svg", { class: "foresight-chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    ...[0, top / 2, top].flatMap((value) => [svg("line", { class: "rule-line", x1: LEFT, x2: width - RIGHT, y1: to.y(value), y2: to.y(value) }),
      svg("text", { x: LEFT - 6, y: to.y(value) + 4, "text-anchor": "end" }, number(value))]),
    svg("text", { x: 0, y: 10 }, unit), ...ticks, ...parts.filter((part) => part !== null),
    svg("line", { class: "now", x1: to.x(shown.now), x2: to.x(shown.now), y1: TOP, y2: base }));
}

const pairs = (times, values) => times.map((at, index) => [at, values[index]]).filter(([, value]) => value !== null && value !== undefined);
const points = (list, to) => list.map(([at, value]) => `${to.x(at).toFixed(1)} ${to.y(value).toFixed(1)}`);

function line(times, values, kind, to) {
  const list = points(pairs(times, values), to);
  return list.length ? svg("path", { class: kind, d: `M${list.join("L")}` }) : null;
}

/** A line that holds its value until the next: replicas come one after the other. */
function steps(times, values, kind, to) {
  const list = pairs(times, values);
  if (!list.length) return null;
  const path = list.map(([at, value], index) => (index ? `H${to.x(at).toFixed(1)}V${to.y(value).toFixed(1)}` : `M${to.x(at).toFixed(1)} ${to.y(value).toFixed(1)}`));
  return svg("path", { class: kind, d: path.join("") });
}

function area(band, low, high, kind, to) {
  const edge = [...points(pairs(band.at, high), to), ...points(pairs(band.at, low), to).reverse()];
  return edge.length > 3 ? svg("path", { class: kind, d: `M${edge.join("L")}Z` }) : null;
}

/** A moment of the story: a line with its name, the names one below the other so that near ones can be read. */
function moment({ name, at }, index, to, height) {
  const x = to.x(at);
  const group = svg("g", { class: `moment ${name}`, "data-testid": `moment-${name}` }, svg("line", { x1: x, x2: x, y1: TOP, y2: height - 18 }),
    svg("text", { x: x + 4, y: TOP + 10 + 13 * index }, MARKS[name] ?? name));
  group.append(svg("title", {}, `${MARKS[name] ?? name}: ${clusterTime(at)}`));
  return group;
}

function key() {
  const entries = [["measured", "measured"], ["middle", "foreseen"], ["band", "8 of 10"], ["wider", "9 of 10"], ["bears", "what its replicas bear"],
    ["failed", "failed here"], ["without", "failed without us"]];
  return h("div", { class: "legend" }, entries.map(([kind, name]) => h("span", { class: "key" }, h("i", { class: `key-${kind}` }), name)));
}
