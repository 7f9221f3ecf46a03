// Sentences as words on the page, and the attention between them.

import { element } from "./dom.js";

const UNSURE = 0.25; // a word less likely than that is marked
const NEGLIGIBLE = 0.15; // of the strongest light

export const isWord = (text) => /[\p{L}\p{N}]/u.test(text);

// A text as nodes: a span for each word, found in order, and the text between them.
function spans(text, words, make) {
  const nodes = [];
  let end = 0;
  words.forEach((word, i) => {
    const start = text.indexOf(word[0], end);
    if (start < 0) return;
    nodes.push(text.slice(end, start), make(word, i));
    end = start + word[0].length;
  });
  return [...nodes, text.slice(end)];
}

// The nodes of a source paragraph; words are spans once it is inspected.
export function sourceNodes(paragraph) {
  if (!paragraph.parts) return [paragraph.source];
  return paragraph.parts.flatMap((part) =>
    spans(part.source, part.sourceWords ?? [], (word, i) => {
      const span = element("span", { textContent: word[0] });
      span.place = { part, i, side: "source", paragraph };
      return span;
    }));
}

// A paragraph's translation; a word is a button, a mark only lights up. `describe` words a share.
export function targetNodes(paragraph, describe) {
  if (!paragraph.parts) return [paragraph.text ?? paragraph.old ?? ""];
  return paragraph.parts.flatMap((part) =>
    spans(part.target, part.targetWords ?? [], (word, i) => {
      const span = element("span", { className: "mark", textContent: word[0] });
      span.place = { part, i, side: "target", paragraph };
      if (!isWord(word[0])) return span;
      span.className = word[3] < UNSURE ? "word unsure" : "word";
      span.tabIndex = -1;
      span.title = describe(word[3]);
      for (const [name, value] of [["role", "button"], ["aria-haspopup", "dialog"], ["aria-expanded", "false"]]) {
        span.setAttribute(name, value);
      }
      return span;
    }));
}

// The attention between a word and each word of the other side, over its maximum.
function alignmentShares({ part, i, side }) {
  const row = side === "target" ? part.alignment[i] : part.alignment.map((weights) => weights[i]);
  const most = Math.max(...row, 1e-6);
  return row.map((weight) => weight / most);
}

// Highlights the words aligned with one, and no others.
export function highlight(spansOf, place) {
  const shares = place ? alignmentShares(place) : [];
  for (const span of spansOf) {
    const { part, side, i } = span.place;
    const isNear = place && part === place.part;
    const share = !isNear ? 0 : side === place.side ? Number(i === place.i) : shares[i] ?? 0;
    span.style.setProperty("--light", share > NEGLIGIBLE ? share : 0);
  }
}
