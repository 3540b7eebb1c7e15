// The pages, in the order of the bar, each with the key that follows `g`.

export const PAGES = [
  { name: "overview", title: "Overview", key: "o" },
] as const;
