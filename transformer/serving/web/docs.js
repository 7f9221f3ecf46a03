// The API's documentation, drawn from /openapi.json, with examples that can be sent.

import { get } from "./api.js";
import { $, element, loadSetting } from "./dom.js";

const json = (value) => JSON.stringify(value, null, 1).replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_, inside) => `[${inside.replace(/\s*\n\s*/g, " ")}]`);

// A type in a word or two: "string or array of string".
function typeOf(schema) {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.enum) return schema.enum.map((one) => `"${one}"`).join(" or ");
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  return schema.format === "binary" ? "file" : schema.type ?? "any";
}

function fieldsOf(schema) {
  const isNeeded = (name) => schema.required.includes(name);
  const fields = Object.entries(schema.properties).sort(([a], [b]) => isNeeded(b) - isNeeded(a));
  return element("dl", { className: "fields" }, ...fields.map(([name, field]) => {
    const start = isNeeded(name) ? "required" : `optional${field.default == null ? "" : `: ${JSON.stringify(field.default)}`}`;
    return element("div", {},
      element("dt", {}, element("code", { textContent: name })),
      element("dd", { textContent: typeOf(field) }),
      element("dd", { textContent: [start, field.description].filter(Boolean).join("; ").replaceAll("`", "") }));
  }));
}

async function send(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  try {
    const answer = await fetch(path, body === undefined ? { method } : { method, headers, body });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json");
    return `${answer.status}\n${isJson ? json(JSON.parse(text)) : text}`;
  } catch (error) {
    return `no answer: ${error.message}`;
  }
}

// An example: an editable request and its answer.
function exampleOf(method, path, name, request, answer) {
  const shown = element("pre", { textContent: answer === undefined ? "" : json(answer), tabIndex: 0 });
  shown.setAttribute("aria-label", `Answer of ${path}, ${name}`);
  shown.setAttribute("role", "region");
  shown.setAttribute("aria-live", "polite");
  const text = request && element("textarea", { value: json(request), spellcheck: false });
  text?.setAttribute("aria-label", `Request of ${path}, ${name}`);
  const button = element("button", { type: "button", textContent: `${method} ${path}` });
  button.addEventListener("click", async () => {
    shown.textContent = "…";
    shown.textContent = await send(method, path, text?.value);
  });
  return element("div", { className: "example" }, element("h3", { textContent: name }),
    element("div", { className: "both" },
      element("div", {}, ...(text ? [text] : []), element("div", { className: "row" }, button)),
      element("div", {}, shown)));
}

function operationOf(path, method, described) {
  const body = described.requestBody?.content ?? {};
  const [media, asked] = Object.entries(body)[0] ?? [];
  const answers = Object.values(described.responses[200].content)[0].examples ?? {};
  const examples = Object.entries(asked?.examples ?? {});
  const refusals = Object.entries(described.responses).filter(([status]) => status >= 400);
  const parts = [
    element("h2", {}, element("span", { className: "method", textContent: method }), ` ${path}`),
    element("p", { textContent: `${described.summary}.` }),
    ...(described.description ? [element("pre", { textContent: described.description })] : []),
    ...(asked ? [element("p", { className: "hint", textContent: `As ${Object.keys(body).join(" or ")}` }), fieldsOf(asked.schema)] : []),
    ...examples.map(([name, { value }]) => exampleOf(method, path, name, value, answers[name]?.value)),
    ...(!media && !path.includes("{") ? [exampleOf(method, path, "Try it")] : []),
  ];
  if (refusals.length) {
    parts.push(element("p", { className: "hint", textContent: `Refusals: ${refusals.map(([status, { description }]) => `${status}, ${description}`).join("; ")}.` }));
  }
  return element("section", { className: "operation", id: described.operationId }, ...parts);
}

async function start() {
  document.documentElement.dataset.theme = loadSetting("theme") ?? "auto";
  try {
    const { info, paths } = await get("openapi.json");
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => [path, method.toUpperCase(), described]));
    $("name").textContent = `${info.title} · API ${info.version}`;
    $("about").textContent = info.description.replaceAll("`", "");
    $("list").replaceChildren(...operations.map(([path, method, { operationId, summary }]) => element("li", {},
      element("a", { href: `#${operationId}`, textContent: `${method} ${path}` }), ` ${summary}`)));
    $("operations").replaceChildren(...operations.map((one) => operationOf(...one)));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    if (!error.kind) throw error;
    $("failure").replaceChildren(element("p", { className: "error", textContent: "The server does not answer." }));
  }
}

start();
