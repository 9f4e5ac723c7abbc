// Which column is what: for tables whose columns have other names, and for stars that are to become polarities.

import { h, put } from "./dom.js";
import { POLARITIES } from "./format.js";

const MOST_VALUES = 12; // different labels that can be told one by one
const FIXED = "fixed"; // one aspect for all rows
const WORDS = ["positive", "negative", "neutral"];

let forms = 0;

/**
 * A form over a table.
 * @param {{columns, rows}} table  what parseTable gave
 * @param {object} guess  what guessColumns gave
 * @param {{labelled: boolean, submit: string}} wanted  whether rows have a polarity, and what the button says
 * @param {(rows: object[]) => void} onRows  told {line, sentence, aspect, polarity, start, end} of every row, `cells` as they stood
 */
export function mappingForm(table, guess, { labelled, submit }, onRows) {
  const id = `mapping-${++forms}`;
  const field = (name, label, ...inputs) => h("div", { class: "field" }, h("label", { for: `${id}-${name}` }, label), inputs);
  const choice = (name, more = []) => {
    const options = table.columns.map((column, number) => h("option", { value: String(number), selected: number === guess[name] }, column));
    return h("select", { id: `${id}-${name}`, required: true }, h("option", { value: "", disabled: true, selected: guess[name] === null && !more.length }, "choose a column"), options, more);
  };
  const fixed = h("input", { id: `${id}-fixed`, type: "text", maxlength: "200", autocomplete: "off", placeholder: "coffee machine", "aria-label": "The aspect of all rows" });
  const none = guess.aspect === null;
  const sentence = choice("sentence");
  const aspect = choice("aspect", [h("option", { value: FIXED, selected: none }, "the same in all rows:")]);
  const polarity = labelled ? choice("polarity") : null;
  const meanings = h("div", { class: "meanings" });
  let meaning = () => null;

  const cellsOf = (select) => table.rows.map(({ cells }) => cells[Number(select.value)].trim());
  const showFixed = () => {
    fixed.hidden = aspect.value !== FIXED;
    fixed.required = !fixed.hidden;
  };
  const showMeanings = () => {
    if (polarity?.value) meaning = askMeanings(meanings, id, cellsOf(polarity));
  };
  aspect.addEventListener("change", showFixed);
  polarity?.addEventListener("change", showMeanings);
  showFixed();
  showMeanings();

  const form = h("form", { class: "start mapping" },
    h("h3", {}, "Which column is what?"),
    field("sentence", "Review", sentence), field("aspect", "Aspect", aspect, fixed), polarity ? field("polarity", "Polarity or stars", polarity) : null,
    meanings, h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, submit)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const rows = table.rows.map(({ line, cells }) => ({
      line, cells, start: null, end: null,
      sentence: cells[Number(sentence.value)].trim(),
      aspect: aspect.value === FIXED ? fixed.value.trim() : cells[Number(aspect.value)].trim(),
      polarity: labelled ? meaning(cells[Number(polarity.value)].trim()) : null,
    }));
    onRows(rows.filter((row) => row.polarity !== ""));
  });
  return form;
}

/** Asks what the values of a column mean; gives a function from value to polarity, "" for rows to be left out. */
function askMeanings(place, id, values) {
  const different = [...new Set(values)];
  const numbers = different.map(toNumber);
  if (different.every((value) => WORDS.includes(value.toLowerCase()))) {
    put(place);
    return (value) => value.toLowerCase();
  }
  return numbers.every((number) => number !== null) ? askStars(place, id, numbers) : askWords(place, id, different);
}

function toNumber(value) {
  const number = Number(value.replace(",", "."));
  return value === "" || Number.isNaN(number) ? null : number;
}

function askStars(place, id, numbers) {
  const top = Math.max(...numbers);
  const [good, bad] = top <= 1 ? [1, Math.min(...numbers)] : top <= 5 ? [4, 2] : top <= 10 ? [7, 4] : [Math.ceil(0.7 * top), Math.floor(0.4 * top)];
  const field = (name, label, value) => {
    const input = h("input", { id: `${id}-${name}`, type: "number", step: "any", required: true });
    input.value = value;
    return [h("label", { for: `${id}-${name}` }, label), input];
  };
  const [from, upTo] = [field("from", "Positive from", good), field("to", "Negative up to", bad)];
  put(place, h("div", { class: "pair" }, h("div", {}, from), h("div", {}, upTo)), h("p", { class: "hint" }, "What lies between is neutral."));
  return (value) => (toNumber(value) >= Number(from[1].value) ? "positive" : toNumber(value) <= Number(upTo[1].value) ? "negative" : "neutral");
}

function askWords(place, id, different) {
  if (different.length > MOST_VALUES) {
    put(place, h("p", { class: "wrong" }, `This column has ${different.length} different values; it is probably another one.`));
    return (value) => value;
  }
  const selects = different.map((value, number) => {
    const known = POLARITIES.find((name) => name.startsWith(value.toLowerCase().slice(0, 3)) && value.length >= 3);
    return h("select", { id: `${id}-value-${number}` }, POLARITIES.map((name) => h("option", { selected: name === known }, name)), h("option", { value: "", selected: !known }, "leave these rows out"));
  });
  put(place, different.map((value, number) => h("div", { class: "field" }, h("label", { for: `${id}-value-${number}` }, `“${value}” means`), selects[number])));
  return (value) => selects[different.indexOf(value)].value;
}
