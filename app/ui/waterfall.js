/** When each resource of a model's last start was loaded. */

import { byId, el, say } from "./element.js";
import { seconds, tone } from "./words.js";

const WORTH_A_BAR = 0.01;
let showsAll = false;
let last = null;

/** Show a model's start; `now` is the server's time. */
export function showStart(model, now) {
  last = [model, now];
  const own = model.resources.filter((each) => each.started_at !== null && !each.is_kept);
  const rows = own.sort((a, b) => a.started_at - b.started_at);
  const began = rows[0]?.started_at ?? 0;
  const ends = rows.map((each) => each.started_at + length(each, now));
  const total = Math.max(0.001, ...ends.map((end) => end - began));
  const long = rows.filter((each) => showsAll || isWorth(each, length(each, now), total));
  byId("bars").replaceChildren(ticks(total), ...long.map((each) => bar(each, began, total, now)));
  say(byId("start-summary"), rows.length ? sentence(model, rows, total) : "It has not started.");
  const button = byId("all-bars");
  button.hidden = !showsAll && long.length === rows.length;
  say(button, showsAll ? "Only what took long" : `Show ${rows.length - long.length} more`);
}

function sentence(model, rows, total) {
  const kept = model.resources.filter((each) => each.is_kept).length;
  const lent = kept ? `; ${kept} were kept from the generation before` : "";
  const longest = [...rows].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0))[0];
  const most = longest.seconds ? `, most of it for ${longest.name}` : "";
  return `Generation ${model.generation}: ${seconds(total)}${most}${lent}.`;
}

const length = (each, now) =>
  each.seconds ?? (each.state === "starting" ? Math.max(0, now - each.started_at) : 0);

const isWorth = (each, taken, total) =>
  taken / total >= WORTH_A_BAR || each.state === "starting" || each.state === "failed";

function bar(each, began, total, now) {
  const taken = length(each, now);
  const mark = el("span", { class: tone(each.state) });
  mark.style.left = `${((each.started_at - began) / total) * 100}%`;
  mark.style.width = `${(taken / total) * 100}%`;
  const begin = seconds(each.started_at - began);
  return el(
    "tr",
    { "data-resource": each.name },
    el("th", { scope: "row", title: each.name }, each.name),
    el("td", {}, el("span", { class: "unseen" }, `begins at ${begin}`), el("div", { class: "track" }, mark)),
    el("td", { class: "number" }, seconds(taken)),
  );
}

function ticks(total) {
  const digits = total < 2 ? 2 : 1;
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => el("span", {}, (total * part).toFixed(digits)));
  const cells = [el("td"), el("td", {}, el("div", { class: "ticks muted" }, ...marks)), el("td")];
  return el("tr", { "aria-hidden": "true" }, ...cells);
}

byId("all-bars").addEventListener("click", () => {
  showsAll = !showsAll;
  if (last) showStart(...last);
});
