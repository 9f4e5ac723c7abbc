// A file before it is learned: what is in it, which column is what, what is wrong with it, mended in place.

import { call } from "./api.js";
import { corrections, forgetCorrections } from "./corrections.js";
import { h, put } from "./dom.js";
import { classes, count } from "./format.js";
import { mappingForm } from "./mapping.js";
import { goodRows, mendingForm } from "./rows.js";
import { guessColumns, parseTable } from "./table.js";
import { busy, sentence, sorry } from "./talk.js";

const MOST = 50; // rows mended at a time

/**
 * @param {HTMLElement} place  where it goes
 * @param {(job: object) => void} onStart  told the job that was started
 */
export function makePreview(place, onStart) {
  let file = null; // what was dropped
  let form = null; // its format, as the service found it
  let rows = null; // what the service read; mended ones in place, removed ones gone
  let changed = false; // the rows are no longer those of the file

  async function take(given) {
    [file, form, rows, changed] = [given, null, null, false];
    await check(given, null);
  }

  /** Lets the service look at the file, or at rows made of it; `sent` are these rows, or null. */
  async function check(body, sent) {
    put(place, h("p", { class: "hint", role: "status" }, `Reading ${file.name} …`));
    try {
      const report = await call("/v1/teach/check", { body, type: sent ? "application/jsonl" : "application/octet-stream" });
      if (sent) asInTheFile(report, sent);
      form ??= report.format;
      rows = report.rows;
      await render(report);
    } catch (problem) {
      put(place, sorry(problem, () => check(body, sent)));
    }
  }

  function checkRows(some) {
    changed = true;
    return check(asJsonl(some), some);
  }

  async function render(report) {
    const whole = report.more === 0; // else some good rows are known to the file only
    const title = h("h2", { tabindex: "-1" }, file.name);
    const table = !changed && (report.file_error || report.bad) ? await asTable(file) : null;
    const unread = table && (report.count === 0 || report.bad === report.count); // then the columns are probably others
    const mapping = table ? mappingForm(table, await guessColumns(table), { labelled: true, submit: "Look at the rows" }, checkRows) : null;
    put(place, title,
      unread ? h("p", { class: "note", role: "status" }, "Its columns are not the usual ones (sentence, aspect, polarity). Say which is what, and it can be taught.") : summary(report),
      report.file_error && !unread ? fileError(report.file_error) : null,
      unread ? mapping : null,
      report.bad && !unread ? mending(report, whole) : null,
      mapping && !unread ? h("details", {}, h("summary", {}, "Are the columns meant differently?"), mapping) : null,
      report.findings.length ? findings(report.findings) : null,
      report.usable ? startForm(whole) : null,
      goodRows(rows.filter((row) => !row.errors.length), report.more));
    title.focus();
  }

  function summary({ count: total, bad, counts }) {
    const good = total - bad;
    return h("p", { class: "summary", role: "status" },
      h("span", {}, form ? `${form.toUpperCase()}, ` : "", count(total, "row")), " · ",
      h("span", {}, good ? `${good.toLocaleString()} good: ${classes(counts)}` : "none good"),
      bad ? [" · ", h("strong", {}, `${bad.toLocaleString()} bad`)] : null);
  }

  function mending(report, whole) {
    const bad = rows.filter((row) => row.errors.length);
    const removed = new Set();
    const mended = h("form", { class: "mending" },
      h("h3", {}, count(bad.length, "row needs", "rows need"), " mending"),
      whole ? null : h("p", { class: "hint" }, "The file is too long to be mended here: mend these lines in it, then drop it again."),
      bad.slice(0, MOST).map((row) => mendingForm(row, whole, (element) => {
        removed.add(row);
        element.remove();
      })),
      bad.length > MOST ? h("p", { class: "hint" }, `These are the first ${MOST}; it may be easier to mend the file.`) : null,
      whole ? h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, "Check again")) : null);
    mended.addEventListener("submit", (event) => {
      event.preventDefault();
      checkRows(rows.filter((row) => !removed.has(row)));
    });
    return mended;
  }

  function startForm(whole) {
    const name = h("input", { id: "new-domain", type: "text", required: true, maxlength: "80", autocomplete: "off", value: nameOf(file) });
    const keep = h("input", { id: "keep-test", type: "checkbox", "aria-describedby": "keep-hint" });
    const auto = h("input", { id: "auto-publish", type: "checkbox", "aria-describedby": "auto-hint" });
    const begin = h("button", { type: "submit", class: "primary" }, "Start to teach");
    const trouble = h("div");
    const extra = whole ? corrections().filter((row) => !rows.some((each) => each.sentence === row.sentence && each.aspect === row.aspect)) : [];
    const along = h("input", { id: "with-corrections", type: "checkbox", checked: true });
    const element = h("form", { class: "start" },
      h("label", { for: "new-domain" }, "Name of the domain"), name,
      extra.length ? h("div", { class: "choice" }, along, h("label", { for: "with-corrections" }, `Also teach ${count(extra.length, "answer")} corrected in Try`)) : null,
      h("div", { class: "choice" }, keep, h("label", { for: "keep-test" }, "Keep a tenth of the rows as a test"),
        h("p", { class: "hint", id: "keep-hint" }, "Later versions are then compared on these rows. They stay in the store’s folder; without them an approximate comparison is made.")),
      h("div", { class: "choice" }, auto, h("label", { for: "auto-publish" }, "Publish by itself if nothing suffers"),
        h("p", { class: "hint", id: "auto-hint" }, "Otherwise you decide when it has been learned.")),
      trouble,
      h("p", { class: "actions" }, begin));
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      busy(begin, trouble, async () => {
        const query = new URLSearchParams({ domain: name.value.trim(), publish: auto.checked ? "auto" : "ask", keep_test: keep.checked });
        const more = extra.length && along.checked ? extra : [];
        const [body, type] = changed || more.length ? [asJsonl([...rows, ...more]), "application/jsonl"] : [file, "application/octet-stream"];
        const job = await call(`/v1/teach?${query}`, { body, type });
        if (more.length || file.corrections) forgetCorrections();
        put(place);
        onStart(job);
      });
    });
    return element;
  }

  return { take };
}

