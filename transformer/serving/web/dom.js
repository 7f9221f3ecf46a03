// Helpers for the document, and settings in the browser's storage.

export const $ = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const saveSetting = (name, value) => {
  try {
    localStorage.setItem(name, value);
  } catch { /* a browser may forbid it */ }
};

export const loadSetting = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

// Moves the focus within a list by arrow keys; returns whether it did.
export function moveFocus(list, event, forward, backward) {
  const step = forward.includes(event.key) ? 1 : backward.includes(event.key) ? -1 : 0;
  if (!step || !list.length) return false;
  event.preventDefault();
  const at = list.indexOf(document.activeElement);
  list[(at + step + list.length) % list.length].focus();
  return true;
}

// Copies a text to the clipboard, also on a page without HTTPS; returns whether that worked.
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
