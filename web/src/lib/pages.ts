// The pages, in the order of the bar, each with the key that follows `g`.

export const PAGES = [
  { name: "overview", title: "Overview", key: "o" },
  { name: "decisions", title: "Decisions", key: "d" },
  { name: "incidents", title: "Incidents", key: "i" },
  { name: "nodes", title: "Nodes", key: "n" },
  { name: "workloads", title: "Workloads", key: "w" },
  { name: "models", title: "Models", key: "m" },
  { name: "runs", title: "Runs", key: "r" },
  { name: "what-if", title: "What if", key: "f" },
  { name: "compare", title: "Compare", key: "c" },
  { name: "settings", title: "Settings", key: "s" },
  { name: "log", title: "Log", key: "l" },
  { name: "help", title: "Help", key: "h" },
] as const;
