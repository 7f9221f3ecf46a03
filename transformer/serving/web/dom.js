// Small helpers for the document, and what a browser remembers of a visit.

export const $ = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const remember = (name, value) => {
  try {
    localStorage.setItem(name, value);
  } catch { /* a browser may forbid it */ }
};

export const remembered = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

// Moves the focus within a list by arrow keys; whether it did.
export function moveIn(list, event, forward, backward) {
  const step = forward.includes(event.key) ? 1 : backward.includes(event.key) ? -1 : 0;
  if (!step || !list.length) return false;
  event.preventDefault();
  const at = list.indexOf(document.activeElement);
  list[(at + step + list.length) % list.length].focus();
  return true;
}

// Puts a text on the clipboard, also where a page without HTTPS has none; whether it is there.
export async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(() => true, () => false);
  }
  const before = document.activeElement;
  const field = element("textarea", { value: text, className: "hidden" });
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  before?.focus();
  return done;
}
