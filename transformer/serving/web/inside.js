// The decoder step by step: the token, its alternatives, the attention.

import { Failure, post } from "./api.js";
import { $, element } from "./dom.js";
import { meanOf, rolesOf } from "./heads.js";
import { heatMap, thumbnail } from "./heat.js";
import { directionOf } from "./languages.js";
import { errorBox } from "./notices.js";
import { percent, t } from "./texts.js";

const MEAN = { layer: -1, head: -1 }; // of all layers and heads
let traced = null; // the server's answer about the sentence
let current = null; // the sentence that is inspected
let failure = null;
let isBusy = false; // the server is asked about the sentence
let target = Infinity; // the step to go to when it has answered
let retry = () => {}; // the request to repeat after a failure
let sentences = []; // of the text: { source, target, ids, from, to }
let selection = { kind: "cross", ...MEAN };

const piece = (text) => text.replaceAll("▁", "␣").replace(/^<(.+)>$/, "⟨$1⟩");
const isSame = (a, b) => a && b && ["source", "target", "from", "to"].every((name) => a[name] === b[name]);
const step = () => Number($("step").value) - 1;

// Asks about a sentence of the text, or the one that is open; `at` is a step, else the last.
export function showInside(textSentences, one = null, at = Infinity) {
  sentences = textSentences;
  $("which-row").hidden = sentences.length < 2;
  $("which").replaceChildren(...sentences.map(({ source }, i) =>
    element("option", { value: i, textContent: source.trim() })));
  const wanted = one ?? sentences.find((known) => isSame(known, current)) ?? sentences[0];
  if (!wanted) return draw();
  if (isSame(wanted, current) && (traced || isBusy)) {
    $("which").value = sentences.findIndex((known) => isSame(known, current));
    if (one && isBusy) target = at;
    else if (one) goToStep(at);
    return draw();
  }
  return look(wanted, at);
}

export async function look(sentence, at = Infinity) {
  [current, target, isBusy, failure] = [sentence, at, true, null];
  retry = () => look(sentence, at);
  $("sentence").value = sentence.source.trim();
  $("which").value = sentences.findIndex((known) => isSame(known, sentence));
  draw();
  try {
    const { source: q, from, to, ids } = sentence;
    const fields = { q, source: from, target: to, attention: true };
    const found = ids ? await post("continue_after", { ...fields, prefix: ids })
      : (await post("inspect", fields)).parts.find((part) => part.steps);
    if (current !== sentence) return;
    if (!found) throw new Failure("tooMuch");
    traced = found;
  } catch (error) {
    if (current !== sentence) return;
    if (!(error instanceof Failure)) throw error;
    [traced, failure] = [null, error];
  }
  isBusy = false;
  if (failure) return draw();
  $("step").max = traced.targetPieces.length;
  selection = { ...selection, ...MEAN };
  goToStep(target);
}

async function lookAtTyped(text) {
  retry = () => lookAtTyped(text);
  try {
    const [from, to] = await directionOf(text);
    await look({ source: text, from, to });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    [traced, failure] = [null, error];
    draw();
  }
}

function goToStep(to) {
  $("step").value = Math.max(1, Math.min(Number($("step").max), to));
  draw();
}

function weights() {
  const maps = traced[selection.kind];
  return selection.layer < 0 ? meanOf(maps) : maps[selection.layer][selection.head];
}

// The pieces of the rows and of the columns of a kind of attention.
function pieces(kind) {
  const { sourcePieces: source, targetPieces: target } = traced;
  const read = ["<s>", ...target.slice(0, -1)];
  return { encoder: [source, source], decoder: [read, read], cross: [target, source] }[kind];
}

function labels(kind) {
  const [rows, columns] = pieces(kind);
  const shown = columns.map(piece);
  return [rows === columns ? shown : rows.map(piece), shown];
}

function showFailure() {
  const own = failure && ["tooMuch", "refused"].includes(failure.kind) ? t("tooMuch") : undefined;
  $("trouble").replaceChildren(...(failure ? [errorBox(failure, t("notInside"), retry, own)] : []));
}

function showBusy(is) {
  if (is === Boolean($("busy").firstChild)) return;
  $("busy").replaceChildren(...(is ? [element("progress", { ariaHidden: "true" }), t("looking")] : []));
}

export function draw() {
  if ($("inside").hidden) return;
  showFailure();
  showBusy(isBusy);
  $("decoder").hidden = !traced;
  $("nothing").hidden = Boolean(traced || failure || isBusy);
  if (!traced) return;
  const n = traced.targetPieces.length;
  $("at").textContent = t("at", step() + 1, n);
  $("back").disabled = $("first").disabled = step() === 0;
  $("forward").disabled = $("last").disabled = step() === n - 1;
  drawPieces();
  drawChoices();
  drawMaps();
}

// A piece as a button that goes to a step; `light` from 0 to 1.
function chip(text, name, light, goTo, title) {
  const made = element("button", { type: "button", className: name, textContent: text, title });
  made.style.setProperty("--light", light);
  made.addEventListener("click", () => goToStep(goTo + 1));
  return made;
}

