// Builds elements. Whatever a file or the server says goes in as text nodes, so it can never become markup.

/** An element by its id. */
export const byId = (id) => document.getElementById(id);

/** h("p", {class: "hint", on: {click: f}}, "text", element, null, [more]) → an element. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Exchanges the content of an element; keeps quiet about nulls and lists. */
export function put(element, ...children) {
  element.replaceChildren(...flatten(children));
  return element;
}

/** Shows one thing, hides it otherwise. */
export function show(element, visible = true) {
  element.hidden = !visible;
}

/** A headed part of the screen. */
export function part(title, lead, ...content) {
  return h("section", { class: "part" }, h("h2", {}, title), lead ? h("p", { class: "hint" }, lead) : null, content);
}

/** A name that may be broken after its underscores. */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((piece) => [piece, h("wbr")]);
}

let captions = 0;

/** A table below its caption. Where the screen is narrow the table scrolls sideways by itself, the caption does not. */
export function captioned(caption, table) {
  const id = `caption-${++captions}`;
  table.setAttribute("aria-labelledby", id);
  return h("figure", { class: "table" }, h("figcaption", { id }, caption),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id }, table));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...flatten(children));
  return element;
}

function flatten(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
