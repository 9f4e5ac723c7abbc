// Overview: a file of reviews in, what they say on one page out. The file is read here; the service finds the aspects of a few
// reviews at a time, and at the end puts together what it found. It keeps none of it.

import { askPatiently, call } from "./api.js";
import { byId, h, put, show } from "./dom.js";
import { count, roughly } from "./format.js";
import { status } from "./status.js";
import { summaryView } from "./summary.js";
import { guessColumns, OLD, parseTable, textOf } from "./table.js";
import { save, sorry } from "./talk.js";
import { slice } from "./words.js";

const TOGETHER = 8; // reviews in a request
const LONGEST = 10000; // characters of a review
const CHARACTERS = 20000; // in a request
const MOST = 5000; // reviews; more are for the command line
const USUAL = 500; // reviews that are read unless somebody wants more
const ASPECTS = 64; // of one review

let stop = null;

export function start() {
  const drop = byId("gather-drop");
  byId("gather-file").addEventListener("change", () => {
    const [file] = byId("gather-file").files;
    byId("gather-file").value = "";
    take(file);
  });
  for (const event of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(event, (dragged) => {
      dragged.preventDefault();
      drop.classList.toggle("over", event === "dragover");
      if (event === "drop") take(dragged.dataTransfer.files[0]);
    });
  }
}

export function enter() {}

export function leave() {}

export function look(now) {
  const able = now.ready && now.finds;
  show(byId("gathering"), able);
  show(byId("gather-not"), !able);
  if (able) return;
  put(byId("gather-not"), now.ready || now.version
    ? "The live version cannot find aspects: it was taught without a finder, or before there was one. A store that is made anew finds them itself."
    : ["It has not learned anything yet. ", h("a", { href: "#teach" }, "Teach it a domain"), "."]);
}

async function take(file) {
  stop?.abort();
  if (!file) return;
  const place = byId("gathered");
  try {
    const { text, old } = await textOf(file);
    const table = parseTable(text, file.name);
    put(place, h("h2", {}, file.name), old ? h("p", { class: "hint" }, OLD) : null, form(file, table, await guessColumns(table)));
  } catch (problem) {
    put(place, sorry({ code: "file", message: `The file ${file.name} cannot be read: ${problem.message}`, fix: "take a CSV, TSV or JSONL file with a review in each row" }));
  }
}

/** Which column is what, and how many reviews to read. */
function form(file, { columns, rows }, guess) {
  const choice = (name, label, none) => {
    const select = h("select", { id: `gather-${name}`, required: none === null },
      none === null ? h("option", { value: "", disabled: true, selected: guess[name] === null && columns.length > 1 }, "choose a column") : h("option", { value: "", selected: guess[name] === null }, none),
      columns.map((column, number) => h("option", { value: String(number), selected: number === guess[name] || (none === null && columns.length === 1) }, column)));
    return [select, h("div", { class: "field" }, h("label", { for: select.id }, label), select)];
  };
  const [text, textField] = choice("sentence", "Review", null);
  const [date, dateField] = choice("date", "Date", "no dates");
  const [product, productField] = choice("product", "Product", "no products");
  const many = h("input", { id: "gather-many", type: "number", min: "1", max: String(Math.min(rows.length, MOST)), required: true });
  many.value = Math.min(rows.length, USUAL);
  const made = h("form", { class: "start" }, h("h3", {}, "Which column is what?"), textField, h("div", { class: "pair" }, dateField, productField),
    h("div", { class: "field" }, h("label", { for: "gather-many" }, `How many of the ${count(rows.length, "review")}`), many,
      h("p", { class: "hint" }, "They are taken evenly from the whole file.", rows.length > MOST ? [" For more than ", MOST.toLocaleString(), ": ", h("code", {}, "classic summarise"), "."] : null)),
    h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, "Read them")));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const cell = ({ cells }, select) => (select.value === "" ? null : cells[Number(select.value)].trim().slice(0, 200) || null);
    const wanted = Math.min(Number(many.value), rows.length);
    const taken = rows.filter((_, place) => Math.floor((place * wanted) / rows.length) !== Math.floor(((place + 1) * wanted) / rows.length));
    const reviews = taken.map((row) => ({ line: row.line, text: slice(row.cells[Number(text.value)].trim(), 0, LONGEST), date: cell(row, date), product: cell(row, product) }));
    const filled = reviews.filter((review) => review.text);
    read(file, filled, reviews.length - filled.length);
  });
  return made;
}

