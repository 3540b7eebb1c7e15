// Dark or light: as the system says, unless somebody chose here.

const KEY = "foresail-theme";

class Theme {
  #system = matchMedia("(prefers-color-scheme: dark)");
  #dark = $state(false);
  chosen = $state<"dark" | "light" | "">("");

  constructor() {
    this.#dark = this.#system.matches;
    this.#system.addEventListener("change", () => (this.#dark = this.#system.matches));
    const stored = localStorage.getItem(KEY);
    if (stored === "dark" || stored === "light") this.#apply(stored);
  }

  get shown(): "dark" | "light" {
    return this.chosen || (this.#dark ? "dark" : "light");
  }

  toggle(): void {
    this.#apply(this.shown === "dark" ? "light" : "dark");
    localStorage.setItem(KEY, this.chosen);
  }

  #apply(name: "dark" | "light"): void {
    this.chosen = name;
    document.documentElement.dataset.theme = name;
  }
}

export const theme = new Theme();
