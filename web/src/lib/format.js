// Numbers and words as people read them; plain JavaScript, so that a test can run it without a build.

/** @param {string | null | undefined} name */
export const words = (name) => (name ?? "").replaceAll("_", " ");

/** A measured name without its unit: `risk_ratio` reads `risk`.
 * @param {string} name */
export const measure = (name) => words(name.replace(/_ratio$/, ""));

const NOTHING = 1e-6;
const SMALLEST = 0.0001;
const MOST_DIGITS = 6;

/** A number as `projections/figures.py` writes it: so many significant digits, all of its whole part, no
 * exponent. A value that is not there is named as missing.
 * @param {number | null | undefined} value */
export function number(value, digits = 3) {
  if (value == null || !Number.isFinite(value)) return "missing";
  const size = Math.abs(value);
  if (size < NOTHING) return "0";
  if (size < SMALLEST) return value < 0 ? ">-0.0001" : "<0.0001";
  if (size >= 10 ** (digits - 1)) return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: MOST_DIGITS });
}

/** A number with as many digits as tell it from the one that it is compared with.
 * @param {number} value
 * @param {number} other */
export function numberBeside(value, other) {
  let digits = 3;
  while (digits < MOST_DIGITS && value !== other && number(value, digits) === number(other, digits)) digits += 1;
  return number(value, digits);
}

/** A rate with three figures, so that it does not jump about.
 * @param {number} value */
export function rate(value) {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** @param {number | null | undefined} value */
export function signed(value, digits = 2) {
  if (value == null || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

/** @param {number | null | undefined} ratio */
export function percent(ratio) {
  if (ratio == null || !Number.isFinite(ratio)) return "missing";
  return ratio > 0 && ratio < 0.005 ? "<1 %" : `${number(Math.round(ratio * 100))} %`;
}

/** @param {number | null | undefined} seconds */
export function age(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return "–";
  const whole = Math.max(0, seconds);
  if (whole < 9.95) return `${whole.toFixed(1)} s`;
  if (whole < 120) return `${Math.round(whole)} s`;
  if (whole < 7200) return `${Math.round(whole / 60)} min`;
  if (whole < 172800) return `${Math.round(whole / 3600)} h`;
  return `${Math.round(whole / 86400)} d`;
}

/** @param {number | null | undefined} value */
export function watts(value) {
  if (value == null || !Number.isFinite(value)) return "missing";
  return value >= 10000 ? `${number(value / 1000)} kW` : `${number(Math.round(value))} W`;
}

const TIMES_KEY = "foresail-zone";
const TIMES_IN_TURN = ["UTC", "local", "relative"];
/** How times are told: UTC, as events carry them; as this browser's clock has them; or from the moment that is shown. */
export const TIMES = TIMES_IN_TURN.find((one) => one === globalThis.localStorage?.getItem(TIMES_KEY)) ?? "UTC";
const local = TIMES === "local";

/** The zone of a time of day; where times are relative, those that have to be told by the clock are in UTC. */
export const ZONE = local ? "local" : "UTC";

/** Tell times the next way; everything that is shown is in the address, so the page is read anew. */
export function nextTimes() {
  localStorage.setItem(TIMES_KEY, TIMES_IN_TURN[(TIMES_IN_TURN.indexOf(TIMES) + 1) % TIMES_IN_TURN.length] ?? "UTC");
  location.reload();
}

/** How far a time is from another one: `3 min ago`, `in 20 s`, `now`.
 * @param {number} seconds of it, less those of the other one */
export function apart(seconds) {
  if (Math.abs(seconds) < 0.05) return "now";
  return seconds < 0 ? `${age(-seconds)} ago` : `in ${age(seconds)}`;
}

/** Seconds that are added to a time before it is written as if it were UTC.
 * @param {number} seconds */
export const zoneSeconds = (seconds) => (local ? -60 * new Date(seconds * 1000).getTimezoneOffset() : 0);

/** A time in the cluster, in seconds since the Unix epoch, as `2026-01-05 12:05:00`; in UTC with a Z.
 * @param {number | null | undefined} seconds */
export function clusterTime(seconds) {
  if (seconds == null) return "–";
  return new Date((seconds + zoneSeconds(seconds)) * 1000).toISOString().slice(0, 19).replace("T", " ") + (local ? "" : "Z");
}

/** Wall time of a recorded event, with tenths.
 * @param {number} milliseconds */
export const wallTime = (milliseconds) => new Date(milliseconds + zoneSeconds(milliseconds / 1000) * 1000).toISOString().slice(11, 21);

/** @type {Record<string, string>} */
export const COMPARISONS = { ">=": "≥", "<=": "≤", "==": "=", "!=": "≠" };
