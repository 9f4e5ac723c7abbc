// A file of reviews in, a CSV of answers out. The file is read here; the service is asked a few rows at a time.

import { askPatiently, call } from "./api.js";
import { byId, h, put } from "./dom.js";
import { count, roughly } from "./format.js";
import { mappingForm } from "./mapping.js";
import { asCsv, guessColumns, OLD, parseTable, textOf } from "./table.js";
import { save, sorry } from "./talk.js";

const TOGETHER = 32; // rows in a request
const LONGEST = 10000; // characters of a text
const ANSWER = ["polarity", "positive", "negative", "neutral", "nearest_domain", "unfamiliar", "version", "problem"];

/**
 * @param {HTMLElement} place  a details element with #bulk-file and #bulk-work in it
 * @param {() => string | null} domain  the domain to tell the store, where it wants one
 */
export function makeBulk(place, domain) {
  const work = byId("bulk-work");
  let stop = null;

  byId("bulk-file").addEventListener("change", async () => {
    const [file] = byId("bulk-file").files;
    byId("bulk-file").value = "";
    stop?.abort();
    if (!file) return;
    try {
      const { text, old } = await textOf(file);
      const table = parseTable(text);
      const submit = `Answer ${count(table.rows.length, "row")}`;
      put(work, h("h3", {}, file.name), old ? h("p", { class: "hint" }, OLD) : null, mappingForm(table, await guessColumns(table), { labelled: false, submit }, (rows) => answer(file, table.columns, rows)));
    } catch (problem) {
      put(work, sorry({ code: "file", message: `The file ${file.name} cannot be read: ${problem.message}`, fix: "take a CSV, TSV or JSONL file with a row for each review and aspect" }));
    }
  });

  async function answer(file, columns, rows) {
    const mine = (stop = new AbortController());
    const bar = h("progress", { max: String(rows.length), value: "0", "aria-label": "Answered so far" });
    const said = h("p", { class: "hint", role: "status" }, "Asking …");
    put(work, h("h3", {}, file.name), bar, said, h("p", { class: "actions" }, h("button", { type: "button", on: { click: () => mine.abort() } }, "Stop")));
    const answers = [];
    const began = performance.now();
    try {
      for (let at = 0; at < rows.length; at += TOGETHER) {
        answers.push(...(await askRows(rows.slice(at, at + TOGETHER), domain(), mine.signal)));
        bar.value = answers.length;
        const left = ((performance.now() - began) / 1000 / answers.length) * (rows.length - answers.length);
        put(said, `${answers.length.toLocaleString()} of ${count(rows.length, "row")}`, left >= 1 ? `; ${roughly(left)} left` : "");
      }
    } catch (problem) {
      if (!mine.signal.aborted) return put(work, sorry(problem, () => answer(file, columns, rows)));
    }
    finish(file, columns, rows, answers);
  }

  function finish(file, columns, rows, answers) {
    const name = `${file.name.replace(/\.[^.]*$/, "")}.answers.csv`;
    const table = [[...columns, ...ANSWER], ...answers.map((each, number) => [...rows[number].cells, ...each])];
    const download = () => save(new Blob([asCsv(table)], { type: "text/csv" }), name);
    const bad = answers.filter((each) => each.at(-1)).length;
    const unlike = answers.filter((each) => each[5] === true).length;
    const tally = ["positive", "negative", "neutral"].map((polarity) => `${answers.filter((each) => each[0] === polarity).length} ${polarity}`).join(", ");
    put(work, h("h3", {}, file.name),
      h("p", { role: "status" }, answers.length < rows.length ? `Stopped after ${answers.length} of ${count(rows.length, "row")}: ` : `${count(answers.length, "row")}: `, tally, bad ? `, ${bad} not answered` : "", ".",
        unlike ? ` ${unlike} of them are unlike all it has learned.` : ""),
      h("p", { class: "actions" }, h("button", { type: "button", class: "primary", disabled: !answers.length, on: { click: download } }, `Download ${name}`)));
  }
}

async function askRows(rows, domain, signal) {
  const good = rows.filter((row) => !wrong(row));
  const said = new Map(good.length ? await askGood(good, domain, signal) : []);
  return rows.map((row) => said.get(row) ?? unanswered(wrong(row)));
}

const unanswered = (problem) => [...ANSWER.slice(1).map(() => ""), problem];

function wrong({ sentence, aspect }) {
  if (!sentence || !aspect) return sentence ? "no aspect" : "no review";
  return sentence.length > LONGEST || aspect.length > LONGEST ? "too long" : "";
}

/** [row, cells] of each; what the service refuses is found by asking for less. */
async function askGood(rows, domain, signal) {
  const ask = async (some) => {
    const body = { inputs: some.map(({ sentence, aspect }) => ({ sentence, aspects: [aspect] })), deadline_ms: 60000 };
    if (domain) body.domain = domain;
    const { version, results } = await call("/v1/predict", { body, signal });
    return some.map((row, number) => [row, cells(results[number].aspects[0], version)]);
  };
  return askPatiently(rows, ask, (row, problem) => [row, unanswered(problem.message)], signal);
}

function cells({ polarity, probabilities, nearest_domain: domain, unfamiliar }, version) {
  const share = (name) => probabilities[name].toFixed(4);
  return [polarity, share("positive"), share("negative"), share("neutral"), domain, unfamiliar, version, ""];
}
