// The menu of a translated word: alternatives, and how the sentence goes on after each.

import { Failure } from "./api.js";
import { $, element, moveFocus } from "./dom.js";
import { failureText } from "./notices.js";
import { percent, t } from "./texts.js";
import { alternatives, continueAfter, replaceWord } from "./translation.js";
import { isWord } from "./words.js";

const MIN_PROBABILITY = 0.01; // of a word that is offered
const MIN_UNKNOWN_PROBABILITY = 0.2; // of one that the language does not know, which may be a name
const MAX_OPTIONS = 6; // words that are offered, with the one that stands there
const CONTEXT_WORDS = 2; // words that are shown before and after a change

let opener = null; // the word whose menu is open
let asking = new AbortController();

const isOther = (text, word) => text.toLowerCase() !== word.toLowerCase();
// The rest is the model's own words, which no rule of the server has looked at: a time or an amount must stay.
const numbersOf = (text) => (text.match(/\d+/g) ?? []).sort().join(" ");
const isLikely = ({ known, probability }) => probability >= (known ? MIN_PROBABILITY : MIN_UNKNOWN_PROBABILITY);

// The alternatives that are words and likely, and the present word.
function filterAlternatives(found, word, currentIds) {
  return found.filter((one) => one.ids.join() === currentIds || (isLikely(one) && isWord(one.text)
    && isOther(one.text, word))).slice(0, MAX_OPTIONS);
}

export async function openMenu(span, inspectWord) {
  closeMenu(false);
  asking = new AbortController();
  const { signal } = asking;
  const { place } = span;
  const [word, first, last] = place.part.targetWords[place.i];
  const prefix = place.part.ids.slice(0, first);
  opener = span;
  span.setAttribute("aria-expanded", "true");
  $("menu-title").textContent = t("otherWords", word);
  $("options").replaceChildren();
  setStatus(t("searching"));
  $("menu").hidden = false;
  placeMenu(span);
  $("menu-close").focus({ preventScroll: true });
  $("menu-look").onclick = () => {
    closeMenu(false);
    inspectWord(place, first);
  };
  try {
    const currentIds = place.part.ids.slice(first, last).join();
    const offered = filterAlternatives(await alternatives(place, prefix, signal), word, currentIds);
    const options = offered.map((one) => createOption(one, one.ids.join() === currentIds, place, prefix));
    $("options").replaceChildren(...options);
    const others = offered.filter((one) => one.ids.join() !== currentIds);
    await Promise.all(others.map((one) => preview(one, place, [...prefix, ...one.ids], signal)));
    for (const option of [...$("options").children]) if (option.hidden) option.remove();
    setStatus($("options").querySelector("[aria-selected=false]") ? "" : t("none"));
    placeMenu(span);
    if (document.activeElement === $("menu-close")) $("options").querySelector("button")?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Failure)) throw error;
    setStatus(failureText(error));
  }
}

const setStatus = (text) => {
  $("menu-said").textContent = text;
};

function createOption(one, isTaken, place, prefix) {
  const option = element("button", { type: "button" },
    element("span", { className: "name", textContent: one.text }),
    element("span", { className: "share", textContent: percent(one.probability) }),
    element("span", { className: "change", textContent: isTaken ? t("standsThere") : "…" }));
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", String(isTaken));
  option.addEventListener("click", () => {
    closeMenu();
    if (one.news) replaceWord(place, one.news);
  });
  one.option = option;
  // What may only lengthen the word before is not shown until it is known to be a word of its own.
  const before = place.part.targetWords[place.i - 1]?.[0];
  option.hidden = !isTaken && Boolean(before) && one.text.startsWith(before);
  option.disabled = !isTaken;
  return option;
}

// Requests the sentence with an alternative, and shows the words around the change.
async function preview(one, { part, i, paragraph }, prefix, signal) {
  const news = await continueAfter({ part, paragraph }, prefix, signal);
  const before = part.targetWords.map(([word]) => word);
  const after = news.targetWords.map(([word]) => word);
  const isOwnWord = !i || after[i - 1] === before[i - 1];
  const isSame = after.join(" ") === before.join(" ");
  one.option.hidden = !isOwnWord || isSame || numbersOf(news.target) !== numbersOf(part.target);
  if (one.option.hidden) return;
  one.news = news;
  one.option.disabled = false;
  one.option.querySelector(".change").replaceChildren(...changedWords(before, after, i));
}

function changedWords(before, after, i) {
  let same = 0; // words at the end that stay
  const most = Math.min(before.length, after.length) - i;
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const end = Math.max(i + 1, after.length - same);
  const tail = after.slice(end + CONTEXT_WORDS).some(isWord) ? end + CONTEXT_WORDS : after.length;
  const start = Math.max(0, i - CONTEXT_WORDS);
  const spaced = (words) => words.join(" ").replace(/ ([.,;:!?)\]])/gu, "$1").replace(/(\d[.,:]) (?=\d)/g, "$1");
  const [left, middle, right] = [after.slice(start, i), after.slice(i, end), after.slice(end, tail)].map(spaced);
  const gap = !right || /^[.,;:!?)\]]/u.test(right) ? "" : " ";
  return [
    `${start ? "… " : ""}${left}${left ? " " : ""}`, element("b", { textContent: middle }),
    `${gap}${right}${tail < after.length ? " …" : ""}`,
  ];
}

// Places the menu below its word, or above if there is more room.
function placeMenu(span) {
  const menu = $("menu");
  const box = span.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const left = Math.max(8, Math.min(box.left, clientWidth - menu.offsetWidth - 8));
  const isBelow = box.bottom + menu.offsetHeight + 12 < clientHeight || box.top < menu.offsetHeight + 12;
  menu.style.left = `${left + window.scrollX}px`;
  menu.style.top = `${(isBelow ? box.bottom + 6 : box.top - menu.offsetHeight - 6) + window.scrollY}px`;
}

export function closeMenu(restoreFocus = true) {
  if ($("menu").hidden) return;
  asking.abort();
  $("menu").hidden = true;
  opener.setAttribute("aria-expanded", "false");
  if (restoreFocus && opener.isConnected) opener.focus({ preventScroll: true });
}

export function startMenu() {
  const menu = $("menu");
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenu();
    else moveFocus([...menu.querySelectorAll("button:not(:disabled)")], event, ["ArrowDown"], ["ArrowUp"]);
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) closeMenu(false);
  });
  $("menu-close").addEventListener("click", () => closeMenu());
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || closeMenu(false));
  $("target").addEventListener("scroll", () => closeMenu(false));
}
