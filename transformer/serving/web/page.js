// The page: wires the panes, the languages, the address and the settings together.

import { asksByQuery, fits, settleAddress, standing } from "./address.js";
import { get, settings } from "./api.js";
import { $, copy, moveIn, remember, remembered } from "./dom.js";
import { dismissFile, offer, speakFiles, startFiles } from "./files.js";
import { showMissed, speakGlossary, startGlossary } from "./glossary.js";
import { showInside, startInside } from "./inside.js";
import { choose, fillLanguages, from, isOffered, serve, settle, source, to } from "./languages.js";
import { closeMenu, openMenu, startMenu } from "./menu.js";
import { showFailure, showNotices } from "./notices.js";
import { finish, leave } from "./recent.js";
import { language, number, speak, t } from "./texts.js";
import { change, count, lookInside, translate, translated, whenChanged, work } from "./translation.js";
import { showText, startView, targetWords } from "./view.js";

const PAUSE = 250; // milliseconds without a key before a translation is asked for
const SETTLED = 800; // milliseconds without a key before the address is written
const THEMES = { auto: "◐", light: "☀", dark: "☾" };
const TABS = ["translate", "inside"];
let timer = 0;
let addressTimer = 0;
let here = ""; // the address of the text that stands there

function again() {
  return settings.isLoaded ? translate() : load();
}

function show(anew = false) {
  showText({ anew });
  showFailure(again);
  showMissed(work.paragraphs.flatMap((one) => one.warnings ?? []));
  showNotices((other) => turn(() => choose(other, to() === other ? from() : to())));
  $("status").textContent = t("states")[work.state] ?? "";
  $("copy").disabled = !work.paragraphs.length || work.state === "failed";
  $("link").disabled = !work.paragraphs.length || !fits($("source").value);
  $("link").title = t($("link").disabled && work.paragraphs.length ? "noLink" : "linkTitle");
  const text = work.paragraphs.map((one) => one.source).join("\n");
  if (work.state === "ready" && fits(text) && text === $("source").value.toWellFormed()) {
    writeAddress();
    finish(from(), to(), text, translated());
  }
  showCount();
}

function showCount() {
  const n = count($("source").value);
  $("count").textContent = n ? t("characters", number(n), number(settings.characters)) : "";
  $("clear").disabled = !n;
  $("count").classList.toggle("over", n > settings.characters);
}

// Another direction, or another text: all that belonged to the one before goes.
function turn(how = () => {}) {
  how();
  closeMenu(false);
  dismissFile();
  clearTimeout(timer);
  fillLanguages();
  writeAddress();
  change({ other: null });
  return translate();
}

function typed() {
  showCount();
  closeMenu(false);
  dismissFile();
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, SETTLED);
}

function writeAddress() {
  clearTimeout(addressTimer);
  if (settleAddress(from(), to(), $("source").value)) leave(here);
  here = location.hash;
}

// What the address asks for, if it is one of a text.
function obeyAddress() {
  const wanted = standing();
  if (!wanted) return;
  if (here !== location.hash) leave(here);
  here = location.hash;
  if (!choose(wanted.from, wanted.to)) return;
  $("source").value = wanted.text;
  fillLanguages();
  translate();
}

function swap() {
  const [source_, target] = [source(), to()];
  if (!isOffered(target, source_)) return;
  const text = translated();
  turn(() => {
    choose(target, source_);
    if (text.trim()) $("source").value = text;
  });
}

async function say(text) {
  $("status").textContent = text;
}

// Settings

function wear(theme) {
  const name = theme in THEMES ? theme : "auto";
  document.documentElement.dataset.theme = name;
  $("theme").textContent = THEMES[name];
  remember("theme", name);
  speakTheme();
}

function speakTheme() {
  $("theme").title = t("themes")[document.documentElement.dataset.theme];
  $("theme").setAttribute("aria-label", $("theme").title);
}

function speakIn(code) {
  speak(code);
  $("interface").value = language();
  remember("interface", language());
  speakTheme();
  fillLanguages();
  speakFiles();
  speakGlossary();
  show(true);
}

