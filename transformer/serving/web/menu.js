// Other words for a word of the translation, and what the sentence becomes with them.

import { Failure } from "./api.js";
import { $, element, moveIn } from "./dom.js";
import { explained } from "./notices.js";
import { percent, t } from "./texts.js";
import { alternatives, continued, replace } from "./translation.js";
import { isWord } from "./words.js";

const LEAST = 0.01; // probability of a word that is offered
const NAME = 0.2; // of one that the language does not know, which may be a name
const MOST = 6; // words that are offered, with the one that stands there
const AROUND = 2; // words that are shown before and after a change

let opener = null; // the word whose menu is open
let asking = new AbortController();

const isOther = (text, word) => text.toLowerCase() !== word.toLowerCase();
// The rest is the model's own words, which no rule of the server has looked at: a time or an amount must stay.
const numbersOf = (text) => (text.match(/\d+/g) ?? []).sort().join(" ");
const isLikely = ({ known, probability }) => probability >= (known ? LEAST : NAME);

// Those that are words and likely, the one that stands there first.
function worthwhile(found, word, taken) {
  return found.filter((one) => one.ids.join() === taken || (isLikely(one) && isWord(one.text)
    && isOther(one.text, word))).slice(0, MOST);
}

export async function openMenu(span, lookAt) {
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
  say(t("searching"));
  $("menu").hidden = false;
  put(span);
  $("menu-close").focus({ preventScroll: true });
  $("menu-look").onclick = () => {
    closeMenu(false);
    lookAt(place, first);
  };
  try {
    const taken = place.part.ids.slice(first, last).join();
    const offered = worthwhile(await alternatives(place, prefix, signal), word, taken);
    const options = offered.map((one) => optionOf(one, one.ids.join() === taken, place, prefix));
    $("options").replaceChildren(...options);
    const others = offered.filter((one) => one.ids.join() !== taken);
    await Promise.all(others.map((one) => preview(one, place, [...prefix, ...one.ids], signal)));
    for (const option of [...$("options").children]) if (option.hidden) option.remove();
    say($("options").querySelector("[aria-selected=false]") ? "" : t("none"));
    put(span);
    if (document.activeElement === $("menu-close")) $("options").querySelector("button")?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Failure)) throw error;
    say(explained(error));
  }
}

const say = (text) => {
  $("menu-said").textContent = text;
};

function optionOf(one, isTaken, place, prefix) {
  const option = element("button", { type: "button" },
    element("span", { className: "name", textContent: one.text }),
    element("span", { className: "share", textContent: percent(one.probability) }),
    element("span", { className: "change", textContent: isTaken ? t("standsThere") : "…" }));
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", String(isTaken));
  option.addEventListener("click", () => {
    closeMenu();
    if (one.news) replace(place, one.news);
  });
  one.option = option;
  // What may only lengthen the word before is not shown until it is known to be a word of its own.
  const before = place.part.targetWords[place.i - 1]?.[0];
  option.hidden = !isTaken && Boolean(before) && one.text.startsWith(before);
  option.disabled = !isTaken;
  return option;
}

// Asks what the sentence becomes, and shows the words around what changes.
async function preview(one, { part, i, paragraph }, prefix, signal) {
  const news = await continued({ part, paragraph }, prefix, signal);
  const before = part.targetWords.map(([word]) => word);
  const after = news.targetWords.map(([word]) => word);
  const isOwnWord = !i || after[i - 1] === before[i - 1];
  const isSame = after.join(" ") === before.join(" ");
  one.option.hidden = !isOwnWord || isSame || numbersOf(news.target) !== numbersOf(part.target);
  if (one.option.hidden) return;
  one.news = news;
  one.option.disabled = false;
  one.option.querySelector(".change").replaceChildren(...changed(before, after, i));
}

function changed(before, after, i) {
  let same = 0; // words at the end that stay
  const most = Math.min(before.length, after.length) - i;
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const end = Math.max(i + 1, after.length - same);
  const tail = after.slice(end + AROUND).some(isWord) ? end + AROUND : after.length;
  const start = Math.max(0, i - AROUND);
  const spaced = (words) => words.join(" ").replace(/ ([.,;:!?)\]])/gu, "$1").replace(/(\d[.,:]) (?=\d)/g, "$1");
  const [left, middle, right] = [after.slice(start, i), after.slice(i, end), after.slice(end, tail)].map(spaced);
  const gap = !right || /^[.,;:!?)\]]/u.test(right) ? "" : " ";
  return [
    `${start ? "… " : ""}${left}${left ? " " : ""}`, element("b", { textContent: middle }),
    `${gap}${right}${tail < after.length ? " …" : ""}`,
  ];
}

// Below its word, or above where there is more room; a narrow window puts it at its foot.
function put(span) {
  const menu = $("menu");
  const box = span.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const left = Math.max(8, Math.min(box.left, clientWidth - menu.offsetWidth - 8));
  const isBelow = box.bottom + menu.offsetHeight + 12 < clientHeight || box.top < menu.offsetHeight + 12;
  menu.style.left = `${left + window.scrollX}px`;
  menu.style.top = `${(isBelow ? box.bottom + 6 : box.top - menu.offsetHeight - 6) + window.scrollY}px`;
}

export function closeMenu(giveBack = true) {
  if ($("menu").hidden) return;
  asking.abort();
  $("menu").hidden = true;
  opener.setAttribute("aria-expanded", "false");
  if (giveBack && opener.isConnected) opener.focus({ preventScroll: true });
}

export function startMenu() {
  const menu = $("menu");
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenu();
    else moveIn([...menu.querySelectorAll("button:not(:disabled)")], event, ["ArrowDown"], ["ArrowUp"]);
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) closeMenu(false);
  });
  $("menu-close").addEventListener("click", () => closeMenu());
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || closeMenu(false));
  $("target").addEventListener("scroll", () => closeMenu(false));
}
