// What is said about a translation: errors, doubts, spelling, another language.

import { settings } from "./api.js";
import { $, element } from "./dom.js";
import { language, number, t, warning } from "./texts.js";
import { faultsOf, slipsOf, spell, work } from "./translation.js";

// An error in the language of the page.
export function explained({ kind, seconds }) {
  const text = t("failures")[kind];
  return typeof text === "function" ? text(seconds, number(settings.characters)) : text;
}

// An error as a box: what happened, what to do, once more, and what the server said.
export function errorBox(failure, title, again, text = explained(failure)) {
  const details = failure.reason && element("details", {},
    element("summary", { textContent: t("details") }),
    element("p", { lang: "en", textContent: failure.reason }));
  const button = element("button", { type: "button", textContent: t("again") });
  button.addEventListener("click", again);
  return element("div", { className: "error" },
    element("strong", { textContent: title }),
    element("p", { textContent: text }),
    ...(details ? [details] : []),
    element("div", { className: "row" }, button));
}

const quoted = (word) => (language() === "es" ? `«${word}»` : `“${word}”`);

function line(text, action, run) {
  const button = element("button", { type: "button", className: "link", textContent: action });
  button.addEventListener("click", run);
  return element("p", {}, `${text} `, button);
}

const unique = (words) => [...new Set(words)];

// Quiet lines, each with something to do about it.
export function showNotices(translateFrom) {
  const lines = [];
  const { other, paragraphs } = work;
  if (other) lines.push(line(t("looksLike", t(other)), t("translateFrom", t(other)), () => translateFrom(other)));
  const read = new Map(paragraphs.flatMap(slipsOf));
  if (read.size) {
    const words = [...read].map(([word, as]) => t("readAs", quoted(word), quoted(as))).join(", ");
    lines.push(line(`${t("spelling")} ${words}.`, t("asTyped"), () => spell([...read.keys()], true)));
  }
  const kept = unique(paragraphs.flatMap((one) => one.kept ?? []));
  if (kept.length) {
    lines.push(line(`${t("keptAsTyped")} ${kept.map(quoted).join(", ")}.`, t("correct"), () => spell(kept, false)));
  }
  $("notices").replaceChildren(...lines);
  $("notices").hidden = !lines.length;
  const faults = unique(paragraphs.flatMap(faultsOf));
  $("warnings").replaceChildren(...faults.map((one) => element("li", { textContent: warning(one) })));
  $("doubts").hidden = !faults.length;
}

let shown = null; // the failure that is on the page

export function showFailure(again) {
  const { failure } = work;
  const key = failure && `${language()} ${failure.kind} ${failure.seconds}`;
  if (key === shown?.key && failure === shown?.failure) return;
  shown = { key, failure };
  const hasOld = work.paragraphs.length > 0;
  $("failure").replaceChildren(...(failure ? [errorBox(failure, t(hasOld ? "failedOld" : "failed"), again)] : []));
}
