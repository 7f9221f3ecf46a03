// Notices about a translation: errors, warnings, spelling, another language.

import { settings } from "./api.js";
import { $, element } from "./dom.js";
import { hideDetected } from "./languages.js";
import { language, number, t, warning } from "./texts.js";
import { faultsIn, foreignParagraphs, correctionsOf, isForeign, setCorrected, work } from "./translation.js";

// An error in the language of the page.
export function failureText({ kind, seconds }) {
  const text = t("failures")[kind];
  return typeof text === "function" ? text(seconds, number(settings.characters)) : text;
}

// A box for an error: what happened, what to do, a button to retry, the server's message.
export function errorBox(failure, title, retry, text = failureText(failure)) {
  const details = failure.reason && element("details", {},
    element("summary", { textContent: t("details") }),
    element("p", { lang: "en", textContent: failure.reason }));
  const button = element("button", { type: "button", textContent: t("again") });
  button.addEventListener("click", retry);
  return element("div", { className: "error" },
    element("strong", { textContent: title }),
    element("p", { textContent: text }),
    ...(details ? [details] : []),
    element("div", { className: "row" }, ...(failure.kind === "long" ? [] : [button])));
}

const quoted = (word) => (language() === "es" ? `«${word}»` : `“${word}”`);

const unique = (words) => [...new Set(words)];

// The notices: [text], or with an action [text, label of its button, function].
function noticeLines(translateFrom) {
  const { other, paragraphs } = work;
  const read = new Map(paragraphs.flatMap(correctionsOf));
  const kept = unique(paragraphs.flatMap((one) => one.kept ?? []));
  const words = [...read].map(([word, as]) => t("readAs", quoted(word), quoted(as))).join(", ");
  return [
    foreignParagraphs().length && [t("foreign")],
    other && [t("looksLike", t(other)), t("translateFrom", t(other)), () => translateFrom(other)],
    read.size && [`${t("spelling")} ${words}.`, t("asTyped"), () => setCorrected([...read.keys()], true)],
    kept.length && [`${t("keptAsTyped")} ${kept.map(quoted).join(", ")}.`, t("correct"), () => setCorrected(kept, false)],
  ].filter(Boolean);
}

// Draws only changed texts: a screen reader says them once, and a button keeps the focus.
function draw(box, texts, make) {
  const key = JSON.stringify(texts);
  if (box.dataset.said === key) return;
  const hadFocus = box.contains(document.activeElement);
  box.dataset.said = key;
  box.replaceChildren(...make());
  if (hadFocus) (box.querySelector("button") ?? $("source")).focus();
}

export function showNotices(translateFrom) {
  const notices = noticeLines(translateFrom);
  draw($("notices"), notices.map(([text]) => text), () => notices.map(([text, action, run]) => {
    if (!action) return element("p", {}, text);
    const button = element("button", { type: "button", className: "link", textContent: action });
    button.addEventListener("click", run);
    return element("p", {}, `${text} `, button);
  }));
  const foreign = foreignParagraphs();
  if (foreign.length === work.paragraphs.filter((one) => one.source.trim()).length) hideDetected();
  const faults = unique(work.paragraphs.flatMap(faultsIn)).filter((one) => !(foreign.length && isForeign(one))).map(warning);
  draw($("warnings"), faults, () => faults.map((fault) => element("li", { textContent: fault })));
  $("notices").hidden = !notices.length;
  $("doubts").hidden = !faults.length;
}

let shown = null; // the failure that is on the page

export function showFailure(retry) {
  const { failure } = work;
  const key = failure && `${language()} ${failure.kind} ${failure.seconds}`;
  if (key === shown?.key && failure === shown?.failure) return;
  shown = { key, failure };
  const hasOld = work.paragraphs.some((one) => (one.text ?? one.old)?.trim());
  $("target").parentElement.hidden = Boolean(failure) && !hasOld;
  $("failure").replaceChildren(...(failure ? [errorBox(failure, t(hasOld ? "failedOld" : "failed"), retry)] : []));
}
