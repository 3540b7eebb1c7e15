// The decision that is shown: the newest, or the cycle that the address names.

import { address } from "./address.svelte";
import { ask, cut } from "./asking";
import type { Story } from "./sections";
import { view } from "./view.svelte";

class Chosen {
  #loaded = $state.raw<Story | null>(null);
  problem = $state("");

  get cycle(): number | null {
    return address.number("cycle");
  }

  get story(): Story | null {
    if (this.cycle === null) return view.sections.decision ?? null;
    return this.#loaded?.cycle === this.cycle ? this.#loaded : null;
  }

  /** Show a cycle's decision. */
  choose(cycle: number): void {
    address.change({ cycle });
  }

  /** Show the newest again. */
  release(): void {
    address.change({ cycle: null });
  }

  async load(cycle: number, at: number | null): Promise<void> {
    const head = view.sections.head;
    if (!cut && at !== null && head && (head.cycle ?? 0) < cycle) {
      this.problem = `Cycle ${cycle} comes after the moment that is shown.`;
      return;
    }
    const answer = await ask(`/api/cycles/${cycle}${at === null ? "" : `?at=${at}`}`);
    if (cycle !== this.cycle) return;
    this.problem = answer?.ok ? "" : answer?.status === 404 ? `The log holds no decision of cycle ${cycle}.` : "The server does not answer; it is asked again with the next update.";
    if (answer?.ok) this.#loaded = (await answer.json()) as Story;
  }
}

export const chosen = new Chosen();
