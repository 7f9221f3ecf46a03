// The texts that were translated before this one, in this visit: kept by the page alone.

import { addressOf } from "./address.js";
import { $, element } from "./dom.js";

const KEPT = 12; // texts that are listed
const finished = new Map(); // translations by the address of their text

// Takes note of a translation, the last one of its address.
export function finish(from, to, text, translated) {
  const address = addressOf(from, to, text);
  finished.delete(address);
  finished.set(address, { text, translated, wasLeft: false });
  if (finished.size > 4 * KEPT) finished.delete(finished.keys().next().value);
}

// Lists the text of an address that was left for another one.
export function leave(address) {
  const left = finished.get(address);
  if (!left) return;
  left.wasLeft = true;
  const listed = [...finished].filter(([, { wasLeft }]) => wasLeft).reverse().slice(0, KEPT);
  $("recent").hidden = false;
  $("recent-list").replaceChildren(...listed.map(([href, { text, translated }]) => element("li", {},
    element("a", { href },
      element("span", { textContent: text }), element("span", { className: "hint", textContent: translated })))));
}
