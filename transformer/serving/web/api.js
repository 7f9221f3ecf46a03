// Asks the server. A failure is an Error with the reason that the server gives.

export const settings = { key: "" };

async function answered(request) {
  const answer = await request;
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ?? `${answer.status}`);
  return body;
}

export const get = (path) => answered(fetch(path));

export function post(path, fields, signal) {
  const body = JSON.stringify(settings.key ? { ...fields, api_key: settings.key } : fields);
  const headers = { "Content-Type": "application/json" };
  return answered(fetch(path, { method: "POST", headers, body, signal }));
}

export function send(path, file, fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...fields, api_key: settings.key })) body.append(name, value);
  body.append("file", file);
  return answered(fetch(path, { method: "POST", body }));
}
