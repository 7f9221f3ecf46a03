// What the page says, in the two languages of its interface.

export const TEXTS = {
  en: {
    title: "Spanish–English", skip: "To the text", views: "Views",
    translate: "Translate", inside: "See inside",
    interface: "Language of this page", theme: "Light, dark, or as the system",
    key: "API key", from: "Translate from", to: "Translate to", swap: "Swap languages",
    source: "Text to translate", placeholder: "Type, paste, or drop a file here",
    target: "Translation. Arrow keys move between words, Enter shows alternatives.",
    clear: "Clear", file: "File…", copy: "Copy", copied: "Copied",
    working: "Translating…", ready: "Translated", failed: "Not translated: ",
    same: "The text is already in this language.",
    hint: "Point at a word to see what it attended to. Click one for other words. Dotted: the model was unsure.",
    alternatives: "Alternatives", end: "(end)", none: "No alternatives",
    warnings: "Warnings", detect: "Detect language", es: "Spanish", en: "English",
    characters: (n, most) => `${n} / ${most}`,
    download: (name) => `Download ${name}`, reading: (name) => `Translating ${name}…`,
    sentence: "A sentence to look into", look: "Look inside",
    first: "First step", back: "Step back", forward: "Step forward", last: "Last step", step: "Step",
    at: (step, n) => `Step ${step} of ${n}`,
    read: "Read:", written: "Written:", next: "The ten likeliest next tokens",
    mask: "The no-peek mask", maskHint: "Each position may look at itself and at what came before.",
    attention: "Attention", cross: "Target looks at source", decoderSelf: "Target looks at target",
    encoderSelf: "Source looks at source", head: "Layer and head",
    layerHead: (layer, head) => `Layer ${layer}, head ${head}`, mean: "Mean of all",
    mapHint: "A row per position that looks, a column per position looked at; the stronger the colour, the more.",
    said: (piece, share, looked) => `Wrote ${piece} (${share}), looking at ${looked}.`,
    nothing: "Nothing to look into: type a sentence.",
    sure: (share) => `probability ${share}`,
    faults: {
      "repetition": "Words repeat", "copied source": "Not translated", "empty": "Nothing came out",
      "too short": "Suspiciously short", "too long": "Suspiciously long",
      "number lost": "A number is missing", "missing": "Missing", "doubled": "Doubled",
    },
  },
  es: {
    title: "Español–inglés", skip: "Ir al texto", views: "Vistas",
    translate: "Traducir", inside: "Ver por dentro",
    interface: "Idioma de esta página", theme: "Claro, oscuro o como el sistema",
    key: "Clave de API", from: "Traducir de", to: "Traducir a", swap: "Intercambiar idiomas",
    source: "Texto que traducir", placeholder: "Escribe, pega o suelta aquí un archivo",
    target: "Traducción. Las flechas pasan de palabra en palabra, Intro muestra alternativas.",
    clear: "Borrar", file: "Archivo…", copy: "Copiar", copied: "Copiado",
    working: "Traduciendo…", ready: "Traducido", failed: "Sin traducir: ",
    same: "El texto ya está en este idioma.",
    hint: "Señala una palabra para ver a qué atendió. Pulsa una para ver otras. Punteada: el modelo dudaba.",
    alternatives: "Alternativas", end: "(fin)", none: "No hay alternativas",
    warnings: "Avisos", detect: "Detectar idioma", es: "Español", en: "Inglés",
    characters: (n, most) => `${n} / ${most}`,
    download: (name) => `Descargar ${name}`, reading: (name) => `Traduciendo ${name}…`,
    sentence: "Una frase para ver por dentro", look: "Ver por dentro",
    first: "Primer paso", back: "Paso atrás", forward: "Paso adelante", last: "Último paso", step: "Paso",
    at: (step, n) => `Paso ${step} de ${n}`,
    read: "Leído:", written: "Escrito:", next: "Los diez siguientes más probables",
    mask: "La máscara del futuro", maskHint: "Cada posición puede mirarse a sí misma y a las anteriores.",
    attention: "Atención", cross: "El destino mira al origen", decoderSelf: "El destino se mira a sí mismo",
    encoderSelf: "El origen se mira a sí mismo", head: "Capa y cabeza",
    layerHead: (layer, head) => `Capa ${layer}, cabeza ${head}`, mean: "Media de todas",
    mapHint: "Una fila por posición que mira, una columna por posición mirada; cuanto más color, más.",
    said: (piece, share, looked) => `Escribió ${piece} (${share}) mirando a ${looked}.`,
    nothing: "Nada que ver: escribe una frase.",
    sure: (share) => `probabilidad ${share}`,
    faults: {
      "repetition": "Se repiten palabras", "copied source": "Sin traducir", "empty": "No salió nada",
      "too short": "Demasiado corta", "too long": "Demasiado larga",
      "number lost": "Falta un número", "missing": "Falta", "doubled": "Repetido",
    },
  },
};

let current = TEXTS.en;

export const t = (key, ...values) => {
  const text = current[key] ?? key;
  return typeof text === "function" ? text(...values) : text;
};

export const language = () => (current === TEXTS.es ? "es" : "en");

export function warning(text) {
  const [code, ...about] = text.split(": ");
  return [current.faults[code] ?? code, ...about].join(": ");
}

// Writes every text of the page anew.
export function speak(code) {
  current = TEXTS[code] ?? TEXTS.en;
  document.documentElement.lang = language();
  const set = (name, write) => {
    for (const one of document.querySelectorAll(`[data-${name}]`)) write(one, t(one.dataset[name]));
  };
  set("t", (one, text) => { one.textContent = text; });
  set("label", (one, text) => one.setAttribute("aria-label", text));
  set("title", (one, text) => { one.title = text; });
  set("placeholder", (one, text) => { one.placeholder = text; });
  document.title = t("title");
}

export const percent = (share) =>
  new Intl.NumberFormat(language(), { style: "percent", maximumSignificantDigits: 2 }).format(share);
