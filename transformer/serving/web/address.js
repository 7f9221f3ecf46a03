// The address of a text, to share and to go back to: #es-en/Hola. It never reaches the server.
// A text that is too long for it is kept beside it in the history, where a reload finds it.

const LONGEST = 4000; // characters; a longer text is not written into the address

export const fits = (text) => text.length <= LONGEST;

export const addressOf = (from, to, text) =>
  `#${from}-${to}${text && fits(text) ? `/${encodeURIComponent(text)}` : ""}`;

// { from, to, text } of an address, or null for one that is none.
function readAddress(hash) {
  const found = /^#([a-z]+)-([a-z]+)(?:\/(.*))?$/s.exec(hash);
  if (!found) return null;
  try {
    return { from: found[1], to: found[2], text: decodeURIComponent(found[3] ?? "") };
  } catch {
    return null; // cut off within a letter
  }
}

// What stands at this place of the history, or null.
export function standing() {
  const found = readAddress(location.hash);
  return found && { ...found, text: history.state?.text ?? found.text };
}

// LibreTranslate's own addresses, as browsers' keyword searches know them: /?source=en&target=es&q=Hello.
// Such a one becomes one of this page; whether it was one.
export function asksByQuery() {
  const asked = new URLSearchParams(location.search);
  const code = (name) => asked.get(name)?.toLowerCase().split(/[-_]/)[0];
  const [from, to] = [code("source") || "auto", code("target")];
  if (!to || !/^[a-z]+$/.test(from + to)) return false;
  const text = asked.get("q") ?? "";
  history.replaceState(fits(text) ? null : { text }, "", `${location.pathname}${addressOf(from, to, text)}`);
  return true;
}

// Whether a text is another one, not the one before as it was typed on.
function isAnother(text, before) {
  const shared = Math.min(text.length, before.length);
  return !text.startsWith(before.slice(0, shared / 2)) && !text.endsWith(before.slice(before.length - shared / 2));
}

// Writes the address; another text is a step of the history, the same one goes on in its place.
// Whether it was another text.
export function settleAddress(from, to, typed) {
  const text = typed.toWellFormed();
  const address = addressOf(from, to, text);
  const before = standing()?.text ?? "";
  if ((address === location.hash && text === before) || (!text && !location.hash)) return false;
  const isNew = before !== "" && (!text || isAnother(text, before));
  history[isNew ? "pushState" : "replaceState"](fits(text) ? null : { text }, "", address);
  return isNew;
}
