// Try: a review, the aspects found or marked in it, an answer for each at once, and then what spoke for it.

import { call } from "./api.js";
import { answerCard } from "./answers.js";
import { correct, correctionOf } from "./corrections.js";
import { byId, h, put, show } from "./dom.js";
import { doing } from "./format.js";
import { makeBulk } from "./bulk.js";
import { makeMarker } from "./marking.js";
import { status } from "./status.js";
import { copy, sorry } from "./talk.js";
import { moveSpans, slice } from "./words.js";

const MOST = 16; // aspects that may be marked in one review
const FEW = 3; // found aspects that are explained without being asked for: it costs a question per word
const KEY = "classic-try"; // what was written, for this tab only: a reload loses nothing

let text = "";
let aspects = []; // {start, end} in the text, or {term}; each with its `answer` once there is one, and its `why`; `found` if nobody marked it
let refused = []; // places of found aspects that the reader took away
let searched = null; // the last search: {key, version, answer}
let asked = null; // the request's body, and the service's answer to it
let running = null; // of the request under way
let explaining = null; // of the explanations under way
let timer = null;
let known = ""; // what of the status this screen depends on
let lesson = null; // what the job that learns the first domain is doing, as it says
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
  const state = JSON.stringify([now.version, now.ready, now.finds, now.scenario, now.open_job !== null]);
  if (state === known) return;
  known = state;
  show(byId("told"), now.scenario === "til");
  show(byId("bulk"), now.ready);
  if (now.scenario === "til") fillDomains();
  if (now.ready) fillExamples();
  else show(byId("examples"), false);
  if (!now.ready) for (const aspect of aspects) delete aspect.answer;
  put(byId("marking-label"), now.finds ? "What it is about" : "Mark what it is about");
  put(byId("marking-hint"), now.finds ? "Found by itself. Tap one to take it away; drag over other words, or tap one, to add them. " : "Drag over words, or tap one. ",
    "With the keyboard: arrows to move, Shift with arrows to extend, Enter to mark.");
  if (wanted(now) && now.version !== asked?.answer.version) ask();
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
      refused = [];
      text = byId("review").value = sentence;
      ask();
    };
    return h("button", { type: "button", class: "example", on: { click: take } }, subject.replaceAll("_", " "));
  };
  put(byId("examples"), h("span", {}, "Or take one:"), found.map(chip));
}

async function awaitLesson(id) {
  try {
    lesson = doing((await call(`/v1/jobs/${id}`)).progress);
  } catch {
    lesson = null;
  }
  if (!status.ready) put(byId("answers-state"), say());
}

function edit(now) {
  const moved = (some) => moveSpans(text, now, some.filter((each) => "start" in each));
  const own = aspects.filter((each) => !each.found);
  aspects = [...moved(own), ...own.filter((each) => "term" in each).map(({ term }) => ({ term })), ...moved(aspects.filter((each) => each.found)).map((each) => ({ ...each, found: true }))];
  refused = moved(refused);
  text = now;
  ask(500);
}

const overlap = (one, other) => "start" in one && "start" in other && one.start < other.end && other.start < one.end;

function toggle(span) {
  const inside = aspects.find((each) => overlap(each, span) && each.start <= span.start && span.end <= each.end);
  aspects.filter((each) => overlap(each, span)).forEach(refuse);
  aspects = aspects.filter((each) => !overlap(each, span));
  if (!inside && aspects.filter((each) => !each.found).length < MOST) aspects.push(span);
  ask();
}

/** What was found and is not wanted is not to come back with the next search. */
function refuse({ start, end, found }) {
  if (found) refused.push({ start, end });
}

function addTerm() {
  const term = byId("term").value.trim();
  if (!term || aspects.some((each) => name(each) === term) || aspects.filter((each) => !each.found).length === MOST) return;
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
  if (wanted(status)) {
    const mine = (running = new AbortController());
    timer = setTimeout(() => fetchAnswers(mine), delay);
  }
  render();
}

/** Whether there is anything to ask of a service in this state. */
function wanted(state) {
  return Boolean(text.trim() && state?.ready && (state.finds || aspects.length));
}

const told = () => (status.scenario === "til" ? { domain: byId("domain").value } : {});

/** The question about some aspects of the review; of a found one, about its sentence, which is what it was judged by. */
function question(about, attributions) {
  const { start: first = 0, end: last } = attributions ? (about[0].within ?? {}) : {};
  return {
    inputs: [{ sentence: slice(text, first, last), aspects: about.map((each) => each.term ?? { start: each.start - first, end: each.end - first }) }],
    attributions,
    deadline_ms: 30000,
    ...told(),
  };
}

