/** What a model is given for a conversation: the rendered prompt, and its tokens. */

import { byId, el, say } from "./element.js";
import { order } from "./server.js";
import { count, several } from "./words.js";

const MOST = 2000;
/** How tokenizers write a space, a line's end and a tab in the names of their tokens. */
const MARKS = { "\u0120": "·", "\u2581": "·", "\u010a": "↵", "\u0109": "⇥" };

/** Have a conversation rendered, and show it. */
export async function showPrompt({ model, messages, chat_template_kwargs: kwargs }) {
  const wanted = { model, messages, return_token_strs: true };
  if (messages.at(-1)?.role === "assistant") wanted.add_generation_prompt = false;
  if (kwargs) wanted.chat_template_kwargs = kwargs;
  const { tokens, token_strs: names } = await order("tokenize", wanted);
  const { prompt } = await order("detokenize", { model, tokens });
  const shown = tokens.slice(0, MOST);
  const chips = shown.map((id, i) => chip(id, names?.[i] ?? ""));
  if (tokens.length > MOST) chips.push(el("li", {}, `and ${count(tokens.length - MOST)} more`));
  say(byId("prompt-size"), several(tokens.length, "token"));
  say(byId("prompt-text"), prompt);
  byId("tokens").replaceChildren(...chips);
  byId("prompt-hint").hidden = true;
  byId("prompt-text").hidden = byId("tokens").hidden = false;
}

function chip(id, name) {
  const readable = name.replace(/[\u0120\u2581\u010a\u0109]/g, (mark) => MARKS[mark]);
  return el("li", { title: name }, readable, el("small", {}, String(id)));
}
