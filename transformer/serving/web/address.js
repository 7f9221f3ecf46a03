// The address of a text, to share and to go back to: #es-en/Hola. The server never gets it.
// A text too long for the address is kept in the history entry, where a reload finds it.

const MAX_LENGTH = 4000; // characters; a longer text is not written into the address

export const fitsAddress = (text) => text.length <= MAX_LENGTH;

export const hashFor = (from, to, text) =>
  `#${from}-${to}${text && fitsAddress(text) ? `/${encodeURIComponent(text)}` : ""}`;

// Parses an address to { from, to, text }; null for another one.
function readAddress(hash) {
  const found = /^#([a-z]+)-([a-z]+)(?:\/(.*))?$/s.exec(hash);
  if (!found) return null;
  try {
    return { from: found[1], to: found[2], text: decodeURIComponent(found[3] ?? "") };
  } catch {
    return null; // cut off within a letter
  }
}

// The direction and text of the current history entry, or null.
export function currentEntry() {
  const found = readAddress(location.hash);
  return found && { ...found, text: history.state?.text ?? found.text };
}

// Replaces LibreTranslate's kind of address (/?source=en&target=es&q=Hello, as of browsers' keyword
// searches) by one of this page; returns whether it was of that kind.
export function importQuery() {
  const asked = new URLSearchParams(location.search);
  const code = (name) => asked.get(name)?.toLowerCase().split(/[-_]/)[0];
  const [from, to] = [code("source") || "auto", code("target")];
  if (!to || !/^[a-z]+$/.test(from + to)) return false;
  const text = asked.get("q") ?? "";
  history.replaceState(fitsAddress(text) ? null : { text }, "", `${location.pathname}${hashFor(from, to, text)}`);
  return true;
}

// Whether a text is a new one, and not the one before with more typed.
function isNewText(text, before) {
  const shared = Math.min(text.length, before.length);
  return !text.startsWith(before.slice(0, shared / 2)) && !text.endsWith(before.slice(before.length - shared / 2));
}

// Writes the address; a new text gets a history entry, the same text keeps its own.
// Returns whether it was a new text.
export function updateAddress(from, to, typed) {
  const text = typed.toWellFormed();
  const address = hashFor(from, to, text);
  const before = currentEntry()?.text ?? "";
  if ((address === location.hash && text === before) || (!text && !location.hash)) return false;
  const isNew = before !== "" && (!text || isNewText(text, before));
  history[isNew ? "pushState" : "replaceState"](fitsAddress(text) ? null : { text }, "", address);
  return isNew;
}
