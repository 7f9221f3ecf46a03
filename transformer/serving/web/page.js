// The page: translates as one types, paragraph by paragraph, and lets words be looked at and changed.

import { get, post, send, settings } from "./api.js";
import { showInside, startInside } from "./inside.js";
import { language, percent, speak, t, warning } from "./texts.js";
import { element, light, sourceNodes, targetNodes } from "./words.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 250; // milliseconds without a key before a translation is asked for
const AT_ONCE = 4; // paragraphs that are asked for at the same time
const known = new Map(); // paragraphs that were translated, by direction and text
let version = 0; // of the text: older answers are not shown
let asking = new AbortController();
let timer = 0;
let limit = 20000;
let pairs = [];
let shown = []; // the paragraphs on the page, in order
let working = 0;

// Languages

const targetsOf = (from) => pairs.filter(([source]) => source === from).map(([, target]) => target);
const offered = (from, to) => pairs.some(([a, b]) => a === from && b === to);

function fillLanguages() {
  const sources = [...new Set(pairs.map(([source]) => source))];
  const targets = [...new Set(pairs.map(([, target]) => target))];
  const fill = (select, codes) => {
    const before = select.value;
    select.replaceChildren(...codes.map((code) =>
      element("option", { value: code, textContent: t(code === "auto" ? "detect" : code) })));
    select.value = codes.includes(before) ? before : codes.find((code) => code !== "auto");
  };
  fill($("from"), [...sources, "auto"]);
  fill($("to"), targets);
  $("swap").disabled = !offered($("to").value, $("from").value) && $("from").value !== "auto";
}

async function languageOf(text, signal) {
  if ($("from").value !== "auto") return $("from").value;
  const [found] = await post("detect", { q: text.slice(0, 1000) }, signal);
  const option = [...$("from").options].find((one) => one.value === "auto");
  option.textContent = `${t(found.language)} (${Math.round(found.confidence)} %)`;
  if (found.language === $("to").value) {
    const other = targetsOf(found.language)[0];
    if (other) $("to").value = other;
  }
  return found.language;
}

// Translation

const keyOf = (from, to, text) => `${from} ${to} ${text}`;

async function translate() {
  const text = $("source").value;
  const mine = ++version;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  $("count").textContent = t("characters", text.length, limit);
  $("count").classList.toggle("over", text.length > limit);
  if (!text.trim()) {
    shown = [];
    show("");
    return;
  }
  show(t("working"));
  try {
    const from = await languageOf(text, signal);
    if (mine !== version) return;
    const to = $("to").value;
    const lines = text.split("\n");
    const plan = lines.map((line) => known.get(keyOf(from, to, line)) ?? { source: line, from, to });
    shown = plan;
    if (from === to) for (const one of plan) one.text = one.source;
    for (const one of plan) if (!one.source.trim()) one.text = one.source;
    show(t("working"));
    await each(plan.filter((one) => one.text === undefined), (one) => ask(one, mine, signal));
    if (mine !== version) return;
    show(from === to ? t("same") : t("ready"));
    if (from !== to) await each(plan.filter((one) => !one.parts && one.source.trim()), (one) => inspect(one, mine, signal));
  } catch (error) {
    if (error.name !== "AbortError" && mine === version) show(t("failed") + error.message);
  }
}

