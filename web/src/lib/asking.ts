// Where answers come from: the server; or, in a file that was exported, the cut of a recording inside it.

import type { Row, Sections } from "./sections";

export interface Answer { ok: boolean; status: number; json(): Promise<unknown> }

interface Moment { cycle: number; seq: number; recorded_ms: number; sections: Sections; rows: Row[] }
interface LogRow { seq: number; cycle: number | null }
export interface Cut {
  made_ms: number;
  first_cycle: number;
  last_cycle: number;
  outline: unknown;
  moments: Moment[];
  rows: LogRow[];
  answers: Record<string, unknown>;
}

const STRETCH = 200;
const NOT_HERE = "This file is a cut of a recording and does not hold that; `foresail dashboard FILE` shows all of it.";

/** The cut that this page is, read once before anything is shown. */
export let cut: Cut | null = null;

export async function openCut(): Promise<void> {
  const packed = document.getElementById("cut")?.textContent;
  if (!packed) return;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  cut = (await new Response(stream).json()) as Cut;
}

/** Ask for an address; null where nobody answers. */
export async function ask(address: string): Promise<Answer | null> {
  if (cut) return answerOf(cut, new URL(address, "cut://page"));
  return fetch(address).catch(() => null);
}

function answerOf(from: Cut, asked: URL): Answer {
  const query = asked.searchParams;
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : null);
  if (asked.pathname === "/api/outline") return good(from.outline);
  if (asked.pathname === "/api/moment") return good(momentOf(from, number("seq"), number("ms"), number("cycle"), number("cluster")));
  const begin = number("from");
  if (asked.pathname === "/api/log" && begin !== null) return good({ rows: from.rows.filter((row) => row.seq >= begin && row.seq < begin + STRETCH) });
  const cycle = query.get("cycle");
  const found = from.answers[decodeURIComponent(asked.pathname) + (cycle ? `?cycle=${cycle}` : "")];
  return found === undefined ? { ok: false, status: 404, json: async () => ({ error: NOT_HERE }) } : good(found);
}

/** The last moment that is not behind what was asked for; the first one where all are. */
function momentOf(from: Cut, seq: number | null, ms: number | null, cycle: number | null, cluster: number | null): Moment | undefined {
  const before = from.moments.findLast((one) =>
    cluster !== null ? (one.sections.head.cluster_time_seconds ?? 0) <= cluster : seq !== null ? one.seq <= seq : ms !== null ? one.recorded_ms <= ms : one.cycle <= (cycle ?? 0));
  return before ?? from.moments[0];
}

function good(content: unknown): Answer {
  return { ok: true, status: 200, json: async () => content };
}
