// A file before it is learned: what is in it, what is wrong with it, mended in place.

import { call } from "./api.js";
import { h, put } from "./dom.js";
import { classes, count } from "./format.js";
import { goodRows, mendingForm } from "./rows.js";
import { busy, sentence, sorry } from "./talk.js";

const MOST = 50; // rows mended at a time

/**
 * @param {HTMLElement} place  where it goes
 * @param {(job: object) => void} onStart  told the job that was started
 */
export function makePreview(place, onStart) {
  let file = null; // what was dropped
  let rows = null; // what the service read; mended ones in place, removed ones gone
  let changed = false; // the rows are no longer those of the file

  async function take(given) {
    [file, rows, changed] = [given, null, false];
    await check(given, "application/octet-stream");
  }

  async function check(body, type) {
    put(place, h("p", { class: "hint", role: "status" }, `Reading ${file.name} …`));
    try {
      const report = await call("/v1/teach/check", { body, type });
      rows = report.rows;
      render(report);
    } catch (problem) {
      put(place, sorry(problem, () => check(body, type)));
    }
  }

  function render(report) {
    const whole = report.more === 0; // else some good rows are known to the file only
    const title = h("h2", { tabindex: "-1" }, file.name);
    put(place, title, summary(report),
      report.file_error ? fileError(report.file_error) : null,
      report.bad ? mending(report, whole) : null,
      report.findings.length ? findings(report.findings) : null,
      report.usable ? startForm() : null,
      goodRows(rows.filter((row) => !row.errors.length), report.more));
    title.focus();
  }

  function mending(report, whole) {
    const bad = rows.filter((row) => row.errors.length);
    const removed = new Set();
    const form = h("form", { class: "mending" },
      h("h3", {}, count(bad.length, "row needs", "rows need"), " mending"),
      whole ? null : h("p", { class: "hint" }, "The file is too long to be mended here: mend these lines in it, then drop it again."),
      bad.slice(0, MOST).map((row) => mendingForm(row, whole, (element) => {
        removed.add(row);
        element.remove();
      })),
      bad.length > MOST ? h("p", { class: "hint" }, `These are the first ${MOST}; it may be easier to mend the file.`) : null,
      whole ? h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, "Check again")) : null);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      changed = true;
      check(asJsonl(rows.filter((row) => !removed.has(row))), "application/jsonl");
    });
    return form;
  }

  function startForm() {
    const name = h("input", { id: "new-domain", type: "text", required: true, maxlength: "64", autocomplete: "off", value: file.name.replace(/\.[^.]*$/, "").slice(0, 64) });
    const keep = h("input", { id: "keep-test", type: "checkbox", "aria-describedby": "keep-hint" });
    const auto = h("input", { id: "auto-publish", type: "checkbox", "aria-describedby": "auto-hint" });
    const begin = h("button", { type: "submit", class: "primary" }, "Start to teach");
    const trouble = h("div");
    const form = h("form", { class: "start" },
      h("label", { for: "new-domain" }, "Name of the domain"), name,
      h("div", { class: "choice" }, keep, h("label", { for: "keep-test" }, "Keep a tenth of the rows as a test"),
        h("p", { class: "hint", id: "keep-hint" }, "Later versions are then compared on these rows. They stay in the store’s folder; without them an approximate comparison is made.")),
      h("div", { class: "choice" }, auto, h("label", { for: "auto-publish" }, "Publish by itself if nothing suffers"),
        h("p", { class: "hint", id: "auto-hint" }, "Otherwise you decide when it has been learned.")),
      trouble,
      h("p", { class: "actions" }, begin));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      busy(begin, trouble, async () => {
        const query = new URLSearchParams({ domain: name.value.trim(), publish: auto.checked ? "auto" : "ask", keep_test: keep.checked });
        const [body, type] = changed ? [asJsonl(rows), "application/jsonl"] : [file, "application/octet-stream"];
        const job = await call(`/v1/teach?${query}`, { body, type });
        put(place);
        onStart(job);
      });
    });
    return form;
  }

  return { take };
}

/** What the service wants back: one object per line; a position only where there is one. */
function asJsonl(rows) {
  const number = (value) => (/^\d+$/.test(value) ? Number(value) : value);
  return rows.map(({ sentence: text, aspect, polarity, start, end }) => {
    const row = { sentence: text, aspect, polarity };
    if (start !== null) row.start = number(start);
    if (end !== null) row.end = number(end);
    return `${JSON.stringify(row)}\n`;
  }).join("");
}

function summary({ format, count: total, bad, counts }) {
  const good = total - bad;
  return h("p", { class: "summary", role: "status" },
    h("span", {}, format ? `${format.toUpperCase()}, ` : "", count(total, "row")), " · ",
    h("span", {}, good ? `${good.toLocaleString()} good: ${classes(counts)}` : "none good"),
    bad ? [" · ", h("strong", {}, `${bad.toLocaleString()} bad`)] : null);
}

function fileError({ line, column, problem, expected, fix }) {
  const where = line ? `Line ${line}${column ? `, column ${column}` : ""}: ` : "";
  return h("div", { class: "note bad", role: "alert" },
    h("p", {}, h("strong", {}, "This file cannot be taught as it is."), ` ${where}${where ? problem : sentence(problem)}`,
      expected ? `; expected ${expected}` : "", where || expected ? ". " : " ", fix ? sentence(fix) : null));
}

function findings(list) {
  const lines = h("ul", {}, list.map(({ line, message }) => h("li", {}, line ? `Line ${line}: ` : "", message)));
  return h("details", { class: "note" }, h("summary", {}, count(list.length, "thing"), " worth a look; it can be taught all the same"), lines);
}
