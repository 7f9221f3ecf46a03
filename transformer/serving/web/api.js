// Asks the server. What goes wrong is a Failure: of what kind, and when to try again.

export const settings = { key: "", characters: 20000, terms: 0, isLoaded: false };

const KINDS = { 400: "refused", 403: "key", 404: "gone", 408: "late", 413: "long", 429: "often", 501: "noMaps", 503: "busy" };

export class Failure extends Error {
  // `kind` is the name of a text of the page, `reason` what the server said, in English.
  constructor(kind, { reason = "", seconds = 0 } = {}) {
    super(reason || kind);
    Object.assign(this, { kind, reason, seconds });
  }
}

function failure(status, body, header) {
  const kind = KINDS[status] ?? (status >= 500 ? "broken" : "refused");
  return new Failure(kind, { reason: body?.error ?? "", seconds: Number(header("Retry-After")) || 0 });
}

async function answered(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure("offline");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw failure(answer.status, body, (name) => answer.headers.get(name));
  if (body === null) throw new Failure("broken");
  return body;
}

const withKey = (fields) => (settings.key ? { ...fields, api_key: settings.key } : fields);

export const get = (path) => answered(path);

export function post(path, fields, signal) {
  const headers = { "Content-Type": "application/json" };
  return answered(path, { method: "POST", headers, body: JSON.stringify(withKey(fields)), signal });
}

// Sends a file; `progress` gets the share that has arrived. Gives the answer and a way to stop.
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
      else reject(failure(status, response, (name) => request.getResponseHeader(name)));
    });
    request.addEventListener("error", () => reject(new Failure("offline")));
    request.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  });
  request.open("POST", path);
  request.responseType = "json";
  request.send(body);
  return { answer, stop: () => request.abort() };
}
