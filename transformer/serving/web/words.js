// Sentences as words on the page: which word stands where, and which looked at which.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

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

// What is known of a paragraph: `parts` once it was looked into, else only `text`.
export function sourceNodes(paragraph) {
  if (!paragraph?.parts) return null;
  return paragraph.parts.flatMap((part) =>
    spans(part.source, part.sourceWords ?? [], (word, i) => {
      const span = element("span", { textContent: word[0] });
      span.place = { part, i, side: "source" };
      return span;
    }));
}

export function targetNodes(paragraph, describe) {
  if (!paragraph?.parts) return [paragraph?.text ?? ""];
  return paragraph.parts.flatMap((part) =>
    spans(part.target, part.targetWords ?? [], (word, i) => {
      const span = element("span", { className: "word", textContent: word[0], tabIndex: -1 });
      span.setAttribute("role", "button");
      span.setAttribute("aria-haspopup", "listbox");
      if (word[3] < 0.5) span.classList.add("unsure");
      span.title = describe(word[3]);
      span.place = { part, i, side: "target", paragraph };
      return span;
    }));
}

// How much each word of the other side has to do with a word, the most being 1.
export function partners({ part, i, side }) {
  const row = side === "target" ? part.alignment[i] : part.alignment.map((one) => one[i]);
  const most = Math.max(...row, 1e-6);
  return row.map((weight) => (weight > 0.08 ? weight / most : 0));
}

export function light(spansOf, place) {
  for (const span of spansOf) {
    const is = place && span.place.part === place.part;
    const share = !is ? 0 : span.place.side === place.side
      ? Number(span.place.i === place.i) : partners(place)[span.place.i] ?? 0;
    span.style.setProperty("--light", share > 0.15 ? share : 0);
  }
}
