// Times in lists and sentences, as the reader wants them: by the clock, or from the moment that is shown.

import { apart, clusterTime, TIMES, wallTime, ZONE } from "./format.js";
import { moment } from "./moment.svelte";
import { view } from "./view.svelte";

const relative = TIMES === "relative";

/** What the head of a column adds to "Cluster time": the zone; nothing where each time says how long ago it was. */
export const IN_ZONE = relative ? "" : `, ${ZONE}`;

/** A time in the cluster, in seconds since the Unix epoch: `12:05:00`, or `3 min ago`. */
export function at(seconds: number | null | undefined): string {
  const now = view.sections.head?.cluster_time_seconds;
  if (relative && seconds != null && now != null) return apart(seconds - now);
  return clusterTime(seconds).slice(11, 19);
}

/** When an event was recorded, in milliseconds since the Unix epoch: `12:05:00.1`, or `3 min ago`. */
export function recorded(milliseconds: number, tenths = true): string {
  if (relative && moment.ms !== null) return apart((milliseconds - moment.ms) / 1000);
  return wallTime(milliseconds).slice(0, tenths ? undefined : 8);
}
