/** What an administrator can do; only what the server offers has a button. */

import { asked } from "./dialog.js";
import { byId, el } from "./element.js";
import { order } from "./server.js";

const MOST_NAMES = 4;

const named = (path, model) => `${path}${path.includes("?") ? "&" : "?"}model=${encodeURIComponent(model)}`;

/** Show what can be done to the server. */
export function serverActions({ offers, phase }) {
  const isReady = phase === "ready";
  put(byId("server-actions"), [
    offers.reload && isReady && ["Reload…", reload],
    offers.drain && isReady && ["Drain…", drain],
  ]);
}

/** Show what can be done to a model, and its adapters. */
export function modelActions(model, offers, actions, adapters) {
  const isReady = model.state === "ready";
  const isAsleep = model.trouble === "asleep";
  const canSleep = offers.sleep && isReady;
  put(actions, [
    canSleep && !isAsleep && [model.offers.sleep ? "Sleep…" : "Hold requests…", () => sleep(model)],
    canSleep && isAsleep && ["Wake up", () => order(named("wake_up", model.name))],
    offers.unload && isReady && ["Unload…", () => unload(model)],
    offers.adapters && model.offers.adapters && isReady && ["Load adapter…", () => loadAdapter(model)],
  ]);
  const canUnload = offers.adapters && isReady;
  const items = model.adapters.map((name) => el("li", {}, name, canUnload ? unloading(name) : " "));
  if (adapters.dataset.shown === `${canUnload} ${model.adapters.join("\n")}`) return;
  adapters.dataset.shown = `${canUnload} ${model.adapters.join("\n")}`;
  adapters.hidden = items.length === 0;
  adapters.replaceChildren(...items);
}

function put(place, wanted) {
  const buttons = wanted.filter(Boolean);
  const names = buttons.map(([name]) => name).join("\n");
  const tools = buttons.map(([name, act]) => el("button", { type: "button", onclick: guarded(act) }, name));
  if (place.dataset.shown === names) return;
  place.dataset.shown = names;
  place.replaceChildren(...tools);
}

/** What fails outside of a dialog is told in one. */
const guarded = (act) => async () => {
  try {
    await act();
  } catch (error) {
    await asked({ title: "It was not done", body: [text(error.message)] });
  }
};

const text = (words) => el("p", {}, words);

async function reload() {
  const plan = await order("admin/reload?dry_run=true");
  const body = [text("The settings are read anew, from where they came from. This would happen:"), planned(plan)];
  await asked({ title: "Reload the settings", body, yes: "Reload now", act: () => order("admin/reload") });
}

function planned({ models, added, removed }) {
  const items = models.map((each) => el("li", {}, el("b", {}, each.model), ` ${outcome(each)}`));
  const others = [...added.map((name) => [name, "is added"]), ...removed.map((name) => [name, "is removed"])];
  items.push(...others.map(([name, what]) => el("li", {}, el("b", {}, name), ` ${what}.`)));
  return el("ul", { "data-plan": "" }, ...items);
}

function outcome({ rebuilt, borrowed, restarts_engine: restarts }) {
  if (!rebuilt.length) return "goes on as it is.";
  const engine = restarts ? " Its engine starts again." : " Its engine goes on.";
  return `builds ${listed(rebuilt)} anew and keeps ${borrowed.length} others.${engine}`;
}

/** Names, of many only the first. */
function listed(names) {
  const rest = names.length - MOST_NAMES;
  return rest > 1 ? `${names.slice(0, MOST_NAMES).join(", ")} and ${rest} more` : names.join(", ");
}

const drain = () =>
  asked({
    title: "Drain the server",
    body: [text("It takes no new requests from now on; those in flight end. Only a restart takes this back.")],
    yes: "Drain",
    danger: true,
    act: () => order("admin/drain"),
  });

function sleep(model) {
  const [path, what] = model.offers.sleep
    ? ["sleep?level=1", "gives its memory back, and ends the requests it works on"]
    : ["sleep?level=0&mode=keep", "keeps its requests waiting"];
  return asked({
    title: `Let ${model.name} rest`,
    body: [text(`It ${what} until it is woken up, and is not ready meanwhile.`)],
    yes: model.offers.sleep ? "Sleep" : "Hold requests",
    act: () => order(named(path, model.name)),
  });
}

const unload = (model) =>
  asked({
    title: `Unload ${model.name}`,
    body: [text("Its engine ends once its requests are answered. Its next request loads it again.")],
    yes: "Unload",
    act: () => order(named("admin/unload", model.name)),
  });

function loadAdapter(model) {
  const [name, path] = ["lora_name", "lora_path"].map((id) => el("input", { id, spellcheck: "false" }));
  const fields = [el("label", {}, "Name", name), el("label", {}, "Folder, as the server sees it", path)];
  const act = () =>
    order(named("v1/load_lora_adapter", model.name), { lora_name: name.value, lora_path: path.value });
  return asked({ title: `Load an adapter into ${model.name}`, body: fields, yes: "Load", act });
}

function unloading(name) {
  const act = () => order("v1/unload_lora_adapter", { lora_name: name });
  return el("button", { class: "quiet", type: "button", "aria-label": `Unload ${name}`, onclick: guarded(act) }, "Unload");
}
