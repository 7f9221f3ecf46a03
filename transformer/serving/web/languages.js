// The languages selected and those served; the language of a text.

import { Failure, post } from "./api.js";
import { $, element } from "./dom.js";
import { percent, t } from "./texts.js";

const DETECT_CHARS = 1000; // characters that tell a language
const MIN_CONFIDENCE = 90; // per cent, from which on another language is worth a word
const MIN_WORDS = 3; // words, below which nobody can be sure

let directions = []; // directions that are served, as [from, to]
let detected = null; // { language, confidence } of the text, if the source language is `auto`

export const from = () => $("from").value;
export const to = () => $("to").value;
export const isServed = (source, target) => directions.some(([a, b]) => a === source && b === target);
export const targetsOf = (source) => directions.filter(([a]) => a === source).map(([, b]) => b);
// The language that a text is translated from, as far as it is known.
export const source = () => (from() !== "auto" ? from() : detected?.language ?? directions.find(([, b]) => b === to())?.[0]);

export function setLanguages(languages) {
  directions = languages.flatMap(({ code, targets }) => targets.filter((one) => one !== code).map((one) => [code, one]));
  fillLanguages();
}

export function fillLanguages() {
  const fill = (select, codes) => {
    const before = select.value;
    select.replaceChildren(...codes.map((code) => element("option", { value: code, textContent: t(code) })));
    if (codes.includes(before)) select.value = before;
  };
  fill($("from"), ["auto", ...new Set(directions.map(([one]) => one))]);
  fill($("to"), [...new Set(directions.map(([, one]) => one))]);
  showDetected(detected);
  $("swap").disabled = !isServed(to(), source());
}

// Selects a direction; returns false for one that is not served.
export function selectDirection(source, target) {
  if (source === "auto" ? !directions.some(([, one]) => one === target) : !isServed(source, target)) return false;
  $("from").value = source;
  $("to").value = target;
  showDetected(null);
  return true;
}

function showDetected(found) {
  detected = found;
  const option = $("from").querySelector("option[value=auto]");
  if (!option) return;
  option.textContent = found ? t("recognised", t(found.language)) : t("auto");
  $("from").title = found ? t("recognisedAs", t(found.language), percent(found.confidence / 100)) : "";
}

// Names no language for a text that seems to be in none of those served.
export function hideDetected() {
  if (detected) $("from").querySelector("option[value=auto]").textContent = t("auto");
}

// The first characters of a text; a letter of two code units is not cut in half.
const beginning = (text) => text.slice(0, DETECT_CHARS).replace(/[\uD800-\uDBFF]$/, "");

let lastDetection = { text: null, found: null }; // a long text keeps its beginning while it is typed

async function detect(whole, signal) {
  const text = beginning(whole);
  if (text !== lastDetection.text) lastDetection = { text, found: (await post("detect", { q: text }, signal))[0] };
  return lastDetection.found;
}

// The direction for a text: the selected one, or from the language that is detected.
export async function directionOf(text, signal, onDetected = () => {}) {
  if (from() !== "auto") return [from(), to()];
  const found = await detect(text, signal);
  onDetected(found);
  const targets = targetsOf(found.language);
  return [found.language, targets.includes(to()) || !targets.length ? to() : targets[0]];
}

// The same, shown on the page; the target changes if the detected language has another one.
export async function showDirection(text, signal) {
  const [source, target] = await directionOf(text, signal, showDetected);
  $("to").value = target;
  $("swap").disabled = !isServed(target, source);
  return [source, target];
}

// The language of a text if it is plainly not the selected one, else null.
export async function suggestLanguage(text, signal) {
  if (from() === "auto" || text.trim().split(/\s+/u).length < MIN_WORDS) return null;
  const found = await detect(text, signal).catch((error) => {
    if (error instanceof Failure) return null; // a hint that cannot be had is no error
    throw error;
  });
  if (!found) return null;
  const { language, confidence } = found;
  return language !== from() && confidence >= MIN_CONFIDENCE && targetsOf(language).length ? language : null;
}

// Changes the other language after one was selected, if the two are not served together.
export function repairDirection(changed) {
  if (changed === "from" && from() !== "auto" && !isServed(from(), to())) $("to").value = targetsOf(from())[0];
  if (changed === "to" && from() !== "auto" && !isServed(from(), to())) $("from").value = "auto";
  showDetected(null);
  $("swap").disabled = !isServed(to(), source());
}