/** A name for the domain of a file, of letters that it may have: browsers call the second download of one "reviews (1).csv". */
function nameOf(file) {
  return file.name.normalize().replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_.\-]+/gu, " ").slice(0, 80).trim();
}

/** What the service wants back: one object per line; a position only where there is one. */
export function asJsonl(rows) {
  const number = (value) => (/^\d+$/.test(value) ? Number(value) : value);
  return rows.map(({ sentence: text, aspect, polarity, start, end }) => {
    const row = { sentence: text, aspect, polarity };
    if (start !== null) row.start = number(start);
    if (end !== null) row.end = number(end);
    return `${JSON.stringify(row)}\n`;
  }).join("");
}

/** A report on rows that were sent as JSON lines, with the lines the reader knows: those of the file. */
function asInTheFile(report, sent) {
  const place = (each) => {
    if (each?.line) each.line = sent[each.line - 1]?.line ?? null;
    if (each && "column" in each) each.column = null;
  };
  for (const row of report.rows) [row, ...row.errors].forEach(place);
  [report.file_error, ...report.findings].forEach(place);
}

/** The file as a table; null if it is none. */
async function asTable(file) {
  const text = await file.text();
  if (/[\0\uFFFD]/.test(text.slice(0, 4096))) return null;
  try {
    const table = parseTable(text);
    return table.columns.length > 1 ? table : null;
  } catch {
    return null;
  }
}

function fileError({ line, column, problem, expected, fix }) {
  const where = line ? `Line ${line}${column ? `, column ${column}` : ""}: ` : "";
  const told = `${where}${problem}${expected ? `; expected ${expected}` : ""}`;
  return h("div", { class: "note bad", role: "alert" },
    h("p", {}, h("strong", {}, "This file cannot be taught as it is."), ` ${sentence(told)} `, fix ? sentence(fix) : null));
}

function findings(list) {
  const lines = h("ul", {}, list.map(({ line, message }) => h("li", {}, line ? `Line ${line}: ` : "", message)));
  return h("details", { class: "note" }, h("summary", {}, count(list.length, "thing"), " worth a look; it can be taught all the same"), lines);
}
