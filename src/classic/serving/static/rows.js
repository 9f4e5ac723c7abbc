// Rows of a file: bad ones as forms, good ones as a table.

import { captioned, h } from "./dom.js";
import { count, POLARITIES, SIGNS } from "./format.js";
import { sentence } from "./talk.js";

const PAGE = 20;

/** A form for a bad row. Typing changes the row itself; `onRemove` is given the element. */
export function mendingForm(row, editable, onRemove) {
  const [error] = row.errors;
  const id = `row-${row.line}-${Math.random().toString(36).slice(2, 8)}`;
  const wrong = (name) => (error.field === name ? { "aria-invalid": "true", "aria-describedby": `${id}-error` } : {});
  const field = (name, label, input) => h("div", { class: `field ${name}` }, h("label", { for: `${id}-${name}` }, label), input);
  const typed = (name, tag = "input", more = {}) => {
    const input = h(tag, { id: `${id}-${name}`, disabled: !editable, autocomplete: "off", ...more, ...wrong(name) });
    input.value = row[name] ?? "";
    input.addEventListener("input", () => change(row, name, input.value));
    return input;
  };
  const place = error.field === "start" || error.field === "end";
  const element = h("fieldset", { class: "row" },
    h("legend", {}, `Line ${row.line}`),
    h("p", { class: "wrong", id: `${id}-error` }, explain(error)),
    field("sentence", "Sentence", typed("sentence", "textarea", { rows: "2" })),
    field("aspect", "Aspect", typed("aspect")),
    field("polarity", "Polarity", polarityField(row, `${id}-polarity`, editable, wrong("polarity"))),
    place ? [field("start", "Start (empty: find it)", typed("start", "input", { inputmode: "numeric" })), field("end", "End", typed("end", "input", { inputmode: "numeric" }))] : null,
    editable ? h("button", { type: "button", class: "quiet", "aria-label": `Remove line ${row.line}`, on: { click: () => onRemove(element) } }, "Remove") : null);
  return element;
}

function change(row, name, value) {
  row[name] = value === "" ? null : value;
  // A position belongs to the text it was counted in.
  if (name === "sentence" || name === "aspect") row.start = row.end = null;
}

function polarityField(row, id, editable, wrong) {
  const known = POLARITIES.includes(row.polarity);
  const stray = row.polarity === null ? "choose one" : `“${row.polarity}”: choose one`;
  const select = h("select", { id, disabled: !editable, ...wrong },
    known ? null : h("option", { value: "", disabled: true, selected: true }, stray),
    POLARITIES.map((name) => h("option", { value: name, selected: name === row.polarity }, name)));
  select.addEventListener("change", () => change(row, "polarity", select.value));
  return select;
}

function explain({ column, problem, expected, fix }) {
  const asked = problem.endsWith("?");
  return [column ? `Column ${column}: ` : "", problem, expected ? `${asked ? " Expected" : "; expected"} ${expected}` : "", ". ", fix ? sentence(fix) : ""];
}

/** The good rows, a page at a time; `more` are known to the file only. */
export function goodRows(rows, more) {
  if (!rows.length) return null;
  const body = h("tbody");
  const caption = h("span");
  const next = h("button", { type: "button" }, "Show more");
  let shown = 0;
  function grow() {
    body.append(...rows.slice(shown, shown + (shown ? 5 * PAGE : PAGE)).map(goodRow));
    shown = body.childElementCount;
    caption.textContent = shown < rows.length || more ? `The first ${shown} of ${count(rows.length + more, "good row")}` : `All ${count(shown, "good row")}`;
    next.hidden = shown >= rows.length;
  }
  next.addEventListener("click", grow);
  grow();
  const head = h("thead", {}, h("tr", {}, ["Line", "Sentence", "Aspect", "Polarity"].map((name) => h("th", { scope: "col" }, name))));
  return h("div", {},
    captioned(caption, h("table", { class: "rows" }, head, body)),
    h("p", { class: "actions" }, next));
}

function goodRow({ line, sentence: text, aspect, polarity }) {
  return h("tr", {}, h("td", { class: "number" }, line), h("td", {}, text), h("td", {}, aspect),
    h("td", { class: `polarity ${polarity}` }, h("span", { "aria-hidden": "true" }, SIGNS[polarity] ?? ""), ` ${polarity}`));
}