function openTab(name) {
  closeMenu(false);
  for (const one of TABS) {
    const is = one === name;
    $(one).hidden = !is;
    $(`tab-${one}`).setAttribute("aria-selected", String(is));
    $(`tab-${one}`).tabIndex = is ? 0 : -1;
  }
}

const sentenceOf = ({ source, target, ids }, { from, to }) => ({ source, target, ids, from, to });

function sentences() {
  return work.paragraphs.flatMap((one) => (one.parts ?? []).filter((part) => part.ids).map((part) => sentenceOf(part, one)));
}

function lookAt({ part, paragraph }, first) {
  openTab("inside");
  $("tab-inside").focus();
  showInside(sentences(), sentenceOf(part, paragraph), first + 1);
}

// Listening

function listenToText() {
  $("source").addEventListener("input", typed);
  $("clear").addEventListener("click", () => {
    turn(() => { $("source").value = ""; });
    $("source").focus();
  });
  const target = $("target");
  target.addEventListener("click", (event) => {
    if (event.target.matches(".word") && getSelection().isCollapsed) openMenu(event.target, lookAt);
  });
  target.addEventListener("keydown", (event) => {
    if (["Enter", " "].includes(event.key) && event.target.matches(".word")) {
      event.preventDefault();
      openMenu(event.target, lookAt);
    } else if (moveIn(targetWords(), event, ["ArrowRight"], ["ArrowLeft"])) {
      for (const word of targetWords()) word.tabIndex = word === document.activeElement ? 0 : -1;
    }
  });
  $("copy").addEventListener("click", async () => say(t((await copy(translated())) ? "copied" : "notCopied")));
  $("link").addEventListener("click", async () => {
    writeAddress();
    say(t((await copy(location.href)) ? "copied" : "notCopied"));
  });
}

function listenToSettings() {
  for (const one of ["from", "to"]) $(one).addEventListener("change", () => turn(() => settle(one)));
  $("swap").addEventListener("click", swap);
  $("marks").addEventListener("change", () => {
    $("target").classList.toggle("plain", !$("marks").checked);
    remember("marks", $("marks").checked ? "on" : "off");
  });
  $("key").addEventListener("input", () => {
    settings.key = $("key").value;
    typed();
  });
  $("key-row").addEventListener("submit", (event) => event.preventDefault());
  $("interface").addEventListener("change", () => speakIn($("interface").value));
  $("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    wear(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
  });
  const tabs = TABS.map((name) => $(`tab-${name}`));
  for (const tab of tabs) {
    const name = tab.getAttribute("aria-controls");
    tab.addEventListener("click", async () => {
      openTab(name);
      if (name !== "inside") return;
      if (!sentences().length) await lookInside(work.paragraphs.slice(0, 1));
      showInside(sentences());
    });
    tab.addEventListener("keydown", (event) => {
      if (moveIn(tabs, event, ["ArrowRight"], ["ArrowLeft"])) document.activeElement.click();
    });
  }
  window.addEventListener("popstate", obeyAddress);
  window.addEventListener("online", () => work.failure && again());
}

// What the server offers; without it nothing can be translated.
async function load() {
  try {
    const [languages, wanted] = await Promise.all([get("languages"), get("frontend/settings")]);
    Object.assign(settings, { characters: wanted.charLimit, terms: wanted.glossaryLimit, isLoaded: true });
    $("glossary").hidden = !settings.terms;
    speakGlossary();
    serve(languages);
    choose("auto", wanted.language.target.code);
    $("key-row").hidden = !wanted.keyRequired;
    offer(wanted.supportedFilesFormat);
    change({ failure: null, state: "" });
    if (standing() || asksByQuery()) obeyAddress();
    else if ($("source").value) translate();
  } catch (error) {
    if (!error.kind) throw error;
    change({ state: "failed", failure: error });
  }
}

function start() {
  wear(remembered("theme"));
  if (remembered("marks") === "off") {
    $("marks").checked = false;
    $("target").classList.add("plain");
  }
  whenChanged(() => show());
  startView();
  startMenu();
  startFiles();
  startGlossary(translate);
  startInside();
  listenToText();
  listenToSettings();
  speakIn(remembered("interface") ?? (navigator.language.startsWith("es") ? "es" : "en"));
  load();
}

start();
