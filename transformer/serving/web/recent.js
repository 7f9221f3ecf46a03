// The texts translated earlier in this visit; only the page has them.

import { hashFor } from "./address.js";
import { $, element } from "./dom.js";

const MAX_LISTED = 12; // texts that are listed
const finished = new Map(); // translations by the address of their text

// Records the last translation of an address.
export function addRecent(from, to, text, translated) {
  const address = hashFor(from, to, text);
  finished.delete(address);
  finished.set(address, { text, translated, wasLeft: false });
  if (finished.size > 4 * MAX_LISTED) finished.delete(finished.keys().next().value);
}

// Lists the text of an address that was replaced by another one.
export function listRecent(address) {
  const left = finished.get(address);
  if (!left) return;
  left.wasLeft = true;
  const listed = [...finished].filter(([, { wasLeft }]) => wasLeft).reverse().slice(0, MAX_LISTED);
  $("recent").hidden = false;
  $("recent-list").replaceChildren(...listed.map(([href, { text, translated }]) => element("li", {},
    element("a", { href },
      element("span", { textContent: text }), element("span", { className: "hint", textContent: translated })))));
}