async function each(items, work) {
  const waiting = [...items];
  const worker = async () => {
    while (waiting.length) await work(waiting.shift());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function ask(one, mine, signal) {
  const fields = { q: one.source, source: one.from, target: one.to };
  const answer = await post("translate", fields, signal);
  one.text = answer.translatedText;
  one.warnings = answer.warnings ?? [];
  known.set(keyOf(one.from, one.to, one.source), one);
  if (known.size > 2000) known.delete(known.keys().next().value);
  if (mine === version) show(t("working"));
}

async function inspect(one, mine, signal) {
  const fields = { q: one.source, source: one.from, target: one.to };
  const { parts } = await post("inspect", fields, signal);
  if (parts.map((part) => part.target).join("") === one.text) one.parts = parts;
  if (mine === version) show(t("ready"));
}

// Showing

const between = (lists) => lists.flatMap((nodes, i) => (i ? ["\n", ...nodes] : nodes));

function show(status) {
  $("status").textContent = status;
  working = status === t("working");
  const focused = document.activeElement?.place;
  $("target").lang = $("to").value;
  $("target").classList.toggle("busy", Boolean(working));
  $("target").replaceChildren(...between(shown.map((one) =>
    targetNodes(one, (p) => t("sure", percent(p))))));
  $("shadow").replaceChildren(...between(shown.map((one) => sourceNodes(one) ?? [one.source])), "\n");
  const words = wordsOf();
  const again = focused && words.find(({ place }) => place.part.source === focused.part.source && place.i === focused.i);
  if (words.length) (again ?? words[0]).tabIndex = 0;
  again?.focus();
  follow();
  const warnings = [...new Set(shown.flatMap((one) => one.warnings ?? []))];
  $("warnings").replaceChildren(...warnings.map((one) => element("li", { textContent: warning(one) })));
  $("warnings").hidden = !warnings.length;
  $("copy").disabled = !shown.length;
}

// The words behind the text field break into the same lines, and move with it.
function follow() {
  $("shadow").style.width = `${$("source").clientWidth}px`;
  $("shadow").scrollTop = $("source").scrollTop;
}

const wordsOf = () => [...$("target").querySelectorAll(".word")];
const allSpans = () => [...wordsOf(), ...$("shadow").querySelectorAll("span")];

function pointAt(place) {
  light(allSpans(), place);
}

function sourceWordAt(x, y) {
  return [...$("shadow").querySelectorAll("span")].find((span) =>
    [...span.getClientRects()].some((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom));
}

// Alternatives

async function openMenu(span) {
  const { part, i, paragraph } = span.place;
  const [, first, last] = part.targetWords[i];
  const menu = $("menu");
  const prefix = part.ids.slice(0, first);
  const box = span.getBoundingClientRect();
  const fields = { q: part.source, source: paragraph.from, target: paragraph.to, prefix };
  let found;
  try {
    found = (await post("alternatives", fields)).alternatives;
  } catch (error) {
    $("status").textContent = t("failed") + error.message;
    return;
  }
  const taken = part.ids.slice(first, last).join(" ");
  menu.replaceChildren(...found.map((one) => {
    const share = element("span", { className: "share", textContent: percent(one.probability) });
    const option = element("button", { type: "button" }, one.text || t("end"), share);
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", String(one.ids.join(" ") === taken));
    option.addEventListener("click", () => choose(span.place, [...prefix, ...one.ids]));
    return option;
  }));
  if (!found.length) menu.append(t("none"));
  menu.hidden = false;
  const left = Math.min(box.left, document.documentElement.clientWidth - menu.offsetWidth - 8);
  menu.style.left = `${Math.max(8, left) + window.scrollX}px`;
  menu.style.top = `${box.bottom + 4 + window.scrollY}px`;
  menu.opener = span;
  menu.querySelector("button")?.focus();
}

function closeMenu(giveBack = true) {
  if ($("menu").hidden) return;
  $("menu").hidden = true;
  if (giveBack) $("menu").opener?.focus();
}

async function choose({ part, paragraph }, prefix) {
  closeMenu();
  $("status").textContent = t("working");
  const fields = { q: part.source, source: paragraph.from, target: paragraph.to, prefix };
  try {
    Object.assign(part, { warnings: [] }, await post("continue_after", fields), { source: part.source });
    paragraph.text = paragraph.parts.map((one) => one.target).join("");
    paragraph.warnings = [];
    show(t("ready"));
  } catch (error) {
    $("status").textContent = t("failed") + error.message;
  }
}

function moveIn(list, event, forward, backward) {
  const step = forward.includes(event.key) ? 1 : backward.includes(event.key) ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const at = list.indexOf(document.activeElement);
  const next = list[(at + step + list.length) % list.length];
  if (next.classList.contains("word")) for (const one of list) one.tabIndex = one === next ? 0 : -1;
  next.focus();
}

// Files

async function sendFile(file) {
  if (!file) return;
  $("status").textContent = t("reading", file.name);
  $("fetched").hidden = true;
  try {
    const fields = { source: $("from").value, target: $("to").value };
    const { translatedFileUrl } = await send("translate_file", file, fields);
    const path = new URL(translatedFileUrl).pathname;
    const link = element("a", { href: path, download: "", textContent: t("download", file.name) });
    $("fetched").replaceChildren(link);
    $("fetched").hidden = false;
    $("status").textContent = t("ready");
  } catch (error) {
    $("status").textContent = t("failed") + error.message;
  }
}

// Settings

const remember = (name, value) => {
  try {
    localStorage.setItem(name, value);
  } catch { /* a browser may forbid it */ }
};
const remembered = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};
const THEMES = { auto: "◐", light: "☀", dark: "☾" };

function wear(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = THEMES[theme];
  remember("theme", theme);
}

function speakIn(code) {
  speak(code);
  $("interface").value = language();
  remember("interface", language());
  fillLanguages();
  $("count").textContent = t("characters", $("source").value.length, limit);
  show(shown.length ? t("ready") : "");
}

function openTab(name) {
  for (const one of ["translate", "inside"]) {
    const is = one === name;
    $(one).hidden = !is;
    $(`tab-${one}`).setAttribute("aria-selected", String(is));
    $(`tab-${one}`).tabIndex = is ? 0 : -1;
  }
  if (name === "inside") {
    const part = shown.flatMap((one) => one.parts ?? []).find((one) => one.ids);
    showInside(part, $("from").value === "auto" ? shown[0]?.from ?? "es" : $("from").value, $("to").value);
  }
}

function listen() {
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(translate, PAUSE);
  };
  $("source").addEventListener("input", later);
  $("source").addEventListener("scroll", follow);
  new ResizeObserver(follow).observe($("source"));
  $("source").addEventListener("mousemove", (event) => pointAt(sourceWordAt(event.clientX, event.clientY)?.place));
  $("source").addEventListener("mouseleave", () => pointAt(null));
  const target = $("target");
  target.addEventListener("mouseover", (event) => pointAt(event.target.place));
  target.addEventListener("mouseleave", () => pointAt(null));
  target.addEventListener("focusin", (event) => pointAt(event.target.place));
  target.addEventListener("focusout", () => pointAt(null));
  target.addEventListener("click", (event) => event.target.place && openMenu(event.target));
  target.addEventListener("keydown", (event) => {
    if (["Enter", " "].includes(event.key) && event.target.place) {
      event.preventDefault();
      openMenu(event.target);
    } else moveIn(wordsOf(), event, ["ArrowRight"], ["ArrowLeft"]);
  });
  $("menu").addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenu();
    else moveIn([...$("menu").children], event, ["ArrowDown"], ["ArrowUp"]);
  });
  document.addEventListener("pointerdown", (event) => $("menu").contains(event.target) || closeMenu(false));
  $("from").addEventListener("change", () => {
    const to = targetsOf($("from").value);
    if (to.length && !to.includes($("to").value)) $("to").value = to[0];
    fillLanguages();
    translate();
  });
  $("to").addEventListener("change", () => {
    if ($("from").value !== "auto" && !offered($("from").value, $("to").value)) $("from").value = "auto";
    fillLanguages();
    translate();
  });
  $("swap").addEventListener("click", swap);
  $("clear").addEventListener("click", () => {
    $("source").value = "";
    translate();
    $("source").focus();
  });
  $("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText($("target").textContent);
    $("status").textContent = t("copied");
  });
  $("pick").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => sendFile($("file").files[0]));
  $("drop").addEventListener("dragover", (event) => {
    event.preventDefault();
    $("drop").classList.add("over");
  });
  $("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
  $("drop").addEventListener("drop", (event) => {
    event.preventDefault();
    $("drop").classList.remove("over");
    if (event.dataTransfer.files.length) sendFile(event.dataTransfer.files[0]);
    else {
      $("source").value = event.dataTransfer.getData("text");
      translate();
    }
  });
  $("key").addEventListener("input", () => {
    settings.key = $("key").value;
    later();
  });
  $("key-row").addEventListener("submit", (event) => event.preventDefault());
  $("interface").addEventListener("change", () => speakIn($("interface").value));
  $("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    wear(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
  });
  const tabs = [$("tab-translate"), $("tab-inside")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => openTab(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      moveIn(tabs, event, ["ArrowRight"], ["ArrowLeft"]);
      if (event.key.startsWith("Arrow")) document.activeElement.click();
    });
  }
}

function swap() {
  const from = $("from").value === "auto" ? shown[0]?.from ?? "es" : $("from").value;
  const to = $("to").value;
  if (!offered(to, from)) return;
  const text = $("target").textContent;
  $("from").value = to;
  $("to").value = from;
  if (text.trim()) $("source").value = text;
  fillLanguages();
  translate();
}

async function start() {
  wear(remembered("theme") ?? "auto");
  listen();
  startInside();
  const spoken = remembered("interface") ?? (navigator.language.startsWith("es") ? "es" : "en");
  speakIn(spoken);
  try {
    const [languages, wanted] = await Promise.all([get("languages"), get("frontend/settings")]);
    pairs = languages.flatMap(({ code, targets }) => targets.filter((one) => one !== code).map((one) => [code, one]));
    limit = wanted.charLimit;
    $("key-row").hidden = !wanted.keyRequired;
    $("file").accept = wanted.supportedFilesFormat.join(",");
    fillLanguages();
    $("from").value = wanted.language.source.code;
    $("to").value = wanted.language.target.code;
    speakIn(language());  // another one may have been chosen meanwhile
    if ($("source").value) translate();
  } catch (error) {
    $("status").textContent = t("failed") + error.message;
  }
}

start();
