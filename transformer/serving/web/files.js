// Files: chosen or dropped, uploaded, translated by the server, downloaded.

import { Failure, send } from "./api.js";
import { $, element } from "./dom.js";
import { toTsv } from "./glossary.js";
import { directionOf, from, to } from "./languages.js";
import { errorBox } from "./notices.js";
import { t, warning } from "./texts.js";
import { faultsIn } from "./translation.js";

const DETECT_BYTES = 4000; // bytes to detect a language by
const PROSE = /\.(txt|md|markdown|html?|srt|vtt)$/i; // that is all text, but for tags
const ALIASES = [".markdown", ".htm", ".yml", ".xlf"]; // other endings of what is named already
const MAX_UNFOLDED = 3; // warnings that are shown unfolded
let formats = [];
let stop = () => {};
let redraw = () => {}; // what the strip shows, in another language

const formatNames = () => formats.filter((one) => !ALIASES.includes(one)).map((ending) => ending.slice(1)).join(", ");

export function setFormats(endings) {
  formats = endings;
  $("file").accept = endings.join(",");
  labelFiles();
}

export function labelFiles() {
  $("formats").textContent = formats.length ? t("formats", formatNames(), formats.includes(".pdf")) : "";
  redraw();
}

export function dismissFile() {
  stop();
  stop = () => {};
  draw(() => []);
}

function draw(make) {
  redraw = () => $("carried").replaceChildren(...make());
  redraw();
}

function button(name, run) {
  const made = element("button", { type: "button", textContent: t(name) });
  made.addEventListener("click", run);
  return made;
}

// The direction of a file; what is not all text is recognised by the server.
async function directionOfFile(file) {
  if (from() !== "auto" || !PROSE.test(file.name)) return [from(), to()];
  return directionOf((await file.slice(0, DETECT_BYTES).text()).replace(/<[^>]*>/g, " "));
}

export async function sendFile(file) {
  if (!file) return;
  dismissFile();
  $("file").value = "";
  const shown = { arrived: 0 };
  const bar = element("progress", { max: 1, value: 0 });
  const clock = element("span", { className: "hint" });
  clock.setAttribute("aria-hidden", "true");
  const began = Date.now();
  const ticking = setInterval(() => {
    clock.textContent = t("seconds", Math.round((Date.now() - began) / 1000));
  }, 1000);
  try {
    const [source, target] = await directionOfFile(file);
    const said = element("span");
    draw(() => {
      said.textContent = t(shown.arrived < 1 ? "sending" : "reading", file.name, t(target));
      bar.setAttribute("aria-label", said.textContent);
      return [element("div", { className: "row" }, said, bar, clock, button("stop", dismissFile))];
    });
    const glossary = toTsv();
    const sent = send("translate_file", file, { source, target, ...(glossary && { glossary }) }, (share) => {
      shown.arrived = share;
      if (share < 1) bar.value = share;
      else bar.removeAttribute("value"); // how far the server is, it does not say
      if (share === 1) redraw();
    });
    stop = sent.stop;
    const { translatedFileUrl, warnings = [] } = await sent.answer;
    const path = new URL(translatedFileUrl, location.href).pathname;
    draw(() => [element("div", { className: "row done" },
      element("span", { textContent: t("fileReady", file.name) }),
      element("a", { href: path, download: "", textContent: t("download", nameFor(file.name, target, path.slice(path.lastIndexOf(".")))) }),
      button("dismiss", dismissFile)), ...warningDetails(warnings)]);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Failure)) throw error;
    draw(() => [failedBox(error, file)]);
  } finally {
    clearInterval(ticking);
    stop = () => {};
  }
}

// The name of a translated file, whose format may be another: a PDF becomes text.
const nameFor = (name, target, ending) => `${name.slice(0, name.lastIndexOf("."))}_${target}${ending}`;

// The warnings about a file, folded up if there are many.
function warningDetails(warnings) {
  const faults = faultsIn({ warnings }).map(warning);
  if (!faults.length) return [];
  return [element("details", { open: faults.length <= MAX_UNFOLDED },
    element("summary", { textContent: t("warnings") }),
    element("ul", {}, ...faults.map((fault) => element("li", { textContent: fault }))))];
}

function failedBox(failure, file) {
  const own = { refused: t("fileRefused", formatNames()), long: t("fileLong") }[failure.kind];
  const box = errorBox(failure, t("fileFailed", file.name), () => sendFile(file), own);
  box.querySelector(".row").append(button("dismiss", dismissFile));
  return box;
}

export function startFiles() {
  const area = $("translate");
  const bringsFiles = (event) => event.dataTransfer.types.includes("Files");
  $("pick").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => sendFile($("file").files[0]));
  area.addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    $("drop").classList.add("over");
  });
  area.addEventListener("dragleave", (event) => {
    if (!area.contains(event.relatedTarget)) $("drop").classList.remove("over");
  });
  area.addEventListener("drop", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    $("drop").classList.remove("over");
    sendFile(event.dataTransfer.files[0]);
  });
}
