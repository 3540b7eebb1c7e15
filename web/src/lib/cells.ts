// Two characters per node (services/dashboard/node_cells.py): the risk in percent, or why there is none.

export const CLASSES = [["zz", "asleep"], ["!!", "not ready"], ["--", "no prediction"]] as const;
const STEPS = [0.25, 0.45, 0.6, 0.75, 0.9];

export const cellsOf = (text: string): string[] => text.match(/../g) ?? [];

/** What a cell says, in words. */
export function said(cell: string): string {
  const named = CLASSES.find(([code]) => code === cell);
  if (named) return named[1];
  return cell === "99" ? "risk 0.99 or more" : `risk 0.${cell}`;
}

/** Which of the six colours a risk has. */
export const step = (ratio: number): number => STEPS.filter((limit) => ratio >= limit).length;
