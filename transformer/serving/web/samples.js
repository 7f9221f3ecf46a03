// Texts to begin with, for a page where nothing is typed yet.

import { $, element } from "./dom.js";
import { targetsOf } from "./languages.js";

const SAMPLES = [
  ["es", "¿Dónde está la estación de tren más cercana?"],
  ["en", "We met in Madrid ten years ago, in the rain."],
  ["es", "Mi abuela hace el mejor pan del pueblo."],
];

// Draws a button for each sample whose language is served; `choose` gets its language and text.
export function showSamples(id, choose) {
  const served = SAMPLES.filter(([lang]) => targetsOf(lang).length);
  $(id).replaceChildren(...served.map(([lang, text]) => {
    const button = element("button", { type: "button", lang, textContent: text });
    button.addEventListener("click", () => choose(lang, text));
    return button;
  }));
}
