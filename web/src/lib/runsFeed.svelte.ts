// Runs of the moment that is shown; of a live log asked for anew now and then, not with each event.

import { address } from "./address.svelte";
import { clock } from "./clock.svelte";
import { moment } from "./moment.svelte";
import { read } from "./reading";
import type { Runs } from "./runs";
import { view } from "./view.svelte";

const EVERY_MS = 2000;

export class RunsFeed {
  known = $state.raw<Runs | null>(null);
  problem = $state("");

  constructor() {
    const at = $derived(address.number("at"));
    const due = $derived(view.isLive ? Math.floor(clock.now / EVERY_MS) : 0);
    $effect(() => {
      void due;
      const asked = at;
      // The moment itself comes first: the server computes one after the other.
      if (asked !== null && moment.loaded?.seq !== asked) return;
      void read<Runs>("/api/runs", { at }).then((got) => {
        if (asked !== at) return;
        this.problem = got.problem;
        this.known = got.value ?? this.known;
      });
    });
  }
}
