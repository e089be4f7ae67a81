/** The page: who is let in, and what is shown when the server tells something new. */

import { serverActions } from "./actions.js";
import { showChat } from "./chat.js";
import { byId, choices, say } from "./element.js";
import { follow } from "./feed.js";
import { showGraph } from "./graph.js";
import { loadSettings, showTroubles } from "./lists.js";
import { showFigures, showModels, summary } from "./models.js";
import { key } from "./server.js";
import { showStart } from "./waterfall.js";
import { tone } from "./words.js";

const TICK_MS = 250;
const REFUSALS = {
  401: "This server knows no such key.",
  403: "This key is good for requests, but it is no admin key.",
};
let status = null;
let figures = null;
let told = "";
let heard = 0;

const on = {
  status(found) {
    const isAnother = found.run !== status?.run; // it was started anew
    const isChanged = isAnother || found.n_changes !== status.n_changes;
    if (status && found.versions["vllm-di"] !== status.versions["vllm-di"]) {
      location.reload(); // its page is another one too
      return;
    }
    status = found;
    heard = performance.now();
    byId("page").hidden = byId("sections").hidden = false;
    byId("door").hidden = true;
    show();
    if (isChanged) loadSettings().catch(() => {});
  },
  figures(found) {
    figures = found;
    showFigures(found);
    say(byId("summary"), summary(status, found));
  },
  lost() {
    phase("not answering", "bad");
  },
  refused(error) {
    key.forget();
    say(byId("refused"), REFUSALS[error.status]);
    openDoor();
  },
};

function show() {
  phase(status.phase, tone(status.phase));
  byId("failure").hidden = !status.error;
  say(byId("failure"), status.error ?? "");
  const { versions } = status;
  say(byId("versions"), `vllm-di ${versions["vllm-di"]} · vLLM ${versions.vllm ?? "not installed"}`);
  serverActions(status);
  showModels(status);
  showChat(status.models);
  showTroubles(status.troubles);
  choices(byId("graph-model"), status.models.map((model) => model.name));
  showChosen();
  announce();
}

function showChosen() {
  const model = status.models.find(({ name }) => name === byId("graph-model").value);
  if (!model) return;
  showGraph(model);
  showStart(model, now());
}

/** The server's time: what it told last, and what has gone by since. */
const now = () => status.at + (performance.now() - heard) / 1000;

function phase(words, mood) {
  byId("phase").className = `phase ${mood}`;
  say(byId("phase"), words);
  document.title = `${words} · vllm-di`;
}

/** Tell a screen reader what has changed, and nothing of numbers. */
function announce() {
  const models = status.models.map((model) => `${model.name} is ${model.trouble || model.state}`);
  const words = [`The server is ${status.phase}`, ...models].join(". ");
  if (words !== told) say(byId("said"), words);
  told = words;
}

function openDoor() {
  byId("page").hidden = byId("sections").hidden = byId("forget").hidden = true;
  byId("door").hidden = false;
  byId("key").focus();
}

function enter() {
  byId("forget").hidden = !key.get();
  follow(on);
}

byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  key.keep(byId("key").value.trim());
  byId("key").value = "";
  say(byId("refused"), "");
  enter();
});

byId("forget").addEventListener("click", () => {
  key.forget();
  location.reload();
});

byId("graph-model").addEventListener("change", showChosen);

setInterval(() => {
  if (status?.models.some((model) => model.state === "starting" || model.state === "loading")) showChosen();
}, TICK_MS);

if (document.documentElement.dataset.wantsKey === "yes" && !key.get()) openDoor();
else enter();
