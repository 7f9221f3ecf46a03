// The glossary: terms and how they are translated, kept by the browser, edited in two columns.

import { settings } from "./api.js";
import { $, element, remember, remembered } from "./dom.js";
import { to } from "./languages.js";
import { number, t } from "./texts.js";

const LANGUAGES = ["es", "en"]; // of the columns
const LONGEST = 100; // characters of a term, as the server has it
const PAUSE = 400; // milliseconds without a key before the text is translated anew
const MISSED = /^term (?:missing|doubled): (.*)$/s;
let rows = []; // [Spanish, English], the last one empty
let good = []; // of those that can be used: { pair, forms }
let problems = []; // what is against each row, or nothing
let missed = []; // targets that did not come out as they should
let timer = 0;
let changed = () => {};

const formsOf = (side) => side.split("|").map((form) => form.trim().replace(/\s+/g, " ").normalize("NFC"));
const isEmpty = (row) => row.every((side) => !side.trim());
const small = (text) => text.normalize("NFC").toLowerCase();

// The forms of a row, each with its own on the other side; null for a row that is none.
function pairsOf(row) {
  const sides = row.filter((side) => side.trim()).map(formsOf);
  const [left, right] = [sides[0], sides.at(-1)];
  const n = Math.max(left.length, right.length);
  const isWrong = sides.some((forms) => ![1, n].includes(forms.length) || forms.some((one) => !one || one.length > LONGEST));
  const at = (forms, i) => forms[forms.length > 1 ? i : 0];
  return isWrong ? null : Array.from({ length: n }, (_, i) => [at(left, i), at(right, i)]);
}

// Finds out which rows can be used, and what is against the others.
function judge() {
  const known = new Map();
  let n = 0;
  good = [];
  problems = rows.map((row) => {
    if (isEmpty(row)) return "";
    const pairs = pairsOf(row);
    if (!pairs) return t("termForms");
    if (pairs.some(([form, target]) => known.has(form) && known.get(form) !== target)) return t("termTwice");
    if (n + pairs.length > settings.terms) return t("termMany", number(settings.terms));
    n += pairs.length;
    for (const [form, target] of pairs) if (!known.has(form)) known.set(form, target);
    const pair = row.map((side) => side.trim()).filter(Boolean);
    good.push({ pair, forms: pair.flatMap(formsOf).map(small) });
    return "";
  });
  $("glossary-title").textContent = good.length ? t("terms", number(good.length)) : t("glossary");
  $("export").disabled = !good.length;
  mark();
}

// The terms that a text may hold, with the languages of the columns; null without any.
export function termsFor(text) {
  const said = small(text).replace(/\s+/g, " ");
  const own = good.filter(({ forms }) => forms.some((form) => said.includes(form)));
  return own.length ? [LANGUAGES, ...own.map(({ pair }) => pair)] : null;
}

// All of them as a file.
export function asFile() {
  return good.length ? [LANGUAGES, ...good.map(({ pair }) => pair)].map((row) => `${row.join("\t")}\n`).join("") : "";
}

// Whether a file is a CSV or of another kind, as the server has it: no tab in any row.
function isOther(text) {
  const lines = text.split("\n").filter((line) => line.trim() && !line.startsWith("#"));
  return !text.includes("\t") && 2 * lines.filter((line) => /\S[,;]\S|[<>={}]/.test(line)).length > lines.length;
}

// Rows of a file; without languages in its first row the columns are as it is translated now.
function parsed(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("#"));
  const columns = lines.map((line) => line.trimEnd().split("\t").map((side) => side.trim()));
  const head = columns[0]?.map(small).join(" ");
  const isNamed = head === "es en" || head === "en es";
  const isTurned = isNamed ? head === "en es" : to() === "es";
  const found = (isNamed ? columns.slice(1) : columns).filter((row) => row.length < 3);
  return [found.map(([left, right = ""]) => (isTurned && right ? [right, left] : [left, right])), lines.length - isNamed - found.length];
}

function save(isSoon) {
  remember("glossary", rows.filter((row) => !isEmpty(row)).map((row) => row.join("\t")).join("\n"));
  judge();
  clearTimeout(timer);
  timer = setTimeout(changed, isSoon ? 0 : PAUSE);
}

// Says of each row that is drawn what is against it, or that a translation does without it.
function mark() {
  [...$("terms").children].forEach((shown, i) => {
    const isMissed = !problems[i] && rows[i].some((side) => formsOf(side).some((form) => form && missed.includes(small(form))));
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

// Rows are drawn where they are seen: there may be thousands.
function draw() {
  $("terms").replaceChildren(...($("glossary").open ? rows.map(rowFor) : []));
  judge();
}

// What did not come out as it should is marked in its row.
export function showMissed(warnings) {
  missed = warnings.map((one) => MISSED.exec(one)?.[1]).filter(Boolean).map(small);
  mark();
}

async function take(file) {
  if (!file) return;
  const text = await file.text();
  $("import-file").value = "";
  if (isOther(text)) {
    $("glossary-said").textContent = t("noTerms", file.name);
    return;
  }
  const [found, n] = parsed(text);
  const there = new Set(rows.map((row) => row.join("\t")));
  const fresh = found.filter((row) => !there.has(row.join("\t")));
  rows.splice(-1, 0, ...fresh);
  draw();
  save(true);
  $("glossary-said").textContent = t("imported", number(fresh.length), n ? number(n) : "");
}

function give() {
  const url = URL.createObjectURL(new Blob([asFile()], { type: "text/tab-separated-values" }));
  element("a", { href: url, download: "glossary.tsv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function speakGlossary() {
  $("glossary-said").textContent = "";
  draw();
}

export function startGlossary(whenChanged) {
  changed = whenChanged;
  const kept = (remembered("glossary") ?? "").split("\n").filter(Boolean);
  rows = [...kept.map((line) => [...line.split("\t"), ""].slice(0, 2)), ["", ""]];
  $("import").addEventListener("click", () => $("import-file").click());
  $("import-file").addEventListener("change", () => take($("import-file").files[0]));
  $("export").addEventListener("click", give);
  $("glossary").addEventListener("toggle", draw);
  $("terms").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("input")) return;
    event.preventDefault();
    event.target.closest("li").nextElementSibling?.querySelector("input").focus();
  });
}
