// Translates the text by paragraphs, and inspects those in view.

import { Failure, post, settings } from "./api.js";
import { $ } from "./dom.js";
import { termsFor } from "./glossary.js";
import { from, suggestLanguage, showDirection } from "./languages.js";

const CONCURRENCY = 4; // paragraphs that are asked for at the same time
const MAX_CACHED = 2000; // paragraphs that are remembered
const CORRECTION = /^spelling: (\S+) read as (\S+)$/;

// What the page shows. A paragraph has `source`, `from`, `to`, its terms in `glossary`; `text` and `warnings` once it is
// translated, else `old`, what stood in its place; `parts` once it was looked into, where that shows
// the same translation. `stamp` grows with each change of it.
export const work = { paragraphs: [], state: "", failure: null, other: null };
const cache = new Map(); // paragraphs that were translated, by direction and text
const uncorrected = new Set(); // words that are not to be corrected
const listeners = [];
let version = 0; // of the text: older answers are not shown
let controller = new AbortController();

export const subscribe = (listener) => listeners.push(listener);
export const translatedText = () => work.paragraphs.map((one) => one.text ?? one.old ?? "").join("\n");
export const countCharacters = (text) => [...text].length; // as the server counts

export function update(news = {}) {
  Object.assign(work, news);
  for (const listener of listeners) listener();
}

const cacheKey = ({ from, to, source, glossary }) => `${from} ${to} ${JSON.stringify(glossary)} ${source}`;

function saveToCache(paragraph) {
  paragraph.stamp = (paragraph.stamp ?? 0) + 1;
  cache.set(cacheKey(paragraph), { ...paragraph });
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value);
}

// The paragraphs of a text: those on the page, from the cache, or new.
function planParagraphs(text, from, to) {
  const before = work.paragraphs;
  const lines = text.split("\n");
  const staying = new Set(lines);
  return lines.map((source, i) => {
    const place = { source, from, to, glossary: termsFor(source) };
    const there = before[i];
    if (there && cacheKey(there) === cacheKey(place) && there.text !== undefined) return there;
    if (from === to || !source.trim()) return { ...place, text: source, warnings: [], stamp: 0 };
    const isIts = there && (there.source === source || !staying.has(there.source));
    const old = isIts ? there.text ?? there.old : "";
    return { ...place, old, warnings: [], stamp: 0, ...structuredClone(cache.get(cacheKey(place))) };
  });
}

export async function translate() {
  const text = $("source").value.toWellFormed();
  const ownVersion = ++version;
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  if (!text.trim()) return update({ paragraphs: [], state: "", failure: null, other: null });
  if (countCharacters(text) > settings.characters) return update({ state: "failed", failure: new Failure("long"), other: null });
  if (!settings.isLoaded) return update({ state: "failed", failure: new Failure("offline") });
  update({ state: "working" });
  try {
    const [from, to] = await showDirection(text, signal);
    if (ownVersion !== version) return;
    const paragraphs = planParagraphs(text, from, to);
    update({ paragraphs });
    await runConcurrently(paragraphs.filter((one) => one.text === undefined), async (one) => {
      await translateParagraph(one, signal);
      if (ownVersion === version) update();
    });
    const other = await suggestLanguage(text, signal);
    if (ownVersion !== version) return;
    update({ state: from === to ? "same" : "ready", failure: null, other });
  } catch (error) {
    reportFailure(error, ownVersion);
  }
}

// Shows an error, unless the request was aborted or belongs to an older text.
function reportFailure(error, ownVersion) {
  if (error.name === "AbortError" || ownVersion !== version) return;
  if (!(error instanceof Failure)) throw error;
  update({ state: "failed", failure: error });
}

async function runConcurrently(items, work) {
  const waiting = [...items];
  const worker = async () => {
    while (waiting.length) await work(waiting.shift());
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

const fieldsOf = ({ source, from, to, kept, glossary }) =>
  ({ q: source, source: from, target: to, spelling: !kept, ...(glossary && { glossary }) });

// A paragraph with a word to be left as typed is translated again, without corrections.
async function translateParagraph(paragraph, signal) {
  const answer = await post("translate", fieldsOf(paragraph), signal);
  paragraph.text = answer.translatedText;
  paragraph.warnings = answer.warnings ?? [];
  const words = correctionsOf(paragraph).map(([word]) => word);
  if (words.some((word) => uncorrected.has(word))) {
    paragraph.kept = words;
    await translateParagraph(paragraph, signal);
  } else saveToCache(paragraph);
}

const needsInspection = ({ isLookedInto, text, source, from, to }) =>
  !isLookedInto && text !== undefined && from !== to && source.trim();

// Inspects the paragraphs that are translated and not inspected yet.
export async function inspectParagraphs(paragraphs) {
  const ownVersion = version;
  const { signal } = controller;
  const pending = paragraphs.filter(needsInspection);
  for (const one of pending) one.isLookedInto = true;
  try {
    await runConcurrently(pending, async (one) => {
      const { parts } = await post("inspect", fieldsOf(one), signal);
      if (parts.map((part) => part.target).join("") === one.text) one.parts = parts;
      saveToCache(one);
      if (ownVersion === version) update();
    });
  } catch (error) {
    for (const one of pending) one.isLookedInto = Boolean(one.parts);
    if (!(error instanceof Failure)) return reportFailure(error, ownVersion);
    if (ownVersion === version) update({ state: "dark" }); // the translation itself is there
  }
}

// Spelling: [as typed, as read] of each word that the server corrected.

export const correctionsOf = ({ warnings }) => warnings.map((one) => CORRECTION.exec(one)).filter(Boolean).map((found) => found.slice(1));
export const isForeign = (one) => one.startsWith("does not read like ");
// Of a text whose language is detected, the paragraphs that are in none of the languages served.
export const foreignParagraphs = () => (from() === "auto" ? work.paragraphs.filter(({ warnings }) => warnings.some(isForeign)) : []);
export const faultsIn = ({ warnings }) => warnings.filter((one) => !CORRECTION.test(one));

// Sets whether words stay as typed, and translates their paragraphs again.
export function setCorrected(words, isKept) {
  for (const word of words) uncorrected[isKept ? "add" : "delete"](word);
  const isMeant = (one) => words.some((word) => one.kept?.includes(word) || correctionsOf(one).some(([slip]) => slip === word));
  for (const [key, one] of cache) if (isMeant(one)) cache.delete(key);
  work.paragraphs = work.paragraphs.map((one) =>
    (isMeant(one) ? { ...one, text: undefined, kept: undefined, old: one.text } : one));
  return translate();
}

// Another word

// Requests the translation of a sentence that begins with the given ids.
export const continueAfter = ({ part, paragraph }, prefix, signal) =>
  post("continue_after", { ...fieldsOf(paragraph), q: part.source, prefix }, signal);

export const alternatives = async ({ part, paragraph }, prefix, signal) =>
  (await post("alternatives", { ...fieldsOf(paragraph), q: part.source, prefix }, signal)).alternatives;

export function replaceWord({ part, paragraph }, news) {
  Object.assign(part, news, { source: part.source });
  paragraph.text = paragraph.parts.map((one) => one.target).join("");
  paragraph.warnings = correctionsOf(paragraph).map(([word, read]) => `spelling: ${word} read as ${read}`);
  saveToCache(paragraph);
  update({ state: "ready" });
}
