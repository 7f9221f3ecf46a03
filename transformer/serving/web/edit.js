// The translation as a text field, so that it can be changed before it is copied.

import { $ } from "./dom.js";
import { t } from "./texts.js";
import { translatedText } from "./translation.js";

const isEdited = () => !$("edited").hidden;

// The translation as the reader has changed it.
export const finalText = () => (isEdited() ? $("edited").value : translatedText());

export function labelEditor() {
  $("edit").textContent = t(isEdited() ? "discardEdits" : "edit");
  $("edit").disabled = $("copy").disabled;
}

// Opens or closes the text field; closing it discards what was changed.
export function showEditor(isOpen) {
  $("edited").value = isOpen ? translatedText() : "";
  $("edited").lang = $("target").lang;
  $("edited").hidden = !isOpen;
  $("target").hidden = isOpen;
  labelEditor();
  if (isOpen) $("edited").focus();
}

export function startEditor() {
  $("edit").addEventListener("click", () => showEditor(!isEdited()));
}