async function fetchAnswers(mine) {
  const own = aspects.filter((each) => !each.found);
  const body = own.length ? question(own, false) : null;
  try {
    const [search, answer] = await Promise.all([status.finds ? find(mine.signal) : null, body ? call("/v1/predict", { body, signal: mine.signal }) : null]);
    if (mine.signal.aborted) return;
    answer?.results[0].aspects.forEach((each, number) => (own[number].answer = each));
    aspects = search ? together(own, search.answer.results[0].aspects) : own;
    asked = { version: (answer ?? search.answer).version };
    asked.answer = { version: asked.version, results: [{ aspects: aspects.map((each) => each.answer) }] };
    asked.find = search !== null && !own.length && !refused.length ? search.body : null;
    running = null;
    const [now, later] = [aspects.filter((each) => !each.found || aspects.length <= FEW), aspects.filter((each) => each.found && aspects.length > FEW)];
    for (const aspect of later) aspect.why = { state: "offered", again: () => explain([aspect]) };
    explain(now);
  } catch (problem) {
    if (mine.signal.aborted) return;
    running = null;
    render();
    put(byId("answers"), sorry(problem, () => ask()));
    put(byId("answers-state"));
  }
}

/** The search for this text; one that was made is not made again because the reader corrects it. */
async function find(signal) {
  const body = { texts: [text], deadline_ms: 30000, ...told() };
  const key = JSON.stringify([body, status.version]);
  if (searched?.key !== key) searched = { key, body, answer: await call("/v1/find", { body, signal }) };
  return searched;
}

/** What the reader marked, and what was found where the reader said nothing; in the order of the text. */
function together(own, found) {
  const places = found.map((answer) => ({ start: answer.span[0], end: answer.span[1], within: { start: answer.sentence[0], end: answer.sentence[1] }, found: true, answer }));
  const rest = places.filter((each) => ![...own, ...refused].some((other) => overlap(each, other)));
  return [...own, ...rest].sort((one, other) => (one.start ?? Infinity) - (other.start ?? Infinity) || 0);
}

/** What spoke for each answer, one aspect after another; a new question or the reader ends it. */
async function explain(some) {
  explaining?.abort();
  const mine = (explaining = new AbortController());
  for (const aspect of aspects.filter(({ why }) => why?.state === "waiting")) aspect.why = { state: "not", again: () => explain([aspect]) };
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
  show(byId("copying"), asked !== null && aspects.length > 0);
  put(byId("answers-state"), say());
}

function card(aspect) {
  const { start: first = 0, end: last } = aspect.within ?? {};
  const place = (at) => (at === undefined ? null : at - first);
  const row = { sentence: slice(text, first, last), aspect: name(aspect), start: place(aspect.start), end: place(aspect.end) };
  return answerCard(row.sentence, row.aspect, aspect, {
    remove: () => drop(aspect),
    stop: stopExplaining,
    corrected: correctionOf(row),
    correct: (polarity) => correct({ ...row, polarity }),
  });
}

function drop(aspect) {
  refuse(aspect);
  aspects = aspects.filter((each) => each !== aspect);
  ask();
  byId("answers-title").focus(); // the button that had it is gone
}

function say() {
  if (status && !status.ready) return untaught();
  if (running) return "Asking …";
  if (!text.trim()) return "Paste a review to begin.";
  if (!aspects.length && status?.finds && asked) return refused.length ? "Mark a word to see what the review says about it." : "It found nothing to judge. Mark a word to see what the review says about it.";
  if (!aspects.length) return status?.finds ? "" : "Mark a word to see what the review says about it.";
  if (!asked) return "";
  const heard = aspects.map((each) => `${name(each)}: ${each.answer.polarity}. `); // the cards are seen; this is for the ear
  return [h("span", { class: "unseen" }, heard), `Answered by version ${asked.answer.version}.`];
}

function untaught() {
  if (status.version) return "The service is ending.";
  const now = lesson === null ? "" : ` (${lesson})`;
  if (status.open_job) return [`The first ${status.demo ? "demo " : ""}domain is being learned${now}. `, h("a", { href: "#teach" }, "Watch it"), "."];
  return ["It has not learned anything yet. ", h("a", { href: "#teach" }, "Teach it a domain"), "."];
}

function curl() {
  const [path, body] = asked.find ? ["find", asked.find] : ["predict", question(aspects, false)];
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s ${location.origin}/v1/${path} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${quoted}'`;
}

function remember() {
  const own = aspects.filter((each) => !each.found).map(({ start, end, term }) => (term ? { term } : { start, end }));
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ text, aspects: own, refused }));
  } catch {
    // storage may be forbidden or full; a reload then begins anew
  }
}

function remembered() {
  try {
    ({ text, aspects, refused } = { text, aspects, refused, ...JSON.parse(sessionStorage.getItem(KEY)) });
  } catch {
    // see above
  }
  byId("review").value = text;
}
