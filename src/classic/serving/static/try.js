// Try: a review, the aspects marked in it, an answer for each at once, and then what spoke for it.

import { call } from "./api.js";
import { answerCard } from "./answers.js";
import { correct, correctionOf } from "./corrections.js";
import { byId, h, put, show } from "./dom.js";
import { roughly } from "./format.js";
import { makeBulk } from "./bulk.js";
import { makeMarker } from "./marking.js";
import { status } from "./status.js";
import { copy, sorry } from "./talk.js";
import { moveSpans, slice } from "./words.js";

const MOST = 16; // aspects of one review
const KEY = "classic-try"; // what was written, for this tab only: a reload loses nothing

let text = "";
let aspects = []; // {start, end} in the text, or {term}; each with its `answer` once there is one, and its `why`
let asked = null; // the request's body, and the service's answer to it
let running = null; // of the request under way
let explaining = null; // of the explanations under way
let timer = null;
let known = ""; // what of the status this screen depends on
let wait = null; // seconds until the first domain is learned, as the job says
let marker = null;

export function start() {
  marker = makeMarker(byId("words"), toggle);
  byId("review").addEventListener("input", () => edit(byId("review").value));
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    addTerm();
  });
  byId("domain").addEventListener("change", () => ask());
  byId("copy-json").addEventListener("click", () => copy(JSON.stringify(asked.answer, null, 2)));
  byId("copy-curl").addEventListener("click", () => copy(curl()));
  makeBulk(byId("bulk"), () => (status?.scenario === "til" ? byId("domain").value : null));
  remembered();
  render();
}

export function enter() {
  render();
}

export function leave() {}

/** Another version, or a first one: the answers on the screen are of the old one. */
export function look(now) {
  if (!now.ready && now.open_job) awaitLesson(now.open_job);
  const state = JSON.stringify([now.version, now.ready, now.scenario, now.open_job !== null]);
  if (state === known) return;
  known = state;
  show(byId("told"), now.scenario === "til");
  show(byId("bulk"), now.ready);
  if (now.scenario === "til") fillDomains();
  if (now.ready) fillExamples();
  else show(byId("examples"), false);
  if (!now.ready) for (const aspect of aspects) delete aspect.answer;
  if (aspects.length && now.ready && now.version !== asked?.answer.version) ask();
  else if (!running) render();
}

async function fillDomains() {
  const { domains } = await call("/v1/domains");
  const chosen = byId("domain").value;
  put(byId("domain"), domains.map(({ name }) => h("option", { selected: name === chosen }, name)));
}

/** Reviews the live version answers rightly; none where it has learned nothing but somebody's own domains. */
async function fillExamples() {
  let found = [];
  try {
    found = (await call("/v1/examples")).examples;
  } catch {
    // a full queue, or a version that has just gone: one can do without
  }
  show(byId("examples"), found.length > 0);
  const chip = ({ subject, domain, sentence, aspects: spans }) => {
    const take = () => {
      if (status.scenario === "til") byId("domain").value = domain;
      aspects = spans.map(({ start, end }) => ({ start, end }));
      text = byId("review").value = sentence;
      ask();
    };
    return h("button", { type: "button", class: "example", on: { click: take } }, subject.replaceAll("_", " "));
  };
  put(byId("examples"), h("span", {}, "Or take one:"), found.map(chip));
}

async function awaitLesson(id) {
  try {
    const { progress } = await call(`/v1/jobs/${id}`);
    wait = progress?.done < 1 ? progress.seconds_left : null;
  } catch {
    wait = null;
  }
  if (!status.ready) put(byId("answers-state"), say());
}

function edit(now) {
  const spans = moveSpans(text, now, aspects.filter((each) => "start" in each));
  aspects = [...spans, ...aspects.filter((each) => "term" in each).map(({ term }) => ({ term }))];
  text = now;
  ask(500);
}

function toggle(span) {
  const touches = (each) => "start" in each && each.start < span.end && span.start < each.end;
  const inside = aspects.find((each) => touches(each) && each.start <= span.start && span.end <= each.end);
  aspects = aspects.filter((each) => !touches(each));
  if (!inside && aspects.length < MOST) aspects.push(span);
  ask();
}

function addTerm() {
  const term = byId("term").value.trim();
  if (!term || aspects.some((each) => name(each) === term) || aspects.length === MOST) return;
  aspects.push({ term });
  byId("term").value = "";
  ask();
}

function name(aspect) {
  return aspect.term ?? slice(text, aspect.start, aspect.end);
}

