// The walk step by step, maps that answer the pointer and the keyboard, every head large.
// Without it all steps stand one below the other, and all numbers are there.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const theme = (() => {
  try {
    return localStorage.getItem("theme"); // what was chosen on the translator's page
  } catch {
    return null; // storage is forbidden
  }
})();
if (theme) document.documentElement.dataset.theme = theme;

// The top bar: a way back only where there is a server; the other language at the same stop.

if (location.protocol.startsWith("http")) document.getElementById("home").hidden = false;
let place = location.hash;
addEventListener("scroll", () => {
  const passed = all("main > section").filter((section) => section.getBoundingClientRect().top < innerHeight / 2);
  const before = place;
  place = passed.length ? `#${passed.at(-1).id}` : "";
  if (place !== before) progress();
}, { passive: true });
progress();
function progress() {
  const stop = /^#stop-(\d+)$/.exec(place);
  document.getElementById("progress").textContent = stop ? ` ${stop[1]}/${all(".stop").length}` : "";
  for (const link of all("#contents a"))
    link.hash === place ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
}
for (const link of all(".top [hreflang]"))
  link.addEventListener("click", () => { link.hash = place === "#walk" ? current() : place; });

// The walk

const walk = document.querySelector(".walk");
const steps = all(".step", walk);
const places = all(".places a", walk);
const [back, next] = all("button", walk.querySelector(".controls"));
let at = 0;

function current() {
  return `#walk-${at + 1}`;
}

function show(number, tell = true) {
  at = Math.max(0, Math.min(steps.length - 1, number));
  steps.forEach((step, i) => { step.hidden = i !== at; });
  places.forEach((link, i) => (i === at ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current")));
  back.setAttribute("aria-disabled", at === 0);
  next.setAttribute("aria-disabled", at === steps.length - 1);
  const told = [at + 1, steps.length, places[at].title];
  if (tell) walk.querySelector(".status").textContent = walk.dataset.of.replace(/\{\}/g, () => told.shift());
  mark();
}

function named() {
  const found = /^#walk-(\d+)$/.exec(location.hash);
  if (found) show(Number(found[1]) - 1);
  return found !== null;
}

function begin() {
  walk.classList.add("on");
  for (const element of [back, next, walk.querySelector(".keys")]) element.hidden = false;
  back.addEventListener("click", () => show(at - 1));
  next.addEventListener("click", () => show(at + 1));
  places.forEach((link, i) => link.addEventListener("click", (event) => {
    event.preventDefault();
    show(i);
  }));
  walk.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (to === undefined || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(to);
    if (document.activeElement.closest(".step")) (at ? next : back).focus(); // what had the focus is hidden
  });
  show(0, false);
  if (named()) walk.scrollIntoView();
  addEventListener("hashchange", () => named() && walk.scrollIntoView());
}

// Maps: the cell that is pointed at, or reached by the arrow keys, is read off below.

function read(cell) {
  const table = cell.closest("table");
  const figure = table.closest("figure");
  const row = cell.parentElement;
  const column = table.tHead.rows[0].cells[cell.cellIndex];
  for (const lit of all(".lit, .here", table)) lit.classList.remove("lit", "here");
  row.classList.add("lit");
  column.classList.add("lit");
  cell.classList.add("here");
  const line = figure.querySelector(".reading");
  line.textContent = line.dataset.says
    .replace("{row}", row.cells[0].textContent)
    .replace("{column}", column.textContent)
    .replace("{value}", cell.dataset.v);
}

function reach(cell, focus) {
  for (const other of all("[tabindex]", cell.closest("table"))) other.tabIndex = -1;
  cell.tabIndex = 0;
  if (focus) cell.focus();
}

const AWAY = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function answer(table) {
  const body = table.tBodies[0];
  table.setAttribute("role", "grid");
  reach(body.querySelector(".chosen td") ?? body.querySelector("td"), false);
  body.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("[data-v]");
    if (cell) read(cell);
  });
  body.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-v]");
    if (cell) reach(cell, true);
  });
  body.addEventListener("focusin", (event) => read(event.target.closest("[data-v]")));
  body.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-v]");
    if (!cell || !(event.key in AWAY) || event.altKey || event.ctrlKey || event.metaKey) return;
    const [down, right] = AWAY[event.key];
    const other = body.rows[cell.parentElement.sectionRowIndex + down]?.cells[cell.cellIndex + right];
    event.preventDefault(); // the walk stays where it is, too
    if (other?.matches("[data-v]")) reach(other, true);
  });
}

// All heads: the one that is chosen stands large in the map below them.

function choose(button) {
  const figure = button.closest(".explorer");
  const rows = figure.querySelector("tbody").rows;
  for (const other of all(".head", figure)) other.setAttribute("aria-pressed", other === button);
  button.dataset.w.split(";").forEach((line, i) => line.split(" ").forEach((text, j) => {
    const cell = rows[i].cells[j + 1];
    const weight = Number(text) / 1000;
    cell.className = `h${Math.round(20 * weight)}`;
    cell.dataset.v = weight.toFixed(3);
    cell.textContent = Math.round(100 * weight) || "";
  }));
  const name = button.querySelector("span").textContent;
  const large = figure.querySelector(".grid");
  large.querySelector("figcaption").textContent = name;
  large.querySelector("table").setAttribute("aria-label", name);
  const line = large.querySelector(".reading");
  const here = large.querySelector(".here");
  if (here) read(here);
  else line.textContent = `${name}: ${button.querySelector(".role").textContent}`;
}

// What scrolls sideways says so, and can be scrolled by keyboard.
function mark() {
  for (const box of all(".scroll")) {
    const wide = box.scrollWidth > box.clientWidth;
    box.classList.toggle("wide", wide);
    fade(box);
    if (wide && !box.querySelector("[tabindex]")) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

function fade(box) {
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
}

all("[data-heat]").forEach(answer);
for (const button of all(".head")) button.addEventListener("click", () => choose(button));
begin();
addEventListener("resize", mark);
addEventListener("toggle", mark, { capture: true });
addEventListener("scroll", ({ target }) => target.classList?.contains("scroll") && fade(target), { capture: true, passive: true });
mark();
