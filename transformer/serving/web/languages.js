// Which languages are chosen and which are served; what a text is written in.

import { Failure, post } from "./api.js";
import { $, element } from "./dom.js";
import { percent, t } from "./texts.js";

const ENOUGH = 1000; // characters that tell a language
const SURE = 90; // per cent, from which on another language is worth a word
const FEW = 3; // words, below which nobody can be sure

let pairs = []; // directions that are served, as [from, to]
let recognised = null; // { language, confidence } of the text, where it is to be recognised

export const from = () => $("from").value;
export const to = () => $("to").value;
export const isOffered = (source, target) => pairs.some(([a, b]) => a === source && b === target);
export const targetsOf = (source) => pairs.filter(([a]) => a === source).map(([, b]) => b);
// The language that a text is translated from, as far as it is known.
export const source = () => (from() !== "auto" ? from() : recognised?.language ?? pairs.find(([, b]) => b === to())?.[0]);

export function serve(languages) {
  pairs = languages.flatMap(({ code, targets }) => targets.filter((one) => one !== code).map((one) => [code, one]));
  fillLanguages();
}

export function fillLanguages() {
  const fill = (select, codes) => {
    const before = select.value;
    select.replaceChildren(...codes.map((code) => element("option", { value: code, textContent: t(code) })));
    if (codes.includes(before)) select.value = before;
  };
  fill($("from"), ["auto", ...new Set(pairs.map(([one]) => one))]);
  fill($("to"), [...new Set(pairs.map(([, one]) => one))]);
  name(recognised);
  $("swap").disabled = !isOffered(to(), source());
}

// Chooses a direction; false for one that is not served.
export function choose(source, target) {
  if (source === "auto" ? !pairs.some(([, one]) => one === target) : !isOffered(source, target)) return false;
  $("from").value = source;
  $("to").value = target;
  name(null);
  return true;
}

function name(found) {
  recognised = found;
  const option = $("from").querySelector("option[value=auto]");
  if (!option) return;
  option.textContent = found ? t("recognised", t(found.language)) : t("auto");
  $("from").title = found ? t("recognisedAs", t(found.language), percent(found.confidence / 100)) : "";
}

// The first characters of a text; a letter of two code units is not cut in half.
const beginning = (text) => text.slice(0, ENOUGH).replace(/[\uD800-\uDBFF]$/, "");

let known = { text: null, found: null }; // the last answer: a long text begins alike for long

async function detect(whole, signal) {
  const text = beginning(whole);
  if (text !== known.text) known = { text, found: (await post("detect", { q: text }, signal))[0] };
  return known.found;
}

// The direction that fits a text: the chosen one, or from the language it is recognised as.
export async function directionOf(text, signal, told = () => {}) {
  if (from() !== "auto") return [from(), to()];
  const found = await detect(text, signal);
  told(found);
  const targets = targetsOf(found.language);
  return [found.language, targets.includes(to()) || !targets.length ? to() : targets[0]];
}

// The same, and the page says so: the language it is translated to gives way.
export async function settleOn(text, signal) {
  const [source, target] = await directionOf(text, signal, name);
  $("to").value = target;
  $("swap").disabled = !isOffered(target, source);
  return [source, target];
}

// Another language that the text is plainly written in than the chosen one, or null.
export async function mistaken(text, signal) {
  if (from() === "auto" || text.trim().split(/\s+/u).length < FEW) return null;
  const found = await detect(text, signal).catch((error) => {
    if (error instanceof Failure) return null; // a hint that cannot be had is no error
    throw error;
  });
  if (!found) return null;
  const { language, confidence } = found;
  return language !== from() && confidence >= SURE && targetsOf(language).length ? language : null;
}

// After a choice of one language, the other one must fit it.
export function settle(changed) {
  if (changed === "from" && from() !== "auto" && !isOffered(from(), to())) $("to").value = targetsOf(from())[0];
  if (changed === "to" && from() !== "auto" && !isOffered(from(), to())) $("from").value = "auto";
  name(null);
  $("swap").disabled = !isOffered(to(), source());
}