/** Asks a moment later; what was asked before is dropped, here and in the service. */
function ask(delay = 50) {
  clearTimeout(timer);
  running?.abort();
  explaining?.abort();
  running = explaining = asked = null;
  remember();
  for (const aspect of aspects) delete aspect.why;
  if (text.trim() && aspects.length && status?.ready) {
    const mine = (running = new AbortController());
    timer = setTimeout(() => fetchAnswers(mine), delay);
  }
  render();
}

function question(about, attributions) {
  const body = {
    inputs: [{ sentence: text, aspects: about.map((each) => each.term ?? { start: each.start, end: each.end }) }],
    attributions,
    deadline_ms: 30000,
  };
  if (status.scenario === "til") body.domain = byId("domain").value;
  return body;
}

async function fetchAnswers(mine) {
  const body = question(aspects, false);
  try {
    const answer = await call("/v1/predict", { body, signal: mine.signal });
    if (mine.signal.aborted) return;
    asked = { body, answer };
    answer.results[0].aspects.forEach((each, number) => (aspects[number].answer = each));
    running = null;
    explain(aspects);
  } catch (problem) {
    if (mine.signal.aborted) return;
    running = null;
    render();
    put(byId("answers"), sorry(problem, () => ask()));
    put(byId("answers-state"));
  }
}

/** What spoke for each answer, one aspect after another; a new question or the reader ends it. */
async function explain(some) {
  explaining?.abort();
  const mine = (explaining = new AbortController());
  for (const aspect of some) aspect.why = { state: "waiting" };
  render();
  for (const aspect of some) {
    try {
      const { results } = await call("/v1/predict", { body: question([aspect], true), signal: mine.signal });
      const [{ words, too_long_to_explain: long }] = results[0].aspects;
      aspect.why = long ? { state: "long" } : { state: "known", words };
    } catch {
      if (mine.signal.aborted) return;
      aspect.why = { state: "not", again: () => explain([aspect]) };
    }
    if (mine.signal.aborted) return;
    aspect.redraw?.(); // that part of the card only: somebody may be at its buttons
  }
  explaining = null;
}

function stopExplaining() {
  explaining?.abort();
  explaining = null;
  const rest = aspects.filter(({ why }) => why?.state === "waiting");
  for (const aspect of rest) aspect.why = { state: "not", again: () => explain(rest) };
  render();
  byId("answers-title").focus();
}

function render() {
  show(byId("marking"), text.trim() !== "");
  marker.render(text, aspects.filter((each) => "start" in each).map(({ start, end, answer }) => ({ start, end, polarity: answer?.polarity })));
  put(byId("answers"), aspects.filter((each) => each.answer).map(card));
  byId("answers").setAttribute("aria-busy", String(running !== null));
  show(byId("copying"), asked !== null);
  put(byId("answers-state"), say());
}

function card(aspect) {
  const row = { sentence: text, aspect: name(aspect), start: aspect.start ?? null, end: aspect.end ?? null };
  return answerCard(text, row.aspect, aspect, {
    remove: () => drop(aspect),
    stop: stopExplaining,
    corrected: correctionOf(row),
    correct: (polarity) => correct({ ...row, polarity }),
  });
}

function drop(aspect) {
  aspects = aspects.filter((each) => each !== aspect);
  ask();
  byId("answers-title").focus(); // the button that had it is gone
}

function say() {
  if (status && !status.ready) return untaught();
  if (running) return "Asking …";
  if (!text.trim()) return "Paste a review to begin.";
  if (!aspects.length) return "Mark a word to see what the review says about it.";
  if (!asked) return "";
  const heard = aspects.map((each) => `${name(each)}: ${each.answer.polarity}. `); // the cards are seen; this is for the ear
  return [h("span", { class: "unseen" }, heard), `Answered by version ${asked.answer.version}.`];
}

function untaught() {
  if (status.version) return "The service is ending.";
  const left = wait === null ? "" : `; ${roughly(wait)} left`;
  if (status.open_job) return [`The first ${status.demo ? "demo " : ""}domain is being learned${left}. `, h("a", { href: "#teach" }, "Watch it"), "."];
  return ["It has not learned anything yet. ", h("a", { href: "#teach" }, "Teach it a domain"), "."];
}

function curl() {
  const quoted = JSON.stringify(asked.body).replaceAll("'", "'\\''");
  return `curl -s ${location.origin}/v1/predict -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${quoted}'`;
}

function remember() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ text, aspects: aspects.map(({ start, end, term }) => (term ? { term } : { start, end })) }));
  } catch {
    // storage may be forbidden or full; a reload then begins anew
  }
}

function remembered() {
  try {
    ({ text, aspects } = JSON.parse(sessionStorage.getItem(KEY)) ?? { text, aspects });
  } catch {
    // see above
  }
  byId("review").value = text;
}
