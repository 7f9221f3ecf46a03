// The texts of the page, in the two languages of its interface.

export const TEXTS = {
  en: {
    tour: "How attention works, step by step", api: "API for programs",
    about: (model, version) => `Transformer ${version}, model “${model}”. Works offline: no text goes to another server. Licence: Apache 2.0.`,
    title: "Spanish–English", skip: "To the text", views: "Views",
    translate: "Translate", translateKeys: "Translate at once (Ctrl+Enter)", inside: "See inside", interface: "Language of this page",
    themes: { auto: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" },
    key: "API key", from: "Translate from", to: "Translate to", swap: "Swap languages", swapKeys: "Swap languages (Ctrl+Shift+S)",
    auto: "Detect language", es: "Spanish", en: "English",
    recognised: (name) => `${name} · auto`, recognisedAs: (name, share) => `Detected: ${name} (${share})`,
    source: "Text to translate", placeholder: "Type or paste a text",
    blank: "Translation",
    target: "Translation. Arrow keys move between words, Enter shows other words.",
    characters: (n, most) => `${n} of ${most}`,
    clear: "Clear", paste: "Paste", listen: "Listen", samples: "Examples", copy: "Copy", edit: "Edit", discardEdits: "Discard changes", edited: "Translation, to edit", link: "Copy link", linkTitle: "An address that opens this text", noLink: "The text is too long for an address",
    recent: "Earlier texts of this visit",
    copied: "Copied", notCopied: "This browser does not let the page copy: select the text yourself.",
    notPasted: "This browser does not let the page paste: hold a finger on the text field.",
    states: {
      working: "Translating…", ready: "Translated", same: "The text is already in this language.",
      dark: "Translated. Its words cannot be looked into just now.", failed: "",
    },
    hint: "Point at a word to see where it comes from; click it for other words.", hintTouch: "Tap a word for other words.",
    unsure: "Marked", unsureMeans: "where the model was unsure",
    sure: (share) => `probability ${share}`,
    otherWords: (word) => `Instead of “${word}”`, searching: "Looking for other words…",
    none: "No other word is likely here.", standsThere: "as it stands", close: "Close",
    lookAtWord: "See inside this word",
    warnings: "Please check the translation:",
    faults: {
      "repetition": "words repeat", "copied source": "a part was not translated", "empty": "nothing came out",
      "too short": "it is suspiciously short", "too long": "it is suspiciously long",
      "number lost": "a number is missing", "number added": "a number is not in the text",
      "sign lost": "a sign is missing", "name changed": "a name is not as it was",
      "quotation marks": "quotation marks are not in pairs",
      "missing": "missing", "doubled": "doubled",
      "term missing": "a term of the glossary is missing", "term doubled": "a term is there too often",
      "does not read like Spanish": "the text does not read like Spanish",
      "does not read like English": "the text does not read like English",
      "unsure": "the model is very unsure of it",
      "comes out as plain text, without pictures, tables, columns and fonts": "of a PDF comes the text alone, without pictures, tables, columns and fonts",
    },
    glossary: "Glossary", terms: (n) => `Glossary (${n})`,
    glossaryHint: "Terms are translated as they stand here. A term with nothing beside it stays as it is. "
      + "Forms go between bars, in the same order: perro|perros – dog|dogs.",
    term: (name, i) => `${name}, term ${i}`, removeTerm: "Remove the term", removeTermOf: (i) => `Remove term ${i}`,
    termForms: "Not used: each form needs its other, of at most 100 characters.", termTwice: "Not used: this term has another translation above.",
    termMany: (n) => `Not used: the server takes ${n} terms at most.`,
    termMissed: "Not as the glossary says in this translation.",
    noTerms: (name) => `${name} is no glossary: no tab in any row. Is it a CSV? Each row needs a term, a tab and its translation.`,
    importTerms: "Import", exportTerms: "Export", imported: (n, bad) => `Added: ${n}${bad ? `. Rows that are no pair: ${bad}` : ""}.`,
    spelling: "Spelling:", readAs: (word, as) => `${word} read as ${as}`, asTyped: "Keep as typed",
    keptAsTyped: "Kept as typed:", correct: "Correct it",
    foreign: "This seems to be in another language, or a part of it: only Spanish and English can be translated here.",
    looksLike: (name) => `This looks like ${name}.`, translateFrom: (name) => `Translate from ${name}`,
    failed: "Not translated", failedOld: "Not translated – below is what stood here before",
    details: "What the server said", again: "Try again",
    failures: {
      offline: "The server does not answer. Is it running, and are you connected?",
      key: "The server wants an API key, or does not know this one. Enter it above.",
      often: (seconds) => `Too many requests in a short time. Wait ${seconds ? `${seconds} seconds` : "a moment"}, then try again.`,
      busy: "The server is busy just now. Try again in a moment.",
      late: "The text did not reach the server in time. Try again.",
      long: (_, most) => `The text is too long${most ? `: at most ${most} characters` : ""}. Translate it in parts, or as a file.`,
      refused: "The server cannot translate this.", gone: "This is no longer on the server.",
      noMaps: "This server cannot show attention: it runs without PyTorch.",
      broken: "Something went wrong in the server. Try again; if it stays so, it is a defect.",
    },
    pick: "Translate a file", dropHere: "or drop it here.",
    formats: (list, hasPdf) => `Formats: ${list}. Layout and formatting stay${hasPdf ? "; of a PDF comes the text alone" : ""}.`,
    sending: (name, to) => `Sending ${name} …`, reading: (name, to) => `Translating ${name} to ${to} …`,
    seconds: (n) => `${n} s`, stop: "Stop",
    fileReady: (name) => `${name} is translated.`, download: (name) => `Download ${name}`, dismiss: "Dismiss",
    fileFailed: (name) => `${name} was not translated`,
    fileRefused: (list) => `The file cannot be read. Its content must be what its name says, one of ${list}.`,
    fileLong: "The file is too large.",
    sentence: "A sentence to look into", look: "Look inside", looking: "Looking inside… The first time takes some seconds.", which: "Sentence",
    first: "First step", back: "Step back", forward: "Step forward", last: "Last step", step: "Step",
    at: (step, n) => `Step ${step} of ${n}`,
    read: "Read", written: "Written", next: "The ten likeliest next tokens",
    chips: "Pieces as the model reads and writes them: ␣ begins a word, ⟨/s⟩ ends the sentence, ⟨2en⟩ or ⟨2es⟩ says "
      + "which language to write. The more a step looked at a piece, the stronger its colour. Choose a written piece to go to its step, a read one to go "
      + "to the step that looked at it most.",
    mask: "The no-peek mask", maskHint: "Each position may look at itself and at what came before.",
    attention: "Attention", cross: "Target looks at source", decoderSelf: "Target looks at target",
    encoderSelf: "Source looks at source", head: "Layer and head",
    layer: (layer) => `Layer ${layer}`, layerHead: (layer, head) => `Layer ${layer}, head ${head}`, mean: "Mean of all",
    mapHint: "A row per position that looks, a column per position looked at; the stronger the colour, the more.",
    headHint: "A head is named after what gets most of its attention in this sentence, if that is two fifths or more.",
    roles: {
      previous: "previous word", same: "the word itself", next: "next word", start: "start mark", end: "end mark",
      punctuation: "punctuation", aligned: "word translated", before: "word before it", after: "word after it",
      even: "all evenly", mixed: "mixed",
    },
    said: (piece, share, looked) => `Wrote ${piece} (${share}), looking at ${looked}.`,
    nothing: "Type a sentence, or choose one of these, and see how the model translates it, step by step.", notInside: "Not looked into",
    tooMuch: "The server cannot look into this. One sentence of ordinary length, in the language chosen, is best.",
  },
  es: {
    tour: "Cómo funciona la atención, paso a paso", api: "API para programas",
    about: (model, version) => `Transformer ${version}, modelo «${model}». Funciona sin conexión: ningún texto va a otro servidor. Licencia: Apache 2.0.`,
    title: "Español–inglés", skip: "Ir al texto", views: "Vistas",
    translate: "Traducir", translateKeys: "Traducir ya (Ctrl+Intro)", inside: "Ver por dentro", interface: "Idioma de esta página",
    themes: { auto: "Colores: como el sistema", light: "Colores: claros", dark: "Colores: oscuros" },
    key: "Clave de API", from: "Traducir de", to: "Traducir a", swap: "Intercambiar idiomas", swapKeys: "Intercambiar idiomas (Ctrl+Mayús+S)",
    auto: "Detectar idioma", es: "Español", en: "Inglés",
    recognised: (name) => `${name} · auto`, recognisedAs: (name, share) => `Detectado: ${name.toLowerCase()} (${share})`,
    source: "Texto que traducir", placeholder: "Escribe o pega un texto",
    blank: "Traducción",
    target: "Traducción. Las flechas pasan de palabra en palabra, Intro muestra otras palabras.",
    characters: (n, most) => `${n} de ${most}`,
    clear: "Borrar", paste: "Pegar", listen: "Escuchar", samples: "Ejemplos", copy: "Copiar", edit: "Editar", discardEdits: "Descartar cambios", edited: "Traducción, para editar", link: "Copiar enlace", linkTitle: "Una dirección que abre este texto", noLink: "El texto es demasiado largo para una dirección",
    recent: "Textos anteriores de esta visita",
    copied: "Copiado", notCopied: "Este navegador no deja copiar a la página: selecciona el texto tú.",
    notPasted: "Este navegador no deja pegar a la página: mantén el dedo en el campo de texto.",
    states: {
      working: "Traduciendo…", ready: "Traducido", same: "El texto ya está en este idioma.",
      dark: "Traducido. Ahora mismo no se pueden ver sus palabras por dentro.", failed: "",
    },
    hint: "Señala una palabra para ver de dónde viene; púlsala para ver otras.", hintTouch: "Toca una palabra para ver otras.",
    unsure: "Marcado", unsureMeans: "donde el modelo dudaba",
    sure: (share) => `probabilidad ${share}`,
    otherWords: (word) => `En lugar de «${word}»`, searching: "Buscando otras palabras…",
    none: "Aquí no hay otra palabra probable.", standsThere: "como está", close: "Cerrar",
    lookAtWord: "Ver esta palabra por dentro",
    warnings: "Revisa la traducción:",
    faults: {
      "repetition": "se repiten palabras", "copied source": "una parte está sin traducir", "empty": "no salió nada",
      "too short": "es sospechosamente corta", "too long": "es sospechosamente larga",
      "number lost": "falta un número", "number added": "un número no está en el texto",
      "sign lost": "falta un signo", "name changed": "un nombre no es el que era",
      "quotation marks": "las comillas no van por pares",
      "missing": "falta", "doubled": "repetido",
      "term missing": "falta un término del glosario", "term doubled": "un término está de más",
      "does not read like Spanish": "el texto no parece español",
      "does not read like English": "el texto no parece inglés",
      "unsure": "el modelo está muy poco seguro",
      "comes out as plain text, without pictures, tables, columns and fonts": "de un PDF sale solo el texto, sin imágenes, tablas, columnas ni tipos de letra",
    },
    glossary: "Glosario", terms: (n) => `Glosario (${n})`,
    glossaryHint: "Los términos se traducen como están aquí. El que no tiene nada al lado se queda como es. "
      + "Las formas van entre barras, en el mismo orden: perro|perros – dog|dogs.",
    term: (name, i) => `${name}, término ${i}`, removeTerm: "Quitar el término", removeTermOf: (i) => `Quitar el término ${i}`,
    termForms: "Sin usar: cada forma necesita la suya, de 100 caracteres como mucho.", termTwice: "Sin usar: este término tiene otra traducción más arriba.",
    termMany: (n) => `Sin usar: el servidor admite ${n} términos como mucho.`,
    termMissed: "No está como dice el glosario en esta traducción.",
    noTerms: (name) => `${name} no es un glosario: ninguna fila tiene un tabulador. ¿Es un CSV? Cada fila lleva un término, un tabulador y su traducción.`,
    importTerms: "Importar", exportTerms: "Exportar", imported: (n, bad) => `Añadidos: ${n}${bad ? `. Filas que no son un par: ${bad}` : ""}.`,
    spelling: "Ortografía:", readAs: (word, as) => `${word} leído como ${as}`, asTyped: "Dejar como está escrito",
    keptAsTyped: "Sin corregir:", correct: "Corregir",
    foreign: "Esto parece estar en otro idioma, o una parte: aquí solo se traducen español e inglés.",
    looksLike: (name) => `Esto parece ${name.toLowerCase()}.`, translateFrom: (name) => `Traducir del ${name.toLowerCase()}`,
    failed: "Sin traducir", failedOld: "Sin traducir: abajo está lo que había antes",
    details: "Lo que dijo el servidor", again: "Reintentar",
    failures: {
      offline: "El servidor no responde. ¿Está en marcha y tienes conexión?",
      key: "El servidor pide una clave de API o no conoce esta. Escríbela arriba.",
      often: (seconds) => `Demasiadas peticiones en poco tiempo. Espera ${seconds ? `${seconds} segundos` : "un momento"} y reintenta.`,
      busy: "El servidor está ocupado. Reintenta dentro de un momento.",
      late: "El texto no llegó a tiempo al servidor. Reintenta.",
      long: (_, most) => `El texto es demasiado largo${most ? `: como mucho ${most} caracteres` : ""}. Tradúcelo por partes o como archivo.`,
      refused: "El servidor no puede traducir esto.", gone: "Esto ya no está en el servidor.",
      noMaps: "Este servidor no puede mostrar la atención: funciona sin PyTorch.",
      broken: "Algo falló en el servidor. Reintenta; si sigue igual, es un defecto.",
    },
    pick: "Traducir un archivo", dropHere: "o suéltalo aquí.",
    formats: (list, hasPdf) => `Formatos: ${list}. Se conservan el diseño y el formato${hasPdf ? "; de un PDF sale solo el texto" : ""}.`,
    sending: (name, to) => `Enviando ${name} …`, reading: (name, to) => `Traduciendo ${name} al ${to.toLowerCase()} …`,
    seconds: (n) => `${n} s`, stop: "Parar",
    fileReady: (name) => `${name} está traducido.`, download: (name) => `Descargar ${name}`, dismiss: "Quitar",
    fileFailed: (name) => `${name} no se tradujo`,
    fileRefused: (list) => `No se puede leer el archivo. Su contenido tiene que ser lo que dice su nombre, uno de ${list}.`,
    fileLong: "El archivo es demasiado grande.",
    sentence: "Una frase para ver por dentro", look: "Ver por dentro", looking: "Mirando por dentro… La primera vez tarda unos segundos.", which: "Frase",
    first: "Primer paso", back: "Paso atrás", forward: "Paso adelante", last: "Último paso", step: "Paso",
    at: (step, n) => `Paso ${step} de ${n}`,
    read: "Leído", written: "Escrito", next: "Los diez siguientes más probables",
    chips: "Trozos tal como el modelo los lee y escribe: ␣ empieza palabra, ⟨/s⟩ cierra la frase y ⟨2en⟩ o ⟨2es⟩ "
      + "dice en qué idioma escribir. Cuanto más miró un paso a un trozo, más color. Elige un trozo escrito para ir a su paso, o uno leído para ir al paso que "
      + "más lo miró.",
    mask: "La máscara del futuro", maskHint: "Cada posición puede mirarse a sí misma y a las anteriores.",
    attention: "Atención", cross: "El destino mira al origen", decoderSelf: "El destino se mira a sí mismo",
    encoderSelf: "El origen se mira a sí mismo", head: "Capa y cabeza",
    layer: (layer) => `Capa ${layer}`, layerHead: (layer, head) => `Capa ${layer}, cabeza ${head}`, mean: "Media de todas",
    mapHint: "Una fila por posición que mira, una columna por posición mirada; cuanto más color, más.",
    headHint: "Una cabeza lleva el nombre de lo que más atiende en esta frase, si es dos quintos o más.",
    roles: {
      previous: "palabra anterior", same: "la misma palabra", next: "palabra siguiente", start: "marca inicial",
      end: "marca final", punctuation: "puntuación", aligned: "palabra traducida", before: "la de antes",
      after: "la de después", even: "todas por igual", mixed: "mezcla",
    },
    said: (piece, share, looked) => `Escribió ${piece} (${share}) mirando a ${looked}.`,
    nothing: "Escribe una frase o elige una de estas y mira cómo la traduce el modelo, paso a paso.", notInside: "No se pudo ver por dentro",
    tooMuch: "El servidor no puede ver esto por dentro. Lo mejor: una sola frase corriente en el idioma elegido.",
  },
};

let current = TEXTS.en;

export const t = (key, ...values) => {
  const text = current[key] ?? key;
  return typeof text === "function" ? text(...values) : text;
};

export const language = () => (current === TEXTS.es ? "es" : "en");

export const number = (value) => new Intl.NumberFormat(language()).format(value);

export const percent = (share) =>
  new Intl.NumberFormat(language(), { style: "percent", maximumSignificantDigits: 2 }).format(share);

// A warning of the server, of which the code stays the same: `number lost: 15`.
export function warning(text) {
  const [code, ...about] = text.split(": ");
  return [current.faults[code] ?? code, ...about].join(": ");
}

// Sets the language of the page and rewrites all its texts.
export function setLanguage(code) {
  current = TEXTS[code] ?? TEXTS.en;
  document.documentElement.lang = language();
  const set = (name, write) => {
    for (const one of document.querySelectorAll(`[data-${name}]`)) write(one, t(one.dataset[name]));
  };
  set("t", (one, text) => { one.textContent = text; });
  set("label", (one, text) => one.setAttribute("aria-label", text));
  set("blank", (one, text) => one.style.setProperty("--blank", JSON.stringify(text)));
  set("title", (one, text) => { one.title = text; });
  set("placeholder", (one, text) => { one.placeholder = text; });
  for (const one of document.querySelectorAll("[data-t=tour]")) one.href = `tour?lang=${language()}`;
  document.title = t("title");
}
