// A job: watched while it runs, judged when it has been learned, told of when it is over.

import { call } from "./api.js";
import { lineChart } from "./charts.js";
import { comparison } from "./comparison.js";
import { h, put } from "./dom.js";
import { classes, doing, percent } from "./format.js";
import { followJob } from "./events.js";
import { refresh } from "./status.js";
import { busy, question, sentence, sorry, tell } from "./talk.js";

const TITLES = {
  queued: "waits to be learned", running: "is being learned", ready: "has been learned", held: "has been learned, but something suffered",
  publishing: "is being published", published: "is published", discarded: "was discarded", cancelled: "was cancelled", failed: "could not be learned",
};
const OVER = ["published", "discarded", "cancelled", "failed"];

/**
 * @param {HTMLElement} place  where it goes
 * @param {() => void} onIdle  told when the reader is done with an ended job
 */
export function makeLesson(place, onIdle) {
  let id = null;
  let closed = null; // the last one the reader was done with; a status that was on its way may still name it
  let job = null;
  let lost = false;
  let stream = null;
  let parts = null; // elements that change while the job runs, so that nothing else has to be made again

  function follow(wanted) {
    stream?.abort();
    [id, job, lost, parts] = [wanted, null, false, null];
    put(place, h("p", { class: "hint" }, "Looking at the lesson …"));
  }

  function resume() {
    if (id === null || (job && OVER.includes(job.state))) return;
    stream?.abort();
    stream = new AbortController();
    followJob(id, stream.signal, take).catch((problem) => put(place, sorry(problem), done()));
  }

  function pause() {
    stream?.abort();
  }

  function take(event, data) {
    const wasLost = lost;
    lost = event === "lost";
    if (event === "job" || event === "end") {
      const same = job?.state === data.state; // a reconnection: what the reader types stays
      job = data;
      if (!same) render();
      if (event === "end") refresh();
    } else if (event === "progress" && job) {
      job.progress = data;
    } else if (event === "epoch" && job) {
      job.epochs = [...job.epochs.filter((each) => each.phase !== data.phase || each.epoch !== data.epoch), data];
    }
    if (parts && (event !== "lost" || !wasLost)) update(event !== "progress");
  }

  function render() {
    const title = h("h2", {}, h("span", { class: "name" }, job.domain), ` ${TITLES[job.state]}`);
    const running = job.state === "queued" || job.state === "running";
    parts = running ? watching() : null;
    put(place, h("article", { class: "lesson" },
      h("div", { role: "status" }, title, h("p", { class: "hint" }, classes(job.counts), job.base ? ` · grows from version ${job.base}` : "")),
      parts?.element,
      running ? cancelling() : null,
      job.state === "failed" && job.error ? sorry({ ...job.error, code: "failed" }) : null,
      job.state === "published" ? published() : null,
      job.gate ? comparison(job.gate) : null,
      job.state === "ready" || job.state === "held" ? deciding() : null,
      !running && job.epochs.length ? h("details", {}, h("summary", {}, "How it was learned"), h("div", { class: "charts" }, charts(job.epochs))) : null,
      OVER.includes(job.state) ? done() : null));
    if (parts) update(true);
  }

  function watching() {
    const bar = h("progress", { max: "1", "aria-label": "Learned so far" });
    const left = h("p", { class: "big" });
    const step = h("p", { class: "hint" });
    const terms = h("p", { class: "hint mono" });
    const asked = h("details", { class: "terms" }, h("summary", {}, "Terms of the loss"), terms);
    const drawn = h("div", { class: "charts" });
    return { bar, left, step, terms, drawn, element: h("div", {}, left, bar, step, drawn, asked) };
  }

  function update(redraw) {
    const now = job.progress;
    put(parts.left, sentence(`${doing(now)} …`));
    if (typeof now?.done === "number") parts.bar.value = now.done;
    else parts.bar.removeAttribute("value");
    if (now?.terms) {
      put(parts.terms, Object.entries(now.terms).map(([name, value]) => `${name} ${value.toFixed(3)}`).join(" · "));
      put(parts.step, `Epoch ${now.epoch + 1} of ${now.epochs}, batch ${now.batch + 1} of ${now.batches}; then it is tested`);
    } else put(parts.step);
    if (lost) put(parts.step, "The connection broke off; the lesson goes on, and so will this page.");
    if (redraw) put(parts.drawn, charts(job.epochs));
  }

  function cancelling() {
    const trouble = h("div");
    const button = h("button", { type: "button" }, "Cancel");
    button.addEventListener("click", async () => {
      const sure = await question({ title: `Stop learning ${job.domain}?`, text: "What it has learned of this domain so far is thrown away, and so is the file.", yes: "Stop" });
      if (sure) act(button, trouble, "cancel");
    });
    return h("div", {}, trouble, h("p", { class: "actions" }, button));
  }

  function deciding() {
    const trouble = h("div");
    const held = job.state === "held";
    const publish = h("button", { type: "submit", class: held ? null : "primary" }, held ? "Publish all the same" : "Publish");
    const discard = h("button", { type: "button" }, "Discard");
    const reason = h("input", { id: "override-reason", type: "text", required: true, maxlength: "500", autocomplete: "off" });
    const form = h("form", { class: "deciding" },
      held ? [h("label", { for: "override-reason" }, "Why publish it all the same? The reason is recorded."), reason] : null,
      trouble,
      h("p", { class: "actions" }, publish, discard));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act(publish, trouble, "publish", held ? { override: true, reason: reason.value.trim() } : { override: false });
    });
    discard.addEventListener("click", async () => {
      const sure = await question({ title: `Discard ${job.domain}?`, text: "The new version and the file are thrown away. What is live stays as it is.", yes: "Discard" });
      if (sure) act(discard, trouble, "discard");
    });
    return form;
  }

  async function act(button, trouble, verb, body) {
    const answer = await busy(button, trouble, () => call(`/v1/jobs/${id}/${verb}`, { method: "POST", body }));
    if (!answer) return;
    if (answer.state !== job.state) take("job", answer); // the stream may have told it already
    if (verb === "publish") tell(`Version ${answer.version} is live.`);
    refresh();
  }

  function published() {
    return h("div", { class: "note good" },
      h("p", {}, h("strong", {}, `Published as version ${job.version}.`), " The file has been deleted.",
        job.override ? ` Against the gate: ${sentence(job.override.reason)}` : ""),
      h("p", { class: "actions" }, h("a", { class: "button", href: "#try" }, "Try it"), h("a", { class: "button", href: "#inspect" }, "Inspect it")));
  }

  function done() {
    const close = () => {
      stream?.abort();
      [closed, id, job, parts] = [id, null, null, null];
      put(place);
      onIdle();
    };
    return h("p", { class: "actions" }, h("button", { type: "button", on: { click: close } }, "Teach another domain"));
  }

  return { follow, resume, pause, get id() { return id; }, get closed() { return closed; } };
}

function charts(epochs) {
  if (!epochs.length) return null;
  const losses = { training: epochs.map(({ terms }) => terms.ce ?? null), validation: epochs.map((each) => each.valid_loss) };
  const usage = epochs.map((each) => each.mask_usage);
  return [
    lineChart("Classification loss by epoch", losses, (value) => value.toFixed(3)),
    lineChart("Validation macro-F1 by epoch", { "macro-F1": epochs.map((each) => each.valid_f1) }, percent, 1),
    usage.some((each) => each !== null) ? lineChart("Mask usage: share of all units", { units: usage }, percent, 1) : null,
  ];
}
