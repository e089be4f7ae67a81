/** The graph of one model, level by level, alive. */

import { byId, el, say, svg } from "./element.js";
import { seconds, several, tone } from "./words.js";

const levels = byId("levels");
const lines = svg("svg", { "aria-hidden": "true" });
let nodes = new Map();
let shape = "";
let chosen = null;
let shown = null;

/** Show a model's resources. */
export function showGraph(model) {
  shown = model;
  const parts = ({ name, needs, is_left_out: isOut }) => [name, needs, isOut];
  const now = JSON.stringify(model.resources.map(parts));
  if (now !== shape) {
    shape = now;
    build(model.resources);
  }
  for (const resource of model.resources) nodes.get(resource.name).show(resource);
  const wanted = model.resources.filter((each) => !each.is_left_out);
  const ready = wanted.filter((each) => each.state === "ready").length;
  const left = model.resources.length - wanted.length;
  const rest = left ? `, ${left} not for this model` : "";
  say(byId("graph-summary"), `${ready} of ${several(wanted.length, "resource")} ready${rest}`);
  tell();
}

function build(resources) {
  nodes = new Map(resources.map((each) => [each.name, new Node(each.name)]));
  if (!nodes.has(chosen)) chosen = null;
  const n = Math.max(0, ...resources.map((each) => each.level));
  const rows = Array.from({ length: n }, (_, i) => {
    const here = resources.filter((each) => each.level === i + 1);
    const names = here.sort((a, b) => a.is_left_out - b.is_left_out);
    return el(
      "div",
      { class: "level", role: "group", "aria-label": `Level ${i + 1}` },
      ...names.map(({ name }) => nodes.get(name).root),
    );
  });
  levels.replaceChildren(lines, ...rows);
  draw();
}

class Node {
  constructor(name) {
    this.seconds = el("span", { class: "seconds" });
    this.state = el("span", { class: "unseen" });
    this.root = el(
      "button",
      { class: "node", type: "button", "aria-pressed": "false", "data-resource": name },
      el("span", { class: "dot" }),
      el("span", { class: "name" }, name),
      this.state,
      this.seconds,
    );
    this.root.addEventListener("click", () => choose(chosen === name ? null : name));
  }

  show(resource) {
    const out = resource.is_left_out;
    this.root.className = `node ${out ? "out" : tone(resource.state)}`;
    this.root.dataset.state = resource.state;
    say(this.state, out ? "not for this model" : resource.state);
    say(this.seconds, out ? "" : seconds(resource.seconds));
  }
}

function choose(name) {
  chosen = name;
  tell();
  draw();
}

function tell() {
  for (const [name, node] of nodes) {
    node.root.setAttribute("aria-pressed", String(name === chosen));
  }
  levels.classList.toggle("chosen", chosen !== null);
  const all = shown.resources;
  const resource = all.find((each) => each.name === chosen);
  const near = resource ? [...resource.needs, ...usersOf(resource.name)] : [];
  for (const [name, node] of nodes) node.root.classList.toggle("near", near.includes(name));
  const told = byId("resource");
  if (!resource) {
    say(told, "Choose a resource to see what it needs and who needs it.");
    return;
  }
  const text = sentence(resource);
  if (told.dataset.text === text) return;
  told.dataset.text = text;
  told.replaceChildren(el("b", {}, resource.name), text);
}

function sentence(resource) {
  const took = resource.seconds === null ? "" : ` after ${seconds(resource.seconds)}`;
  const state = resource.is_left_out
    ? "is not for this model: its tasks do not call for it"
    : `is ${resource.state}${took}`;
  const list = (names) => names.join(", ") || "nothing";
  const users = usersOf(resource.name);
  const error = resource.error ? ` ${resource.error}` : "";
  return ` ${state}. It needs ${list(resource.needs)}; it is needed by ${list(users)}.${error}`;
}

function usersOf(name) {
  return shown.resources.filter((each) => each.needs.includes(name)).map((each) => each.name);
}

function draw() {
  if (!shown) return;
  const frame = levels.getBoundingClientRect();
  const paths = shown.resources.flatMap(({ name, needs }) =>
    needs.map((need) => curve(nodes.get(need).root, nodes.get(name).root, frame, [need, name])),
  );
  lines.replaceChildren(...paths);
}

function curve(from, to, frame, ends) {
  const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
  const [x1, y1] = [a.left + a.width / 2 - frame.left, a.bottom - frame.top];
  const [x2, y2] = [b.left + b.width / 2 - frame.left, b.top - frame.top];
  const bend = Math.max(12, (y2 - y1) / 2);
  const d = `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`;
  return svg("path", ends.includes(chosen) ? { d, class: "near" } : { d });
}

new ResizeObserver(draw).observe(levels);
