// Teach: a file is looked at and mended, then learned while one watches, then published or not.

import { call, request } from "./api.js";
import { corrections, forgetCorrections, onCorrections } from "./corrections.js";
import { byId, h, put, show } from "./dom.js";
import { classes, count, when } from "./format.js";
import { makeLesson } from "./lesson.js";
import { asJsonl, makePreview } from "./preview.js";
import { status } from "./status.js";
import { save, sorry } from "./talk.js";

const ENDED = { published: "published", discarded: "discarded", cancelled: "cancelled", failed: "failed" };
let lesson = null;
let preview = null;
let entered = false;

export function start() {
  lesson = makeLesson(byId("lesson"), arrange);
  preview = makePreview(byId("preview"), (job) => {
    lesson.follow(job.id);
    lesson.resume();
    arrange();
  });
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    byId("file").value = ""; // so that the same file, mended elsewhere, can be chosen again
    if (file) take(file);
  });
  const drop = byId("drop");
  for (const event of ["dragenter", "dragover"]) drop.addEventListener(event, (e) => (e.preventDefault(), drop.classList.add("over")));
  for (const event of ["dragleave", "drop"]) drop.addEventListener(event, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  // A file dropped beside the field would make the browser leave the page.
  for (const event of ["dragover", "drop"]) addEventListener(event, (e) => e.preventDefault());
  onCorrections(showCorrections);
  showCorrections();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) lesson.pause();
    else if (entered) lesson.resume();
  });
}

export function enter() {
  entered = true;
  lesson.resume();
  arrange();
}

export function leave() {
  entered = false;
  lesson.pause(); // a browser has few connections to one host; unseen screens hold none
}

export function look(now) {
  if (now.keeps_texts) put(byId("kept"), "This store’s method keeps some of the texts, word for word; whoever has the store can read them.");
  if (!now.open_job || now.open_job === lesson.id || now.open_job === lesson.closed) return;
  lesson.follow(now.open_job);
  if (!entered) return;
  lesson.resume();
  arrange();
}

/** Shows the parts that fit the state, and what happened before. */
async function arrange() {
  const idle = lesson.id === null;
  show(byId("upload"), idle);
  if (!entered) return;
  try {
    const [{ jobs }, { samples }] = await Promise.all([call("/v1/jobs"), call("/v1/samples")]);
    const over = jobs.filter((job) => job.state in ENDED && job.id !== lesson.id).slice(0, 8);
    show(byId("earlier"), over.length > 0);
    put(byId("lessons"), over.map(earlier));
    const fresh = samples.filter((sample) => !sample.learned);
    show(byId("samples"), fresh.length > 0);
    put(byId("samples"), h("span", {}, "Nothing at hand? Take a sample:"), fresh.map(sampleButton));
  } catch (problem) {
    if (idle) put(byId("preview"), sorry(problem, arrange));
  }
}

/** What was corrected in Try: to be looked at like a file, taken away, or forgotten. With another file it goes along. */
function showCorrections() {
  const rows = corrections();
  show(byId("corrections"), rows.length > 0);
  const button = (label, act) => h("button", { type: "button", class: "small", on: { click: act } }, label);
  const file = () => Object.assign(new File([asJsonl(rows)], "corrections.jsonl"), { corrections: true });
  put(byId("corrections"),
    h("p", {}, h("strong", {}, `${count(rows.length, "answer")} corrected in Try.`), " What you corrected goes along with the next file you teach, or can be a lesson of its own."),
    h("p", { class: "actions" }, button("Look at them", () => preview.take(file())), button("Download", () => save(file(), "corrections.jsonl")), button("Forget them", forgetCorrections)));
}

function earlier(job) {
  const how = job.override ? "published against the gate" : ENDED[job.state];
  const review = () => {
    lesson.follow(job.id);
    lesson.resume();
    arrange();
    scrollTo(0, 0);
  };
  // Not beside an open lesson: that one is always shown.
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Look at the lesson ${job.domain}`, on: { click: review } }, "Look");
  return h("li", { class: "earlier" }, lesson.id === null ? button : null, h("b", {}, job.domain), ` ${how}${job.version && job.state === "published" ? ` as version ${job.version}` : ""}`,
    h("span", { class: "muted" }, ` · ${classes(job.counts)} · ${when(job.changed)}`));
}

function sampleButton({ name, rows }) {
  const use = async () => {
    try {
      const content = await (await request(`/v1/samples/${name}`)).blob();
      take(new File([content], `${name}.jsonl`));
    } catch (problem) {
      put(byId("preview"), sorry(problem));
    }
  };
  return h("button", { type: "button", class: "example", on: { click: use } }, `${name.replaceAll("_", " ")} (${count(rows, "row")})`);
}

function take(file) {
  if (status && file.size > status.limits.teach_bytes) {
    const message = `the file has ${(file.size / 2 ** 20).toFixed(1)} MiB; at most ${status.limits.teach_bytes / 2 ** 20} can be taught at once`;
    put(byId("preview"), sorry({ code: "too_large", message, fix: "split it" }));
    return;
  }
  preview.take(file);
}
