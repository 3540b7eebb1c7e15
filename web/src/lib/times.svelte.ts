// Times in lists and sentences, as the reader wants them: by the clock, or from the moment that is shown.

import { apart, clusterTime, dayed, TIMES, wallTime, ZONE } from "./format.js";
import { moment } from "./moment.svelte";
import { view } from "./view.svelte";

const relative = TIMES === "relative";

/** What the head of a column adds to "Cluster time": the zone; nothing where each time says how long ago it was. */
export const IN_ZONE = relative ? "" : `, ${ZONE}`;

/** A time in the cluster, in seconds since the Unix epoch: `12:05:00`, `01-02 12:05:00` on another day, or `3 min ago`. */
export function at(seconds: number | null | undefined): string {
  const now = view.sections.head?.cluster_time_seconds;
  if (relative && seconds != null && now != null) return apart(seconds - now);
  return seconds == null ? "–" : dayed(clusterTime(seconds).slice(0, 19), clusterTime(now ?? seconds));
}

/** When an event was recorded, in milliseconds since the Unix epoch: `12:05:00.1`, with its day where that is another, or `3 min ago`. */
export function recorded(milliseconds: number, tenths = true): string {
  if (relative && moment.ms !== null) return apart((milliseconds - moment.ms) / 1000);
  const time = dayed(wallTime(milliseconds), wallTime(moment.ms ?? milliseconds));
  return tenths ? time : time.slice(0, -2);
}
