// The keys: one list, which the handler obeys and the help shows.

import { address } from "./address.svelte";
import { nextTimes } from "./format.js";
import { moment } from "./moment.svelte";
import { PAGES } from "./pages";
import { palette } from "./palette.svelte";
import { theme } from "./theme.svelte";

interface Key { keys: string[]; shown: string; text: string; act: () => void }

const WALKED = "main tr[data-chosen], main [role='option'][data-seq]";
const CHOSEN = "[data-chosen='true'], [aria-selected='true']";

/** Choose the row after or before the chosen one of the page's list. */
function walk(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(WALKED)];
  const here = rows.findIndex((row) => row.matches(CHOSEN));
  const to = rows[here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, here + step))];
  to?.click();
  to?.scrollIntoView({ block: "nearest" });
}

/** Go to the page's filter; a page without one has the search. */
function filter(): void {
  const field = document.querySelector<HTMLElement>("main [data-filter]");
  if (field) field.focus();
  else palette.show();
}

export const KEYS: Key[] = [
  { keys: [":"], shown: ":", text: "search for a page, node, workload, decision, cycle or time of day", act: () => palette.show() },
  { keys: ["/"], shown: "/", text: "filter the list of the page; search where it has none", act: filter },
  { keys: ["j"], shown: "j", text: "the next row", act: () => walk(1) },
  { keys: ["k"], shown: "k", text: "the row before", act: () => walk(-1) },
  { keys: ["["], shown: "[", text: "one cycle back", act: () => moment.step(-1) },
  { keys: ["]"], shown: "]", text: "one cycle on", act: () => moment.step(1) },
  { keys: ["{"], shown: "{", text: "the decision to act before this moment", act: () => moment.stepDecision(-1) },
  { keys: ["}"], shown: "}", text: "the decision to act after it", act: () => moment.stepDecision(1) },
  { keys: ["p"], shown: "p", text: "play, or stop", act: () => moment.togglePlay() },
  { keys: ["l"], shown: "l", text: "back to the newest", act: () => moment.live() },
  { keys: ["t"], shown: "t", text: "dark or light", act: () => theme.toggle() },
  { keys: ["u"], shown: "u", text: "times in UTC, local, or from the moment that is shown", act: nextTimes },
  { keys: ["?"], shown: "?", text: "this help", act: () => address.go("help") },
];

/** Whether `g` was the key before, so that this one names a page. */
let prefixed = false;

/** Obey a key that is pressed outside of a field. */
export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && target.matches("input, select")) target.blur();
  if (target.matches("input, select, textarea, dialog *")) return;
  const page = prefixed ? PAGES.find((one) => one.key === event.key) : undefined;
  prefixed = event.key === "g";
  if (page) return address.go(page.name);
  const key = KEYS.find((one) => one.keys.includes(event.key));
  if (!key) return;
  event.preventDefault();
  key.act();
}
