// The two panes: paragraphs side by side, scrolled together, words highlighted by attention.

import { $, element } from "./dom.js";
import { to } from "./languages.js";
import { percent, t } from "./texts.js";
import { inspectParagraphs, work } from "./translation.js";
import { highlight, sourceNodes, targetNodes } from "./words.js";

let rows = []; // of each paragraph what is drawn: { paragraph, stamp, left, right }
let tops = [[], []]; // where the paragraphs begin, in the left and in the right pane
let frame = 0;
let timer = 0;
const PAUSE = 100; // milliseconds before the paragraphs in view are inspected
const rowOf = new WeakMap(); // of an element in the right pane
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) rowOf.get(target).isSeen = isIntersecting;
  scheduleInspection();
});

function scheduleInspection() {
  clearTimeout(timer);
  if (work.state !== "ready") return;
  timer = setTimeout(() => inspectParagraphs(rows.filter((row) => row.isSeen).map((row) => row.paragraph)), PAUSE);
}

const describe = (share) => t("sure", percent(share));

export const targetWords = () => [...$("target").querySelectorAll(".word")];

// Draws the paragraphs that have changed, or all, as after a change of language.
export function showText({ isForced = false } = {}) {
  const { paragraphs, state } = work;
  const focused = document.activeElement?.place;
  $("target").lang = to();
  $("target").setAttribute("aria-busy", String(state === "working"));
  $("target").classList.toggle("old", state === "failed");
  for (const row of rows.splice(paragraphs.length)) {
    watcher.unobserve(row.right);
    row.left.remove();
    row.right.remove();
  }
  paragraphs.forEach((paragraph, i) => {
    const row = rows[i] ?? createRow(i);
    if (!isForced && row.paragraph === paragraph && row.stamp === paragraph.stamp) return;
    Object.assign(row, { paragraph, stamp: paragraph.stamp });
    row.left.replaceChildren(...sourceNodes(paragraph));
    row.right.replaceChildren(...(paragraph.source.trim() ? targetNodes(paragraph, describe) : [element("br")]));
    row.right.classList.toggle("stale", paragraph.text === undefined);
  });
  restoreFocus(focused);
  scheduleInspection();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(alignParagraphs);
}

function createRow(i) {
  const row = { left: element("div"), right: element("div") };
  $("shadow").append(row.left);
  $("target").append(row.right);
  rowOf.set(row.right, row);
  watcher.observe(row.right);
  return (rows[i] = row);
}

// Gives the focus back to a redrawn word; the first word is always reachable by Tab.
function restoreFocus(place) {
  if (place && document.activeElement === document.body) {
    const again = targetWords().find((span) => span.place.i === place.i && span.place.part.source === place.part.source);
    if (again) again.tabIndex = 0;
    again?.focus({ preventScroll: true });
  }
  const first = $("target").querySelector(".word");
  if (first && !$("target").querySelector(".word[tabindex='0']")) first.tabIndex = 0;
}

// Aligns each paragraph with its source, or puts it after the one before if that is longer.
function alignParagraphs() {
  const source = $("source");
  $("shadow").style.width = `${source.clientWidth}px`;
  const areBeside = getComputedStyle($("panes")).getPropertyValue("--beside").trim() === "1";
  const left = rows.map((row) => row.left.offsetTop);
  for (const row of rows) row.right.classList.remove("low");
  const heights = rows.map((row) => row.right.offsetHeight);
  let end = rows.length ? left[0] : 0;
  const right = rows.map((row, i) => {
    const isBlank = !row.paragraph.source.trim();
    // An empty line gives half of itself to what the paragraphs before it have too much.
    const isLow = areBeside && isBlank && end > left[i];
    row.right.classList.toggle("low", isLow);
    const start = areBeside ? Math.max(left[i], end) : end;
    row.right.style.marginTop = areBeside ? `${start - end}px` : "";
    end = start + (isLow ? heights[i] / 2 : heights[i]);
    return start;
  });
  tops = [left, right];
  scrollShadow();
  if (source.scrollTop) syncScroll(0); // it may have been scrolled before there was a translation
}

// Scrolls the words behind the text field with it.
function scrollShadow() {
  $("shadow").scrollTop = $("source").scrollTop;
}

// Maps a scroll height of one pane to the other.
function mapScroll(height, from, to) {
  let i = from.findLastIndex((top) => top <= height);
  if (i < 0) return height;
  i = Math.min(i, from.length - 2);
  if (i < 0) return to[0] + height - from[0];
  const share = (height - from[i]) / Math.max(1, from[i + 1] - from[i]);
  return to[i] + share * (to[i + 1] - to[i]);
}

let syncedPane = null; // the pane that was scrolled with the other one: its scroll event is not the reader's

function syncScroll(side) {
  const panes = [$("source"), $("target")];
  const [pane, other] = [panes[side], panes[1 - side]];
  const before = other.scrollTop;
  const isAtEnd = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1;
  other.scrollTop = isAtEnd ? other.scrollHeight : mapScroll(pane.scrollTop, tops[side], tops[1 - side]);
  if (other.scrollTop !== before) syncedPane = other;
}

function scrollTogether() {
  [$("source"), $("target")].forEach((pane, side) => pane.addEventListener("scroll", () => {
    if (side === 0) scrollShadow();
    if (syncedPane !== pane) syncScroll(side);
    else syncedPane = null;
  }));
}

function pointAt(place) {
  for (const row of rows) {
    const isNear = row.paragraph === place?.paragraph;
    if (isNear || row.isLit) highlight([...row.left.children, ...row.right.children].filter((one) => one.place), isNear ? place : null);
    row.isLit = isNear;
  }
}

function sourceWordAt(x, y) {
  return [...$("shadow").querySelectorAll("span")].find((span) =>
    [...span.getClientRects()].some((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom));
}

export function startView() {
  const { source, target } = { source: $("source"), target: $("target") };
  source.addEventListener("mousemove", (event) => pointAt(sourceWordAt(event.clientX, event.clientY)?.place));
  for (const name of ["mouseover", "focusin"]) target.addEventListener(name, (event) => pointAt(event.target.place));
  for (const name of ["mouseleave", "focusout"]) target.addEventListener(name, () => pointAt(null));
  source.addEventListener("mouseleave", () => pointAt(null));
  scrollTogether();
  new ResizeObserver(() => alignParagraphs()).observe(source);
}
