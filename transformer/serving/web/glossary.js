// The glossary: terms and their translations, stored by the browser, edited in two columns.

import { settings } from "./api.js";
import { $, element, saveSetting, loadSetting } from "./dom.js";
import { to } from "./languages.js";
import { number, t } from "./texts.js";

const LANGUAGES = ["es", "en"]; // of the columns
const LONGEST = 100; // characters of a term, as the server has it
const PAUSE = 400; // milliseconds without a key before the text is translated anew
const MISSED = /^term (?:missing|doubled): (.*)$/s;
let rows = []; // [Spanish, English], the last one empty
let validRows = []; // { pair, forms } of each row that can be used
let problems = []; // why a row cannot be used, or an empty text
let missedTerms = []; // terms that the translation lacks or has too often
let timer = 0;
let onChange = () => {};

const formsOf = (side) => side.split("|").map((form) => form.trim().replace(/\s+/g, " ").normalize("NFC"));
const isEmpty = (row) => row.every((side) => !side.trim());
const normalize = (text) => text.normalize("NFC").toLowerCase();

// The pairs of forms of a row; null if the sides do not match.
function pairsOf(row) {
  const sides = row.filter((side) => side.trim()).map(formsOf);
  const [left, right] = [sides[0], sides.at(-1)];
  const n = Math.max(left.length, right.length);
  const isWrong = sides.some((forms) => ![1, n].includes(forms.length) || forms.some((one) => !one || one.length > LONGEST));
  const at = (forms, i) => forms[forms.length > 1 ? i : 0];
  return isWrong ? null : Array.from({ length: n }, (_, i) => [at(left, i), at(right, i)]);
}

// Finds the rows that can be used, and the problems of the others.
function validate() {
  const known = new Map();
  let n = 0;
  validRows = [];
  problems = rows.map((row) => {
    if (isEmpty(row)) return "";
    const pairs = pairsOf(row);
    if (!pairs) return t("termForms");
    if (pairs.some(([form, target]) => known.has(form) && known.get(form) !== target)) return t("termTwice");
    if (n + pairs.length > settings.terms) return t("termMany", number(settings.terms));
    n += pairs.length;
    for (const [form, target] of pairs) if (!known.has(form)) known.set(form, target);
    const pair = row.map((side) => side.trim()).filter(Boolean);
    validRows.push({ pair, forms: pair.flatMap(formsOf).map(normalize) });
    return "";
  });
  $("glossary-title").textContent = validRows.length ? t("terms", number(validRows.length)) : t("glossary");
  $("export").disabled = !validRows.length;
  markRows();
}

// The terms that a text may hold, with the languages of the columns; null without any.
export function termsFor(text) {
  const said = normalize(text).replace(/\s+/g, " ");
  const own = validRows.filter(({ forms }) => forms.some((form) => said.includes(form)));
  return own.length ? [LANGUAGES, ...own.map(({ pair }) => pair)] : null;
}

// All terms as the content of a file.
export function toTsv() {
  return validRows.length ? [LANGUAGES, ...validRows.map(({ pair }) => pair)].map((row) => `${row.join("\t")}\n`).join("") : "";
}

// Whether a file is a CSV or of another kind, as the server has it: no tab after a term in any row.
function isOtherFormat(text) {
  const lines = text.split("\n").filter((line) => line.trim() && !line.startsWith("#"));
  return !lines.some((line) => /\S.*\t.*\S/.test(line)) && 2 * lines.filter((line) => /\S[,;]\S|[<>={}]/.test(line)).length > lines.length;
}

// Rows of a file; without languages in its first row the columns are as it is translated now.
function parseTsv(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("#"));
  const columns = lines.map((line) => line.trimEnd().split("\t").map((side) => side.trim()));
  const head = columns[0]?.map(normalize).join(" ");
  const isNamed = head === "es en" || head === "en es";
  const isTurned = isNamed ? head === "en es" : to() === "es";
  const found = (isNamed ? columns.slice(1) : columns).filter((row) => row.length < 3);
  return [found.map(([left, right = ""]) => (isTurned && right ? [right, left] : [left, right])), lines.length - isNamed - found.length];
}

