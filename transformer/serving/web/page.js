// The page: connects panes, languages, address and settings.

import { importQuery, fitsAddress, updateAddress, currentEntry } from "./address.js";
import { get, settings } from "./api.js";
import { $, copy, moveFocus, saveSetting, loadSetting } from "./dom.js";
import { finalText, labelEditor, showEditor, startEditor } from "./edit.js";
import { dismissFile, setFormats, labelFiles, startFiles } from "./files.js";
import { markMissedTerms, labelGlossary, startGlossary } from "./glossary.js";
import { look, showInside, startInside } from "./inside.js";
import { selectDirection, fillLanguages, from, isServed, setLanguages, repairDirection, source, targetsOf, to } from "./languages.js";
import { closeMenu, openMenu, startMenu } from "./menu.js";
import { showFailure, showNotices } from "./notices.js";
import { addRecent, listRecent } from "./recent.js";
import { showSamples } from "./samples.js";
import { showSpeech, startSpeech, stopSpeech } from "./speech.js";
import { language, number, setLanguage, t } from "./texts.js";
import { update, countCharacters, translate, translatedText, subscribe, work } from "./translation.js";
import { showText, startView, targetWords } from "./view.js";

const INPUT_DELAY = 250; // milliseconds without a key before a translation is asked for
const ADDRESS_DELAY = 800; // milliseconds without a key before the address is written
const THEMES = { auto: "◐", light: "☀", dark: "☾" };
const TABS = ["translate", "inside"];
let timer = 0;
let addressTimer = 0;
let currentHash = ""; // the address of the text that stands there

function retry() {
  return settings.isLoaded ? translate() : load();
}

function render(isForced = false) {
  showText({ isForced });
  showFailure(retry);
  markMissedTerms(work.paragraphs.flatMap((one) => one.warnings ?? []));
  showNotices((other) => changeInput(() => selectDirection(other, to() === other ? from() : to())));
  $("status").textContent = t("states")[work.state] ?? "";
  $("copy").disabled = !work.paragraphs.length || work.state === "failed";
  labelEditor();
  $("link").disabled = !work.paragraphs.length || !fitsAddress($("source").value);
  $("link").title = t($("link").disabled && work.paragraphs.length ? "noLink" : "linkTitle");
  const text = work.paragraphs.map((one) => one.source).join("\n");
  if (work.state === "ready" && fitsAddress(text) && text === $("source").value.toWellFormed()) {
    writeAddress();
    addRecent(from(), to(), text, translatedText());
  }
  renderCount();
  showSpeech();
}

function renderCount() {
  const n = countCharacters($("source").value);
  $("count").textContent = n ? t("characters", number(n), number(settings.characters)) : "";
  $("clear").disabled = !n;
  $("legend").hidden = !n;
  $("samples").hidden = Boolean(n);
  $("count").classList.toggle("over", n > settings.characters);
}

// Changes direction or text; what belonged to the text before is cleared.
function changeInput(how = () => {}) {
  how();
  showEditor(false);
  stopSpeech();
  closeMenu(false);
  dismissFile();
  clearTimeout(timer);
  fillLanguages();
  writeAddress();
  update({ other: null });
  return translate();
}

function onInput() {
  renderCount();
  showEditor(false);
  stopSpeech();
  closeMenu(false);
  dismissFile();
  clearTimeout(timer);
  timer = setTimeout(translate, INPUT_DELAY);
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, ADDRESS_DELAY);
}

function writeAddress() {
  clearTimeout(addressTimer);
  if (updateAddress(from(), to(), $("source").value)) listRecent(currentHash);
  currentHash = location.hash;
}

// Opens the text of the address, if it has one.
function openAddress() {
  const wanted = currentEntry();
  if (!wanted) return;
  if (currentHash !== location.hash) listRecent(currentHash);
  currentHash = location.hash;
  if (!selectDirection(wanted.from, wanted.to)) return;
  $("source").value = wanted.text;
  showEditor(false);
  fillLanguages();
  translate();
}

function swap() {
  const [source_, target] = [source(), to()];
  if (!isServed(target, source_)) return;
  const text = finalText();
  changeInput(() => {
    selectDirection(target, source_);
    if (text.trim()) $("source").value = text;
  });
}

async function announce(text) {
  $("status").textContent = text;
}

async function paste() {
  const text = await navigator.clipboard.readText().catch(() => null);
  if (text === null) return announce(t("notPasted"));
  const field = $("source");
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  onInput();
}

function translateSample(language, text) {
  changeInput(() => {
    selectDirection(from() === "auto" ? "auto" : language, targetsOf(language)[0]);
    $("source").value = text;
  });
  $("source").focus();
}

const inspectSample = (language, text) => look({ source: text, from: language, to: targetsOf(language)[0] });

function onShortcut(event) {
  if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  const isSwap = event.shiftKey && event.key.toLowerCase() === "s";
  if (!isSwap && event.key !== "Enter") return;
  event.preventDefault();
  openTab("translate");
  if (isSwap) return swap();
  clearTimeout(timer);
  translate();
}

// Settings

function applyTheme(theme) {
  const name = theme in THEMES ? theme : "auto";
  document.documentElement.dataset.theme = name;
  $("theme").textContent = THEMES[name];
  saveSetting("theme", name);
  labelTheme();
}

