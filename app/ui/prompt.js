/** What a model is given for a conversation: the rendered prompt, and its tokens. */

import { byId, el, say } from "./element.js";
import { order } from "./server.js";
import { count, several } from "./words.js";

const MOST = 2000;

/** Have a conversation rendered, and show it. */
export async function showPrompt({ model, messages, chat_template_kwargs: kwargs }) {
  const wanted = { model, messages, return_token_strs: true };
  if (messages.at(-1)?.role === "assistant") wanted.add_generation_prompt = false;
  if (kwargs) wanted.chat_template_kwargs = kwargs;
  const { tokens, token_strs: names } = await order("tokenize", wanted);
  const { prompt } = await order("detokenize", { model, tokens });
  const shown = tokens.slice(0, MOST);
  const chips = shown.map((id, i) => el("li", {}, names?.[i] ?? "", el("small", {}, String(id))));
  if (tokens.length > MOST) chips.push(el("li", {}, `and ${count(tokens.length - MOST)} more`));
  say(byId("prompt-size"), several(tokens.length, "token"));
  say(byId("prompt-text"), prompt);
  byId("tokens").replaceChildren(...chips);
  byId("prompt-hint").hidden = true;
  byId("prompt-text").hidden = byId("tokens").hidden = false;
}
