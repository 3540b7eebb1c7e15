// Reads of the server's JSON: the answer, or one line that says why there is none.

import { ask } from "./asking";

export type Read<T> = { value: T; problem: "" } | { value: null; problem: string };

export async function read<T>(path: string, parameters: Record<string, string | number | null | undefined> = {}): Promise<Read<T>> {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const answer = await ask(query ? `${path}?${query}` : path);
  if (!answer) return { value: null, problem: "The server does not answer. Is the stack running?" };
  const content: unknown = await answer.json().catch(() => null);
  if (answer.ok) return { value: content as T, problem: "" };
  const said = content && typeof content === "object" && "error" in content ? String(content.error) : `the server answered ${answer.status}`;
  return { value: null, problem: said };
}
