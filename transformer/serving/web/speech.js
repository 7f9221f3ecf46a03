// Reads a text aloud, with voices of this device only: those of a network would get the text.

import { $ } from "./dom.js";
import { t } from "./texts.js";

const speech = window.speechSynthesis;
const sides = {}; // of each side, "source" and "target": a function that returns { text, lang }
let speaking = null; // the side that is read aloud

const voiceFor = (lang) =>
  speech?.getVoices().find((voice) => voice.localService && voice.lang.split(/[-_]/)[0] === lang);

// Shows a button for each side that has a text and a voice.
export function showSpeech() {
  for (const [side, read] of Object.entries(sides)) {
    const { text, lang } = read();
    const button = $(`listen-${side}`);
    button.hidden = !text.trim() || !voiceFor(lang);
    button.textContent = side === speaking ? "■" : "▶";
    button.title = button.ariaLabel = t(side === speaking ? "stop" : "listen");
  }
}

export function stopSpeech() {
  speech?.cancel();
  speaking = null;
}

function toggle(side) {
  const wasSpeaking = side === speaking;
  stopSpeech();
  if (!wasSpeaking) {
    const { text, lang } = sides[side]();
    const spoken = new SpeechSynthesisUtterance(text);
    Object.assign(spoken, { voice: voiceFor(lang), lang });
    spoken.onend = () => {
      if (speaking === side) speaking = null;
      showSpeech();
    };
    speaking = side;
    speech.speak(spoken);
  }
  showSpeech();
}

export function startSpeech(readers) {
  Object.assign(sides, readers);
  for (const side of Object.keys(sides)) $(`listen-${side}`).addEventListener("click", () => toggle(side));
  speech?.addEventListener("voiceschanged", showSpeech); // they come late
}
