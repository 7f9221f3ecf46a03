// Requests to the server. What fails throws a Failure: its kind, and when to retry.

export const settings = { key: "", characters: 20000, terms: 0, model: "", version: "", isLoaded: false };

const KINDS = { 400: "refused", 403: "key", 404: "gone", 408: "late", 413: "long", 429: "often", 501: "noMaps", 503: "busy" };

export class Failure extends Error {
  // `kind` names a text of the page, `reason` is the server's own message, in English.
  constructor(kind, { reason = "", seconds = 0 } = {}) {
    super(reason || kind);
    Object.assign(this, { kind, reason, seconds });
  }
}

function toFailure(status, body, header) {
  const kind = KINDS[status] ?? (status >= 500 ? "broken" : "refused");
  return new Failure(kind, { reason: body?.error ?? "", seconds: Number(header("Retry-After")) || 0 });
}

async function fetchJson(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure("offline");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw toFailure(answer.status, body, (name) => answer.headers.get(name));
  if (body === null) throw new Failure("broken");
  return body;
}

const withKey = (fields) => (settings.key ? { ...fields, api_key: settings.key } : fields);

export const get = (path) => fetchJson(path);

export function post(path, fields, signal) {
  const headers = { "Content-Type": "application/json" };
  return fetchJson(path, { method: "POST", headers, body: JSON.stringify(withKey(fields)), signal });
}

// Uploads a file; `progress` gets the share uploaded. Returns a promise of the answer, and `stop`.
export function send(path, file, fields, progress) {
  const request = new XMLHttpRequest(); // fetch tells nothing of an upload
  const body = new FormData();
  for (const [name, value] of Object.entries(withKey(fields))) body.append(name, value);
  body.append("file", file);
  const answer = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => progress(event.loaded / event.total));
    request.addEventListener("load", () => {
      const { status, response } = request;
      if (status === 200 && response) resolve(response);
      else reject(toFailure(status, response, (name) => request.getResponseHeader(name)));
    });
    request.addEventListener("error", () => reject(new Failure("offline")));
    request.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  });
  request.open("POST", path);
  request.responseType = "json";
  request.send(body);
  return { answer, stop: () => request.abort() };
}
