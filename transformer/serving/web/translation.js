// Translates what is typed, paragraph by paragraph, and looks inside what is seen of it.

import { Failure, post, settings } from "./api.js";
import { $ } from "./dom.js";
import { termsFor } from "./glossary.js";
import { mistaken, settleOn } from "./languages.js";

const AT_ONCE = 4; // paragraphs that are asked for at the same time
const KEPT = 2000; // paragraphs that are remembered
const SLIP = /^spelling: (\S+) read as (\S+)$/;

// What the page shows. A paragraph has `source`, `from`, `to`, its terms in `glossary`; `text` and `warnings` once it is
// translated, else `old`, what stood in its place; `parts` once it was looked into, where that shows
// the same translation. `stamp` grows with each change of it.
export const work = { paragraphs: [], state: "", failure: null, other: null };
const known = new Map(); // paragraphs that were translated, by direction and text
const typed = new Set(); // words that are not to be corrected
const listeners = [];
let version = 0; // of the text: older answers are not shown
let asking = new AbortController();

export const whenChanged = (listener) => listeners.push(listener);
export const translated = () => work.paragraphs.map((one) => one.text ?? one.old ?? "").join("\n");
export const count = (text) => [...text].length; // as the server counts

export function change(news = {}) {
  Object.assign(work, news);
  for (const listener of listeners) listener();
}

const keyOf = ({ from, to, source, glossary }) => `${from} ${to} ${JSON.stringify(glossary)} ${source}`;

function keep(paragraph) {
  paragraph.stamp = (paragraph.stamp ?? 0) + 1;
  known.set(keyOf(paragraph), { ...paragraph });
  if (known.size > KEPT) known.delete(known.keys().next().value);
}

// The text's paragraphs: the one that stands there already, one that is known, or a new one.
function planned(text, from, to) {
  const before = work.paragraphs;
  const lines = text.split("\n");
  const staying = new Set(lines);
  return lines.map((source, i) => {
    const place = { source, from, to, glossary: termsFor(source) };
    const there = before[i];
    if (there && keyOf(there) === keyOf(place) && there.text !== undefined) return there;
    if (from === to || !source.trim()) return { ...place, text: source, warnings: [], stamp: 0 };
    const isIts = there && (there.source === source || !staying.has(there.source));
    const old = isIts ? there.text ?? there.old : "";
    return { ...place, old, warnings: [], stamp: 0, ...structuredClone(known.get(keyOf(place))) };
  });
}

export async function translate() {
  const text = $("source").value.toWellFormed();
  const mine = ++version;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  if (!text.trim()) return change({ paragraphs: [], state: "", failure: null, other: null });
  if (count(text) > settings.characters) return change({ state: "failed", failure: new Failure("long"), other: null });
  if (!settings.isLoaded) return change({ state: "failed", failure: new Failure("offline") });
  change({ state: "working" });
  try {
    const [from, to] = await settleOn(text, signal);
    if (mine !== version) return;
    const paragraphs = planned(text, from, to);
    change({ paragraphs });
    await each(paragraphs.filter((one) => one.text === undefined), async (one) => {
      await ask(one, signal);
      if (mine === version) change();
    });
    const other = await mistaken(text, signal);
    if (mine !== version) return;
    change({ state: from === to ? "same" : "ready", failure: null, other });
  } catch (error) {
    report(error, mine);
  }
}

// Says what went wrong, unless it was given up or is of an older text.
function report(error, mine) {
  if (error.name === "AbortError" || mine !== version) return;
  if (!(error instanceof Failure)) throw error;
  change({ state: "failed", failure: error });
}

async function each(items, work) {
  const waiting = [...items];
  const worker = async () => {
    while (waiting.length) await work(waiting.shift());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const fieldsOf = ({ source, from, to, kept, glossary }) =>
  ({ q: source, source: from, target: to, spelling: !kept, ...(glossary && { glossary }) });

// A paragraph with a word that is to stay as it was typed is asked for again, with no slip undone.
async function ask(paragraph, signal) {
  const answer = await post("translate", fieldsOf(paragraph), signal);
  paragraph.text = answer.translatedText;
  paragraph.warnings = answer.warnings ?? [];
  const words = slipsOf(paragraph).map(([word]) => word);
  if (words.some((word) => typed.has(word))) {
    paragraph.kept = words;
    await ask(paragraph, signal);
  } else keep(paragraph);
}

const isDark = ({ isLookedInto, text, source, from, to }) =>
  !isLookedInto && text !== undefined && from !== to && source.trim();

// Looks into the paragraphs that were translated and not yet looked into.
export async function lookInside(paragraphs) {
  const mine = version;
  const { signal } = asking;
  const dark = paragraphs.filter(isDark);
  for (const one of dark) one.isLookedInto = true;
  try {
    await each(dark, async (one) => {
      const { parts } = await post("inspect", fieldsOf(one), signal);
      if (parts.map((part) => part.target).join("") === one.text) one.parts = parts;
      keep(one);
      if (mine === version) change();
    });
  } catch (error) {
    for (const one of dark) one.isLookedInto = Boolean(one.parts);
    if (!(error instanceof Failure)) return report(error, mine);
    if (mine === version) change({ state: "dark" }); // the translation itself is there
  }
}

// Spelling: [as typed, as read] of each word that the server corrected.

export const slipsOf = ({ warnings }) => warnings.map((one) => SLIP.exec(one)).filter(Boolean).map((found) => found.slice(1));
export const faultsOf = ({ warnings }) => warnings.filter((one) => !SLIP.test(one));

// Keeps words as they were typed, or lets them be corrected again.
export function spell(words, isKept) {
  for (const word of words) typed[isKept ? "add" : "delete"](word);
  const isMeant = (one) => words.some((word) => one.kept?.includes(word) || slipsOf(one).some(([slip]) => slip === word));
  for (const [key, one] of known) if (isMeant(one)) known.delete(key);
  work.paragraphs = work.paragraphs.map((one) =>
    (isMeant(one) ? { ...one, text: undefined, kept: undefined, old: one.text } : one));
  return translate();
}

// Another word

// What a sentence becomes after the ids given.
export const continued = ({ part, paragraph }, prefix, signal) =>
  post("continue_after", { ...fieldsOf(paragraph), q: part.source, prefix }, signal);

export const alternatives = async ({ part, paragraph }, prefix, signal) =>
  (await post("alternatives", { ...fieldsOf(paragraph), q: part.source, prefix }, signal)).alternatives;

export function replace({ part, paragraph }, news) {
  Object.assign(part, news, { source: part.source });
  paragraph.text = paragraph.parts.map((one) => one.target).join("");
  paragraph.warnings = slipsOf(paragraph).map(([word, read]) => `spelling: ${word} read as ${read}`);
  keep(paragraph);
  change({ state: "ready" });
}
