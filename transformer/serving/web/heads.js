// The role of a head, measured on one sentence: where most of its attention goes.

import { isWord } from "./words.js";

const MIN_SHARE = 0.4; // of the attention, from which on a head has the name of what gets it
const MIN_EVEN_ENTROPY = 0.9; // of the entropy of looking at all alike
const MIN_ROWS = 4; // rows, below which nothing can be told apart

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0);
const best = (row) => row.indexOf(Math.max(...row));
const isMark = (piece) => !isWord(piece) && !/^<\/?s>$/.test(piece);

// The mean over all layers and heads.
export function meanOf(maps) {
  const all = maps.flat();
  return all[0].map((row, i) => row.map((_, j) => mean(all.map((weights) => weights[i][j]))));
}

// The entropy of a row over its maximum: 0 if one piece gets all, 1 if all get the same.
function normalizedEntropy(row) {
  const seen = row.filter((share) => share > 0);
  return seen.length < 2 ? 0 : -seen.reduce((sum, share) => sum + share * Math.log(share), 0) / Math.log(seen.length);
}

// The columns that a head of each role would attend to, as functions of the row.
function expectedColumns(kind, columns, aligned) {
  const last = columns.length - 1;
  const marks = columns.flatMap((piece, j) => (isMark(piece) ? [j] : []));
  const shared = { punctuation: () => marks };
  if (kind === "cross") {
    return { ...shared, end: () => [last], aligned: (i) => [aligned[i]], before: (i) => [aligned[i] - 1], after: (i) => [aligned[i] + 1] };
  }
  const own = { ...shared, previous: (i) => [i - 1], same: (i) => [i] };
  return kind === "encoder" ? { ...own, next: (i) => [i + 1], end: () => [last] } : { ...own, start: () => [0] };
}

// For each layer and head { role, share }: the name of a text, and how much of the attention.
export function rolesOf(kind, maps, columns) {
  const aligned = kind === "cross" ? meanOf(maps).map((row) => best(row.slice(0, -1))) : [];
  const patterns = expectedColumns(kind, columns, aligned);
  return maps.map((heads) => heads.map((weights) => {
    // The first row of the decoder sees itself alone, and an end mark is no word that looks.
    const rows = weights.map((row, i) => [row, i]).slice(kind === "decoder" ? 1 : 0, kind === "decoder" ? undefined : -1);
    if (rows.length < MIN_ROWS) return { role: "mixed", share: 0 };
    let found = { role: "mixed", share: 0 };
    for (const [role, columnsOf] of Object.entries(patterns)) {
      const share = mean(rows.map(([row, i]) => columnsOf(i).reduce((sum, j) => sum + (row[j] ?? 0), 0)));
      if (share > found.share) found = { role, share };
    }
    if (found.share >= MIN_SHARE) return found;
    return { role: mean(rows.map(([row]) => normalizedEntropy(row))) > MIN_EVEN_ENTROPY ? "even" : "mixed", share: 0 };
  }));
}
