// Numbers and words as people read them. Values come with their units in the name.

export const words = (name) => (name ?? "").replaceAll("_", " ");

/** A measured name without its unit: `risk_ratio` reads `risk`. */
export const measure = (name) => words(name.replace(/_ratio$/, ""));

/** A number with at most `digits` decimals; a value that is not there is named as missing. */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return "missing";
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** A rate with three figures, so that it does not jump about. */
export function rate(value) {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

export function signed(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
}

export function percent(ratio) {
  return ratio === null || ratio === undefined ? "missing" : `${(ratio * 100).toFixed(0)} %`;
}

export function age(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, seconds);
  if (whole < 9.95) return `${whole.toFixed(1)} s`;
  if (whole < 120) return `${Math.round(whole)} s`;
  if (whole < 7200) return `${Math.round(whole / 60)} min`;
  return `${Math.round(whole / 3600)} h`;
}

export function watts(value) {
  return value >= 10000 ? `${(value / 1000).toFixed(1)} kW` : `${number(value, 0)} W`;
}

/** Cluster time: UTC, as events carry it. */
export function clusterTime(seconds) {
  return seconds === null ? "–" : new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ") + "Z";
}

/** Wall time of a recorded event, local, with tenths. */
export function wallTime(milliseconds) {
  const moment = new Date(milliseconds);
  const two = (value) => String(value).padStart(2, "0");
  return `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}.${Math.floor(moment.getMilliseconds() / 100)}`;
}

export const COMPARISONS = { ">=": "≥", "<=": "≤", "==": "=", "!=": "≠" };
