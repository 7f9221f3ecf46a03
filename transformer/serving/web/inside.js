// The decoder at work: one token a step, what it might have said, and where it looked.

import { post } from "./api.js";
import { percent, t } from "./texts.js";
import { element } from "./words.js";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
let seen = null; // what the server told of the sentence
let asked = { text: "", from: "es", to: "en" };
let chosen = { kind: "cross", layer: -1, head: -1 }; // -1: the mean of all

const piece = (text) => text.replaceAll("▁", "␣").replace("</s>", "⟨/s⟩");

export function showInside(part, from, to) {
  const text = part?.source ?? $("sentence").value;
  if (part && (text !== asked.text || from !== asked.from || part.target !== seen?.target)) {
    $("sentence").value = text;
    look(text, from, to, part.ids);
  } else {
    asked = { ...asked, from, to };
    if (!seen) $("trouble").textContent = t("nothing");
    else draw();
  }
}

async function look(text, from, to, ids) {
  asked = { text, from, to };
  $("trouble").textContent = "";
  const fields = { q: text, source: from, target: to, attention: true };
  try {
    let found;
    if (ids) found = await post("continue_after", { ...fields, prefix: ids });
    else found = (await post("inspect", fields)).parts.find((one) => one.steps);
    if (!found) throw new Error(t("nothing"));
    seen = found;
  } catch (error) {
    seen = null;
    $("decoder").hidden = true;
    $("trouble").textContent = error.message;
    return;
  }
  $("decoder").hidden = false;
  $("step").max = seen.targetPieces.length;
  $("step").value = 1;
  chosen = { ...chosen, layer: -1, head: -1 };
  draw();
}

function go(step) {
  $("step").value = Math.max(1, Math.min(Number($("step").max), step));
  draw();
}

// The weights of the chosen layer and head, or their mean: rows that look, columns looked at.
function weights(kind = chosen.kind, layer = chosen.layer, head = chosen.head) {
  const maps = seen[kind];
  if (layer >= 0) return maps[layer][head];
  const all = maps.flat();
  return all[0].map((row, i) => row.map((_, j) => all.reduce((sum, one) => sum + one[i][j], 0) / all.length));
}

function labels(kind) {
  const source = seen.sourcePieces.map(piece);
  const read = ["⟨s⟩", ...seen.targetPieces.slice(0, -1).map(piece)];
  return { encoder: [source, source], decoder: [read, read], cross: [seen.targetPieces.map(piece), source] }[kind];
}

export function draw() {
  if (!seen || $("inside").hidden) return;
  const step = Number($("step").value) - 1;
  const n = seen.targetPieces.length;
  $("at").textContent = t("at", step + 1, n);
  $("back").disabled = $("first").disabled = step === 0;
  $("forward").disabled = $("last").disabled = step === n - 1;
  drawPieces(step);
  drawChoices(step);
  fillHeads();
  const [read] = labels("decoder");
  const mask = read.map((_, i) => read.map((_, j) => (j <= i ? 1 : 0)));
  $("mask").replaceChildren(heat(mask, read, read, step, $("mask").clientWidth, "mask"));
  const [rows, columns] = labels(chosen.kind);
  const upTo = chosen.kind === "encoder" ? null : step;
  $("map").replaceChildren(heat(weights(), rows, columns, upTo, $("map").clientWidth, "attention"));
  drawHeads(upTo);
}

function drawPieces(step) {
  const looked = weights("cross", -1, -1)[step];
  const most = Math.max(...looked);
  $("reads").replaceChildren(...seen.sourcePieces.map((one, i) => {
    const chip = element("span", { className: "chip", textContent: piece(one), title: percent(looked[i]) });
    chip.style.setProperty("--light", looked[i] / most);
    return chip;
  }));
  $("writes").replaceChildren(...seen.targetPieces.map((one, i) => element("span", {
    className: i === step ? "chip now" : i < step ? "chip" : "chip later",
    textContent: i <= step ? piece(one) : "·",
  })));
  const best = looked.map((share, i) => [share, i]).sort((a, b) => b[0] - a[0]).slice(0, 3);
  const names = best.map(([share, i]) => `${piece(seen.sourcePieces[i])} ${percent(share)}`).join(", ");
  $("said").textContent = t("said", piece(seen.targetPieces[step]), percent(seen.probabilities[step]), names);
}