async function read(file, reviews, empty) {
  const place = byId("gathered");
  const mine = (stop = new AbortController());
  const bar = h("progress", { max: String(Math.max(1, reviews.length)), value: "0", "aria-label": "Read so far" });
  const said = h("p", { class: "hint", role: "status" }, "Reading …");
  const button = h("button", { type: "button", on: { click: () => mine.abort() } }, "Stop and show what is read");
  put(place, h("h2", {}, file.name), bar, said, h("p", { class: "actions" }, button));
  const rows = [];
  const began = performance.now();
  try {
    for (const some of batches(reviews)) {
      rows.push(...(await askPatiently(some, (asked) => find(asked, mine.signal), ({ line, date, product }) => ({ line, date, product, aspects: [] }), mine.signal)));
      bar.value = rows.length;
      const left = ((performance.now() - began) / 1000 / rows.length) * (reviews.length - rows.length);
      put(said, `${rows.length.toLocaleString()} of ${count(reviews.length, "review")}`, left >= 1 ? `; ${roughly(left)} left` : "");
    }
  } catch (problem) {
    if (stop !== mine) return; // another file was taken
    if (!mine.signal.aborted) return put(place, sorry(problem, () => read(file, reviews, empty)));
  }
  if (stop !== mine) return;
  if (!rows.length) return put(place, h("p", { class: "note" }, "There is no review to read in that column."));
  finish(file, rows, reviews.length, empty);
}

function* batches(reviews) {
  let [some, size] = [[], 0];
  for (const review of reviews) {
    if (some.length && (some.length === TOGETHER || size + review.text.length > CHARACTERS)) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(review);
    size += review.text.length;
  }
  if (some.length) yield some;
}

async function find(reviews, signal) {
  const body = { texts: reviews.map(({ text }) => text), deadline_ms: 60000 };
  if (status.scenario === "til") body.domain = byId("domain").value;
  const { results } = await call("/v1/find", { body, signal });
  return reviews.map(({ line, text, date, product }, number) => ({ line, date, product, aspects: results[number].aspects.slice(0, ASPECTS).map((each) => entry(text, each)) }));
}

/** A found aspect as the summary wants it: its sentence, and its place there. */
function entry(text, { aspect, span, sentence: [first, last], confidence, polarity, probabilities, unfamiliar }) {
  return { aspect, sentence: slice(text, first, last), start: span[0] - first, end: span[1] - first, confidence, polarity, probability: probabilities[polarity], unfamiliar };
}

async function finish(file, rows, wanted, empty) {
  const place = byId("gathered");
  const title = file.name.replace(/\.[^.]*$/, "");
  put(place, h("h2", {}, file.name), h("p", { class: "hint", role: "status" }, "Putting it together …"));
  try {
    const made = await call("/v1/summary", { body: { title: title.slice(0, 200) || "reviews", source: file.name.slice(0, 200), rows } });
    const undated = made.summary.reviews_without_date;
    const download = (name, content, type) => h("button", { type: "button", on: { click: () => save(new Blob([content], { type }), `${title}.${name}`) } }, `Download ${title}.${name}`);
    put(place, h("h2", { tabindex: "-1", id: "gathered-title" }, file.name),
      h("p", { class: "hint", role: "status" }, rows.length < wanted ? `Stopped: ${rows.length.toLocaleString()} of ${count(wanted, "review")} read.` : `${count(rows.length, "review")} read.`, empty ? ` ${count(empty, "row")} without a text left out.` : "",
        undated ? ` ${count(undated, "review")} without a date that could be read.` : "", ` Found and judged by version ${made.version}.`),
      h("p", { class: "actions" }, download("summary.html", made.html, "text/html"), download("summary.csv", made.csv, "text/csv")),
      summaryView(made.summary));
    byId("gathered-title").focus({ preventScroll: true });
  } catch (problem) {
    put(place, sorry(problem, () => finish(file, rows, wanted, empty)));
  }
}
