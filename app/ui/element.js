/** Elements made by hand: what comes from a server only ever becomes text. */

const SVG = "http://www.w3.org/2000/svg";

/** The element of the page with an id. */
export const byId = (id) => document.getElementById(id);

/** Make an element: attributes, listeners (`onclick`), then children, elements or text. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(made, name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Set a text, unless it is there already: a selection in it then stays. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Offer these values in a select, and keep what is chosen as long as it is there. */
export function choices(select, values) {
  const before = [...select.options].map((option) => option.value);
  if (before.join("\n") === values.join("\n")) return;
  const chosen = select.value;
  select.replaceChildren(...values.map((value) => el("option", { value }, value)));
  if (values.includes(chosen)) select.value = chosen;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name in element && typeof value === "boolean") element[name] = value;
  else element.setAttribute(name, value);
}