function drawPieces() {
  const now = step();
  const focused = document.activeElement?.classList.contains("chip") ? document.activeElement : null;
  const place = focused && [focused.parentElement.id, [...focused.parentElement.children].indexOf(focused)];
  const looked = meanOf(traced.cross);
  const row = looked[now];
  const most = Math.max(...row);
  $("reads").replaceChildren(...traced.sourcePieces.map((text, j) => {
    const column = looked.map((shares) => shares[j]);
    return chip(piece(text), "chip", row[j] / most, column.indexOf(Math.max(...column)), percent(row[j]));
  }));
  $("writes").replaceChildren(...traced.targetPieces.map((text, i) => {
    const name = i === now ? "chip now" : i < now ? "chip" : "chip later";
    const made = chip(i <= now ? piece(text) : "·", name, 0, i, t("at", i + 1, traced.targetPieces.length));
    made.setAttribute("aria-label", i <= now ? piece(text) : made.title);
    if (i === now) made.setAttribute("aria-current", "step");
    return made;
  }));
  if (place) $(place[0]).children[place[1]]?.focus();
  const best = row.map((share, j) => [share, j]).sort((a, b) => b[0] - a[0]).slice(0, 3);
  const names = best.map(([share, j]) => `${piece(traced.sourcePieces[j])} ${percent(share)}`).join(", ");
  $("said").textContent = t("said", piece(traced.targetPieces[now]), percent(traced.probabilities[now]), names);
}

function drawChoices() {
  const rows = traced.steps[step()].map(([text, share]) => {
    const bar = element("span", { className: "fill" });
    bar.style.width = `${100 * share}%`;
    const row = element("tr", {},
      element("th", { scope: "row", textContent: piece(text) }),
      element("td", { className: "share-bar" }, bar),
      element("td", { textContent: percent(share) }));
    row.classList.toggle("now", text === traced.targetPieces[step()]);
    return row;
  });
  $("choices").tBodies[0].replaceChildren(...rows);
}

function drawMaps() {
  const [read] = labels("decoder");
  const mask = read.map((_, i) => read.map((_, j) => (j <= i ? 1 : 0)));
  $("mask").replaceChildren(heatMap(mask, read, read, step(), $("mask").clientWidth, t("mask")));
  const upTo = selection.kind === "encoder" ? null : step();
  const [rows, columns] = labels(selection.kind);
  $("map").replaceChildren(heatMap(weights(), rows, columns, upTo, $("map").clientWidth, t("attention")));
  drawHeads(upTo);
}

// All layers and heads, small and by name; a click makes one large.
function drawHeads(upTo) {
  const maps = traced[selection.kind];
  const roles = rolesOf(selection.kind, maps, pieces(selection.kind)[1]);
  const options = maps.map((heads, layer) => heads.map((_, head) => {
    const { role, share } = roles[layer][head];
    const name = t("roles")[role];
    const measured = share ? `${name} ${percent(share)}` : name;
    return { layer, head, measured, title: `${t("layerHead", layer + 1, head + 1)}: ${measured}` };
  }));
  $("head").replaceChildren(element("option", { value: "-1 -1", textContent: t("mean") }),
    ...options.flat().map(({ layer, head, title }) => element("option", { value: `${layer} ${head}`, textContent: title })));
  $("head").value = `${selection.layer} ${selection.head}`;
  const focused = [...$("heads").querySelectorAll("button")].indexOf(document.activeElement);
  $("heads").replaceChildren(...options.map((heads, layer) => element("div", { className: "layer" },
    element("span", { className: "hint", textContent: t("layer", layer + 1) }), ...heads.map((one) => {
    const button = element("button", { type: "button", title: one.title },
      thumbnail(maps[one.layer][one.head], upTo), element("span", { textContent: one.measured }));
    const is = one.layer === selection.layer && one.head === selection.head;
    button.setAttribute("aria-label", one.title);
    button.setAttribute("aria-pressed", String(is));
    button.addEventListener("click", () => choose(is ? MEAN : one));
    return button;
  }))));
  if (focused >= 0) $("heads").querySelectorAll("button")[focused]?.focus({ preventScroll: true });
}

function choose({ layer, head }) {
  selection = { ...selection, layer, head };
  drawMaps();
}

export function startInside() {
  $("look").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("sentence").value.trim().toWellFormed();
    if (text) lookAtTyped(text);
  });
  $("which").addEventListener("change", () => look(sentences[$("which").value]));
  $("step").addEventListener("input", draw);
  const moves = { first: () => 1, back: () => step(), forward: () => step() + 2, last: () => Infinity };
  for (const [id, to] of Object.entries(moves)) $(id).addEventListener("click", () => goToStep(to()));
  $("decoder").addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.target.classList.contains("map")) return;
    if (event.key === "ArrowLeft") goToStep(step());
    if (event.key === "ArrowRight") goToStep(step() + 2);
  });
  $("kind").addEventListener("change", () => {
    selection = { kind: $("kind").value, ...MEAN };
    drawMaps();
  });
  $("head").addEventListener("change", () => {
    const [layer, head] = $("head").value.split(" ").map(Number);
    choose({ layer, head });
  });
  window.addEventListener("resize", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "lang"] });
}
