// The address is the page's state: which page, which moment, what is selected and filtered. A link shows the same.

import { cut } from "./asking";
import { PAGES } from "./pages";

type Parameters = Record<string, string | number | null | undefined>;

class Address {
  page = $state("overview");
  parameters = $state.raw(new URLSearchParams());

  start(): void {
    this.#read();
    window.addEventListener("popstate", () => this.#read());
  }

  get(name: string): string {
    return this.parameters.get(name) ?? "";
  }

  /** A position, cycle or the like; null where the address has none. */
  number(name: string): number | null {
    const text = this.parameters.get(name);
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  }

  /** The address of a page at the moment that is shown; `changes` become its parameters. */
  link(page: string, changes: Parameters = {}): string {
    const kept: Parameters = { at: this.parameters.get("at"), run: this.parameters.get("run") };
    return path(page, { ...kept, ...changes });
  }

  go(page: string, changes: Parameters = {}): void {
    history.pushState(null, "", this.link(page, changes));
    this.#read();
  }

  /** Change some parameters of this page, without a step back to the former ones unless `push` says so. */
  change(changes: Parameters, push = false): void {
    const all: Parameters = Object.fromEntries(this.parameters);
    const to = path(this.page, { ...all, ...changes });
    if (push) history.pushState(null, "", to);
    else history.replaceState(null, "", to);
    this.#read();
  }

  #read(): void {
    const shown = cut ? new URL(location.hash.slice(1) || "/", "cut://page") : location;
    const name = shown.pathname.replace(/^\/+|\/+$/g, "");
    this.page = PAGES.some((page) => page.name === name) ? name : "overview";
    this.parameters = new URLSearchParams(shown.search);
  }
}

function path(page: string, parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${cut ? "#" : ""}/${page === "overview" ? "" : page}${query ? `?${query}` : ""}`;
}

export const address = new Address();

/** Follow a link within the page; new tabs and other keys stay the browser's. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = (event.target as Element).closest("a[href^='/']");
  if (!(anchor instanceof HTMLAnchorElement) || anchor.target || anchor.pathname.startsWith("/api")) return;
  event.preventDefault();
  history.pushState(null, "", anchor.href);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
