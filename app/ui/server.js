/** Asking the server: with the key, which is only ever sent in a header. */

const KEY = "vllm-di admin key";

/** What the server answered instead of doing it. */
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }

  get wantsKey() {
    return this.status === 401 || this.status === 403;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  keep: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Ask for a path below the page's own; gives the response, or raises a Refusal. */
export async function ask(path, { body, ...options } = {}) {
  const headers = key.get() ? { Authorization: `Bearer ${bytes(key.get())}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined ? undefined : JSON.stringify(body),
    headers,
    cache: "no-store",
    ...options,
  });
  if (!response.ok) throw new Refusal(await reason(response), response.status);
  return response;
}

/** Ask for JSON. */
export const askJson = async (path, options) => (await ask(path, options)).json();

/** Ask for something to be done; what is said back, as text or JSON. */
export async function order(path, body = {}) {
  const response = await ask(path, { body });
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return isJson ? response.json() : response.text();
}

/** A header holds bytes: those of UTF-8, as other clients send them. */
const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

async function reason(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/** Server-sent events of a response, each `{ event, data }` with its data as text. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const found = eventIn(block);
      if (found.data) yield found;
    }
  }
}

function eventIn(block) {
  const found = { event: "message", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "event") found.event = value;
    if (name === "data") found.data += (found.data ? "\n" : "") + value;
  }
  return found;
}