function drawChoices(step) {
  const rows = seen.steps[step].map(([text, share]) => {
    const bar = element("span", { className: "fill" });
    bar.style.width = `${100 * share}%`;
    const row = element("tr", {},
      element("th", { scope: "row", textContent: piece(text) }),
      element("td", { className: "bar" }, bar),
      element("td", { textContent: percent(share) }));
    row.classList.toggle("now", text === seen.targetPieces[step]);
    return row;
  });
  $("choices").tBodies[0].replaceChildren(...rows);
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A heat map; rows after `step` are not yet there, its own is framed.
function heat(values, rows, columns, step, room, name) {
  const wide = Math.max(...rows.map((one) => one.length)) * 7.5 + 8;
  const size = Math.max(18, Math.min(34, Math.floor((room - wide - 34) / columns.length)));
  const isSquare = rows === columns; // then the columns are the same tokens, some still to come
  const high = Math.max(...columns.map((one) => one.length)) * 6 + 10;
  const width = wide + size * columns.length + 34;
  const height = high + size * rows.length + 4;
  const cells = [];
  columns.forEach((text, j) => {
    const x = wide + size * (j + 0.65);
    const shown = isSquare && step !== null && j > step ? "·" : text;
    cells.push(svg("text", { x, y: high - 6, transform: `rotate(-50 ${x} ${high - 6})` }, shown));
  });
  rows.forEach((text, i) => {
    const y = high + size * i;
    const later = step !== null && i > step;
    cells.push(svg("text", { x: wide - 5, y: y + size / 2 + 4, "text-anchor": "end", class: later ? "later" : "" }, later ? "·" : text));
    columns.forEach((column, j) => {
      const share = values[i][j];
      const cell = svg("rect", { x: wide + size * j, y, width: size - 1, height: size - 1, class: "cell" });
      const fill = svg("rect", {
        x: wide + size * j, y, width: size - 1, height: size - 1, class: later ? "none" : "fill",
        "fill-opacity": later ? 0 : Math.sqrt(share).toFixed(3),
      }, svg("title", {}, `${text} → ${column}: ${percent(share)}`));
      cells.push(cell, fill);
    });
  });
  if (step !== null) {
    const y = high + size * step - 1;
    cells.push(svg("rect", { x: wide - 1, y, width: size * columns.length + 1, height: size + 1, class: "frame" }));
  }
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, ...cells);
  made.setAttribute("aria-label", t(name));
  return made;
}

function fillHeads() {
  const maps = seen[chosen.kind];
  const options = [element("option", { value: "-1 -1", textContent: t("mean") })];
  maps.forEach((heads, layer) => heads.forEach((_, head) => options.push(
    element("option", { value: `${layer} ${head}`, textContent: t("layerHead", layer + 1, head + 1) }))));
  $("head").replaceChildren(...options);
  $("head").value = `${chosen.layer} ${chosen.head}`;
}

// All layers and heads, small; a click makes one large.
function drawHeads(upTo) {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim();
  const made = seen[chosen.kind].map((heads, layer) => element("div", { className: "layer" }, ...heads.map((values, head) => {
    const canvas = element("canvas", { width: values[0].length, height: values.length });
    const brush = canvas.getContext("2d");
    brush.fillStyle = ink;
    values.forEach((row, i) => row.forEach((share, j) => {
      brush.globalAlpha = upTo !== null && i > upTo ? 0 : Math.sqrt(share);
      brush.fillRect(j, i, 1, 1);
    }));
    const button = element("button", { type: "button", title: t("layerHead", layer + 1, head + 1) }, canvas);
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-pressed", String(layer === chosen.layer && head === chosen.head));
    button.addEventListener("click", () => {
      const is = layer === chosen.layer && head === chosen.head;
      chosen = { ...chosen, layer: is ? -1 : layer, head: is ? -1 : head };
      draw();
    });
    return button;
  })));
  $("heads").replaceChildren(...made);
}

export function startInside() {
  $("look").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("sentence").value.trim();
    if (text) look(text, asked.from, asked.to);
  });
  $("step").addEventListener("input", draw);
  const now = () => Number($("step").value);
  $("first").addEventListener("click", () => go(1));
  $("back").addEventListener("click", () => go(now() - 1));
  $("forward").addEventListener("click", () => go(now() + 1));
  $("last").addEventListener("click", () => go(Infinity));
  $("inside").addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT"].includes(event.target.tagName) || !seen) return;
    if (event.key === "ArrowLeft") go(now() - 1);
    if (event.key === "ArrowRight") go(now() + 1);
  });
  $("kind").addEventListener("change", () => {
    chosen = { kind: $("kind").value, layer: -1, head: -1 };
    draw();
  });
  $("head").addEventListener("change", () => {
    const [layer, head] = $("head").value.split(" ").map(Number);
    chosen = { ...chosen, layer, head };
    draw();
  });
  window.addEventListener("resize", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "lang"] });
}
