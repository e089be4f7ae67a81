/** What went wrong, and the settings. */

import { byId, el, say } from "./element.js";
import { askJson } from "./server.js";
import { clock, count } from "./words.js";

let lines = [];
let seen = "";

/** Show the recent errors and warnings, the latest first. */
export function showTroubles(troubles) {
  const now = JSON.stringify(troubles);
  if (now === seen) return;
  seen = now;
  const rows = troubles.map((each) =>
    el(
      "li",
      { class: each.level },
      el("time", { datetime: new Date(each.at * 1000).toISOString() }, clock(each.at)),
      el("span", { class: "where" }, whereOf(each)),
      el("span", { class: "text" }, each.text),
    ),
  );
  const none = el("li", { class: "none" }, "Nothing has gone wrong since the start.");
  byId("trouble-list").replaceChildren(...(rows.length ? rows : [none]));
  const errors = troubles.filter((each) => each.level === "error").length;
  byId("n-troubles").hidden = errors === 0;
  say(byId("n-troubles"), count(errors));
}

const whereOf = (trouble) =>
  [trouble.model, trouble.provider].filter(Boolean).join(" / ") || trouble.level;

/** Read the settings anew and show them. */
export async function loadSettings() {
  lines = (await askJson("admin/settings")).lines;
  showSettings();
}

function showSettings() {
  const sought = byId("find").value.trim().toLowerCase();
  const onlySet = byId("only-set").checked;
  const rows = lines.filter(({ text, origin }) => {
    if (sought) return origin && `${text} ${origin}`.toLowerCase().includes(sought);
    return !onlySet || origin !== "default";
  });
  const shown = sought ? rows : withoutEmptyHeads(rows);
  byId("setting-rows").replaceChildren(...shown.map(row));
  byId("no-settings").hidden = shown.length > 0;
}

/** Leave out heads of sections with nothing below them, from the innermost outwards. */
function withoutEmptyHeads(rows) {
  const kept = [];
  for (const line of [...rows].reverse()) {
    if (!isEmptyHead(line, kept[0])) kept.unshift(line);
  }
  return kept;
}

/** Whether a section's head has nothing below it. */
function isEmptyHead(line, next) {
  return !line.origin && (!next || indent(next.text) <= indent(line.text));
}

const indent = (text) => /^[ -]*/.exec(text)[0].length;

function row({ text, origin }) {
  const kind = origin ? (origin === "default" ? "default" : "") : "head-row";
  return el("tr", { class: kind }, el("td", {}, text), el("td", {}, origin));
}

byId("find").addEventListener("input", showSettings);
byId("only-set").addEventListener("change", showSettings);