function save(isSoon) {
  saveSetting("glossary", rows.filter((row) => !isEmpty(row)).map((row) => row.join("\t")).join("\n"));
  validate();
  clearTimeout(timer);
  timer = setTimeout(onChange, isSoon ? 0 : PAUSE);
}

// Shows in each row its problem, or that the translation does not have its term.
function markRows() {
  [...$("terms").children].forEach((shown, i) => {
    const isMissed = !problems[i] && rows[i].some((side) => formsOf(side).some((form) => form && missedTerms.includes(normalize(form))));
    const text = problems[i] || (isMissed ? t("termMissed") : "");
    shown.classList.toggle("missed", Boolean(text));
    if (shown.lastChild.textContent !== text) shown.lastChild.textContent = text;
  });
}

function rowFor(row, i) {
  const inputs = row.map((side, column) => {
    const input = element("input", { value: side, lang: LANGUAGES[column], autocomplete: "off" });
    input.setAttribute("aria-label", t("term", t(LANGUAGES[column]), i + 1));
    input.addEventListener("input", () => {
      row[column] = input.value;
      if (row === rows.at(-1)) add(["", ""]);
      save();
    });
    return input;
  });
  const remove = element("button", { type: "button", className: "icon", textContent: "✕", title: t("removeTerm") });
  remove.setAttribute("aria-label", t("removeTermOf", i + 1));
  remove.addEventListener("click", () => {
    if (row !== rows.at(-1)) rows.splice(rows.indexOf(row), 1);
    draw();
    save(true);
    $("terms").children[Math.min(i, rows.length - 1)].querySelector("input").focus();
  });
  return element("li", {}, ...inputs, remove, element("span", { className: "hint", role: "status" }));
}

function add(row) {
  rows.push(row);
  $("terms").append(rowFor(row, rows.length - 1));
}

// Draws the rows only while the glossary is open: there may be thousands.
function draw() {
  $("terms").replaceChildren(...($("glossary").open ? rows.map(rowFor) : []));
  validate();
}

// Marks the rows whose terms the translation lacks or has too often.
export function markMissedTerms(warnings) {
  missedTerms = warnings.map((one) => MISSED.exec(one)?.[1]).filter(Boolean).map(normalize);
  markRows();
}

async function importFile(file) {
  if (!file) return;
  const text = await file.text();
  $("import-file").value = "";
  if (isOtherFormat(text)) {
    $("glossary-said").textContent = t("noTerms", file.name);
    return;
  }
  const [found, n] = parseTsv(text);
  const there = new Set(rows.map((row) => row.join("\t")));
  const fresh = found.filter((row) => !there.has(row.join("\t")));
  rows.splice(-1, 0, ...fresh);
  draw();
  save(true);
  $("glossary-said").textContent = t("imported", number(fresh.length), n ? number(n) : "");
}

function exportFile() {
  const url = URL.createObjectURL(new Blob([toTsv()], { type: "text/tab-separated-values" }));
  element("a", { href: url, download: "glossary.tsv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function labelGlossary() {
  $("glossary-said").textContent = "";
  draw();
}

export function startGlossary(onChanged) {
  onChange = onChanged;
  const kept = (loadSetting("glossary") ?? "").split("\n").filter(Boolean);
  rows = [...kept.map((line) => [...line.split("\t"), ""].slice(0, 2)), ["", ""]];
  $("import").addEventListener("click", () => $("import-file").click());
  $("import-file").addEventListener("change", () => importFile($("import-file").files[0]));
  $("export").addEventListener("click", exportFile);
  $("glossary").addEventListener("toggle", draw);
  $("terms").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("input")) return;
    event.preventDefault();
    event.target.closest("li").nextElementSibling?.querySelector("input").focus();
  });
}
