/** A chat box to try a model with. */

import { byId, choices, el, say } from "./element.js";
import { showPrompt } from "./prompt.js";
import { ask, eventsOf } from "./server.js";
import { several, short } from "./words.js";

const talk = byId("talk");
let messages = [];
let underWay = null;

/** Offer the models that can chat. */
export function showChat(models) {
  const able = models.filter((model) => model.offers.chat).map((model) => model.name);
  byId("chat").hidden = able.length === 0;
  choices(byId("chat-model"), able);
}

function request() {
  const kwargs = byId("kwargs").value.trim();
  const wanted = { model: byId("chat-model").value, messages };
  if (kwargs) wanted.chat_template_kwargs = parsed(kwargs);
  return wanted;
}

function parsed(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Error(`The template kwargs are no JSON: ${error.message}`);
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    throw new Error("The template kwargs are no JSON object.");
  }
  return found;
}

async function send() {
  const question = byId("question").value.trim();
  if (!question || underWay) return;
  const before = messages;
  try {
    messages = [...messages, { role: "user", content: question }];
    const wanted = request();
    byId("question").value = "";
    bubble("user", question);
    await Promise.all([answer(wanted), showPrompt(wanted).catch(() => {})]);
  } catch (error) {
    messages = before;
    byId("question").value ||= question;
    say(byId("chat-problem"), error.name === "AbortError" ? "" : error.message);
  }
}

async function answer(wanted) {
  const said = bubble("assistant", "");
  const measure = { began: performance.now(), first: null, usage: null };
  underWay = new AbortController();
  working(true);
  try {
    await stream(wanted, said, measure);
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  } finally {
    underWay = null;
    working(false);
    const text = said.text.textContent;
    if (text) messages = [...messages, { role: "assistant", content: text }];
    said.measured.textContent = measured(measure);
    if (!text && !said.thought.textContent) said.root.remove();
  }
}

async function stream(wanted, said, measure) {
  const body = {
    ...wanted,
    stream: true,
    stream_options: { include_usage: true },
    temperature: Number(byId("temperature").value),
    max_tokens: Number(byId("max-tokens").value) || 256,
  };
  const response = await ask("v1/chat/completions", { body, signal: underWay.signal });
  for await (const { data } of eventsOf(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new Error(chunk.error.message);
    measure.usage = chunk.usage ?? measure.usage;
    take(chunk.choices?.[0]?.delta ?? {}, said, measure);
  }
}

function take(delta, said, measure) {
  const thought = delta.reasoning ?? delta.reasoning_content ?? "";
  const calls = delta.tool_calls ? JSON.stringify(delta.tool_calls) : "";
  if (!thought && !calls && !delta.content) return;
  measure.first ??= performance.now();
  said.thought.append(thought);
  said.text.append(delta.content ?? "", calls);
  talk.scrollTop = talk.scrollHeight;
}

function measured({ began, first, usage }) {
  if (first === null) return "";
  const parts = [`first token after ${((first - began) / 1000).toFixed(2)} s`];
  if (usage) {
    const n = usage.completion_tokens;
    const took = (performance.now() - first) / 1000;
    parts.unshift(several(n, "token"));
    if (n > 1 && took > 0) parts.push(`${short((n - 1) / took)} tokens/s`);
  }
  return parts.join(" · ");
}

function bubble(role, words) {
  const [thought, text] = [el("span", { class: "thought" }), el("span", { class: "words" }, words)];
  const measured = el("span", { class: "measured" });
  const who = el("span", { class: "unseen" }, role === "user" ? "You: " : "Model: ");
  const root = el("div", { class: `message ${role}` }, who, thought, text, measured);
  talk.append(root);
  talk.scrollTop = talk.scrollHeight;
  say(byId("chat-problem"), "");
  return { root, thought, text, measured };
}

function working(is) {
  say(byId("send"), is ? "Stop" : "Send");
  talk.setAttribute("aria-busy", String(is));
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (underWay) underWay.abort();
  else send();
});

byId("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (!underWay) send();
  }
});

byId("clear").addEventListener("click", () => {
  underWay?.abort();
  messages = [];
  talk.replaceChildren();
  say(byId("chat-problem"), "");
});

byId("show-prompt").addEventListener("click", async () => {
  const question = byId("question").value.trim();
  const added = question ? [{ role: "user", content: question }] : [];
  try {
    say(byId("chat-problem"), "");
    const wanted = request();
    await showPrompt({ ...wanted, messages: [...messages, ...added] });
  } catch (error) {
    say(byId("chat-problem"), error.message);
  }
});