function labelTheme() {
  $("theme").title = t("themes")[document.documentElement.dataset.theme];
  $("theme").setAttribute("aria-label", $("theme").title);
}

function changeLanguage(code) {
  setLanguage(code);
  $("interface").value = language();
  saveSetting("interface", language());
  labelTheme();
  fillLanguages();
  labelFiles();
  labelGlossary();
  labelAbout();
  render(true);
}

const labelAbout = () => {
  $("about").textContent = settings.isLoaded ? t("about", settings.model, settings.version) : "";
};

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

// The sentences that can be inspected; while the words of none are known, the first paragraph.
function sentences() {
  const known = work.paragraphs.flatMap((one) => (one.parts ?? []).filter((part) => part.ids).map((part) => sentenceOf(part, one)));
  const first = work.paragraphs.find((one) => one.from !== one.to && one.source.trim());
  return known.length || !first ? known : [sentenceOf({ source: first.source, target: first.text }, first)];
}

function inspectWord({ part, paragraph }, first) {
  openTab("inside");
  $("tab-inside").focus();
  showInside(sentences(), sentenceOf(part, paragraph), first + 1);
}

// Events

function listenToText() {
  $("source").addEventListener("input", onInput);
  $("clear").addEventListener("click", () => {
    changeInput(() => { $("source").value = ""; });
    $("source").focus();
  });
  const target = $("target");
  target.addEventListener("click", (event) => {
    if (event.target.matches(".word") && getSelection().isCollapsed) openMenu(event.target, inspectWord);
  });
  target.addEventListener("keydown", (event) => {
    if (["Enter", " "].includes(event.key) && event.target.matches(".word")) {
      event.preventDefault();
      openMenu(event.target, inspectWord);
    } else if (moveFocus(targetWords(), event, ["ArrowRight"], ["ArrowLeft"])) {
      for (const word of targetWords()) word.tabIndex = word === document.activeElement ? 0 : -1;
    }
  });
  $("paste").hidden = !navigator.clipboard?.readText;
  $("paste").addEventListener("click", paste);
  $("copy").addEventListener("click", async () => announce(t((await copy(finalText())) ? "copied" : "notCopied")));
  $("link").addEventListener("click", async () => {
    writeAddress();
    announce(t((await copy(location.href)) ? "copied" : "notCopied"));
  });
}

function listenToSettings() {
  for (const one of ["from", "to"]) $(one).addEventListener("change", () => changeInput(() => repairDirection(one)));
  $("swap").addEventListener("click", swap);
  $("marks").addEventListener("change", () => {
    $("target").classList.toggle("plain", !$("marks").checked);
    saveSetting("marks", $("marks").checked ? "on" : "off");
  });
  $("key").addEventListener("input", () => {
    settings.key = $("key").value;
    onInput();
  });
  $("key-row").addEventListener("submit", (event) => event.preventDefault());
  $("interface").addEventListener("change", () => changeLanguage($("interface").value));
  $("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    applyTheme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
  });
  const tabs = TABS.map((name) => $(`tab-${name}`));
  for (const tab of tabs) {
    const name = tab.getAttribute("aria-controls");
    tab.addEventListener("click", () => {
      openTab(name);
      if (name === "inside") showInside(sentences());
    });
    tab.addEventListener("keydown", (event) => {
      if (moveFocus(tabs, event, ["ArrowRight"], ["ArrowLeft"])) document.activeElement.click();
    });
  }
  // Whoever points at the tab will choose it: its maps take seconds where PyTorch is not loaded yet.
  $("tab-inside").addEventListener("pointerenter", () => work.state === "ready" && showInside(sentences()));
  document.addEventListener("keydown", onShortcut);
  window.addEventListener("popstate", openAddress);
  window.addEventListener("online", () => work.failure && retry());
}

// Loads the server's languages and settings, without which nothing can be translated.
async function load() {
  try {
    const [languages, wanted] = await Promise.all([get("languages"), get("frontend/settings")]);
    Object.assign(settings, { characters: wanted.charLimit, terms: wanted.glossaryLimit, isLoaded: true });
    Object.assign(settings, { model: wanted.model, version: wanted.version });
    labelAbout();
    $("glossary").hidden = !settings.terms;
    labelGlossary();
    setLanguages(languages);
    showSamples("samples", translateSample);
    showSamples("inside-samples", inspectSample);
    selectDirection("auto", wanted.language.target.code);
    $("key-row").hidden = !wanted.keyRequired;
    setFormats(wanted.supportedFilesFormat);
    update({ failure: null, state: "" });
    if (currentEntry() || importQuery()) openAddress();
    else if ($("source").value) translate();
  } catch (error) {
    if (!error.kind) throw error;
    update({ state: "failed", failure: error });
  }
}

function start() {
  applyTheme(loadSetting("theme"));
  if (loadSetting("marks") === "off") {
    $("marks").checked = false;
    $("target").classList.add("plain");
  }
  subscribe(() => render());
  startView();
  startMenu();
  startFiles();
  startGlossary(translate);
  startEditor();
  startInside();
  startSpeech({
    source: () => ({ text: $("source").value, lang: source() }),
    target: () => ({ text: finalText(), lang: to() }),
  });
  listenToText();
  listenToSettings();
  changeLanguage(loadSetting("interface") ?? (navigator.language.startsWith("es") ? "es" : "en"));
  load();
}

start();
