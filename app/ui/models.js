/** The cards: each model with its figures, its generations and its adapters. */

import { modelActions } from "./actions.js";
import { byId, el, say, svg } from "./element.js";
import { Rate } from "./rates.js";
import { clock, count, seconds, several, short, span, tone } from "./words.js";

const FIGURES = [
  ["n_running", "Running"],
  ["n_waiting", "Waiting"],
  ["rate", "Tokens/s"],
  ["kv_cache_usage", "KV cache"],
];
const CAUSES = {
  start: "started with the server",
  reload: "new settings",
  "reload taken back": "back to the old settings",
  heal: "its engine had died or hung",
  load: "loaded again when asked for",
};

const MANY = 9;
const cards = new Map();

/** Show the models as they stand now. */
export function showModels(status) {
  const names = status.models.map((model) => model.name);
  for (const [name, card] of cards) {
    if (!names.includes(name)) {
      card.root.remove();
      cards.delete(name);
    }
  }
  for (const model of status.models) {
    if (!cards.has(model.name)) cards.set(model.name, new Card());
    cards.get(model.name).show(model, status.offers);
  }
  const wanted = names.map((name) => cards.get(name).root);
  const shown = [...byId("cards").children];
  if (wanted.some((root, i) => root !== shown[i])) byId("cards").replaceChildren(...wanted);
  byId("find-model-row").hidden = names.length < MANY;
  showFound();
}

/** Of many models, those whose name, source or state has what is sought. */
function showFound() {
  const isMany = !byId("find-model-row").hidden;
  const sought = isMany ? byId("find-model").value.trim().toLowerCase() : "";
  for (const card of cards.values()) card.root.hidden = !card.words().includes(sought);
}

byId("find-model").addEventListener("input", showFound);

/** Show the figures of a moment. */
export function showFigures(figures) {
  // Some model may be called "constructor", which every object seems to have.
  const found = (name) => (Object.hasOwn(figures.models, name) ? figures.models[name] : null);
  for (const [name, card] of cards) card.measure(figures.at, found(name));
}

class Card {
  constructor() {
    this.rate = new Rate();
    this.figures = Object.fromEntries(
      FIGURES.map(([name]) => [name, el("dd", { "data-figure": name }, "–")]),
    );
    this.counted = el("dt");
    this.name = el("h3");
    this.state = el("span", { class: "state" });
    this.from = el("p", { class: "from muted" });
    this.error = el("p", { class: "notice bad", hidden: true });
    this.filled = el("span");
    this.facts = el("p", { class: "facts" });
    this.history = el("ol", { class: "history" });
    this.about = el("summary", { class: "facts" });
    this.adapters = el("ul", { class: "adapters", "aria-label": "Adapters" });
    this.actions = el("div", { class: "row actions" });
    this.curve = svg("path", { class: "curve" });
    this.area = svg("path", { class: "area" });
    const size = { viewBox: "0 0 100 40", preserveAspectRatio: "none" };
    const spark = { ...size, class: "spark", "aria-hidden": "true" };
    this.spark = svg("svg", spark, this.area, this.curve);
    this.root = this.made();
  }

  made() {
    const figures = FIGURES.map(([name, label]) =>
      el("div", {}, name === "rate" ? this.counted : el("dt", {}, label), this.figures[name]),
    );
    figures.at(-1).append(el("div", { class: "usage", "aria-hidden": "true" }, this.filled));
    return el(
      "article",
      { class: "panel card" },
      el("div", { class: "card-head" }, el("div", {}, this.name, this.from), this.state),
      this.error,
      el("dl", { class: "figures" }, ...figures),
      this.spark,
      this.facts,
      el("details", {}, this.about, this.history),
      this.adapters,
      this.actions,
    );
  }

  show(model, offers) {
    this.root.dataset.model = model.name;
    say(this.name, model.name);
    const others = model.names.filter((name) => name !== model.name);
    say(this.from, [model.source, ...others.map((name) => `also ${name}`)].join(" · "));
    const state = model.trouble || model.state;
    this.state.className = `state ${model.trouble ? troubled(model) : tone(model.state)}`;
    if (this.state.textContent !== state) {
      this.state.replaceChildren(el("span", { class: "dot" }), state);
    }
    this.generates = model.generates;
    say(this.counted, this.generates ? "Tokens/s" : "Tokens read/s");
    this.error.hidden = !model.error;
    say(this.error, model.error ?? "");
    this.showHistory(model);
    modelActions(model, offers, this.actions, this.adapters);
  }

  /** What it can be found by. */
  words() {
    const parts = [this.name, this.from, this.state];
    return parts.map((each) => each.textContent.toLowerCase()).join("\n");
  }

  showHistory(model) {
    const last = model.history.at(-1);
    const why = last ? (CAUSES[last.cause] ?? last.cause) : "not loaded yet";
    say(this.about, `Generation ${model.generation}: ${why}`);
    const rows = [...model.history].reverse().map((each) =>
      el(
        "li",
        {},
        el("span", {}, `#${each.number}`),
        el("span", {}, CAUSES[each.cause] ?? each.cause),
        el("span", {}, `${clock(each.began_at)} · ${seconds(each.seconds)}`),
      ),
    );
    this.history.replaceChildren(...rows);
  }

  measure(at, found) {
    this.root.classList.toggle("unmeasured", !found);
    if (!found) {
      for (const dd of Object.values(this.figures)) say(dd, "–");
      say(this.facts, "No figures: its engine measures nothing now.");
      return;
    }
    this.rate.add(at, this.generates ? found.n_generation_tokens : found.n_prompt_tokens);
    const { perSecond } = this.rate;
    say(this.figures.n_running, count(found.n_running));
    say(this.figures.n_waiting, count(found.n_waiting));
    say(this.figures.rate, perSecond === null ? "–" : short(perSecond));
    say(this.figures.kv_cache_usage, `${(found.kv_cache_usage * 100).toFixed(1)} %`);
    this.filled.style.width = `${found.kv_cache_usage * 100}%`;
    const tokens = count(found.n_generation_tokens);
    say(this.facts, `${tokens} tokens generated, ${count(found.n_prompt_tokens)} read in prompts`);
    this.draw();
  }

  draw() {
    const { shown } = this.rate;
    const top = Math.max(1, ...shown) * 1.1;
    const points = shown.map((rate, i) => {
      const x = 100 - ((shown.length - 1 - i) * 100) / 59;
      return `${x.toFixed(2)},${(39 - (rate / top) * 38).toFixed(2)}`;
    });
    const left = points[0].split(",")[0];
    this.curve.setAttribute("d", `M${points.join("L")}`);
    this.area.setAttribute("d", `M${left},40L${points.join("L")}L100,40Z`);
  }
}

function troubled(model) {
  return model.trouble === model.state ? tone(model.state) : "bad";
}

/** What the whole server is doing, in a line. */
export function summary(status, figures) {
  const parts = [several(status.models.length, "model")];
  if (figures) parts.push(`${several(figures.in_flight, "request")} in flight`);
  parts.push(`up ${span((figures?.at ?? status.at) - status.began_at)}`);
  return parts.join(" · ");
}
