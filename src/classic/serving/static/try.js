// Try: a review, the aspects marked in it, and an answer for each.

import { call } from "./api.js";
import { answerCard } from "./answers.js";
import { byId, h, put, show } from "./dom.js";
import { makeMarker } from "./marking.js";
import { status } from "./status.js";
import { copy, sorry } from "./talk.js";
import { moveSpans, slice } from "./words.js";

const MOST = 16; // aspects the service explains at once
const EXAMPLES = [
  ["headphones", "The bass is superb, but the app is a mess.", ["bass", "app"]],
  ["hotel", "Lovely bed; the walls are paper and the lift is out of order.", ["bed", "walls", "lift"]],
  ["espresso machine", "The water tank holds two litres, and the milk frother is a joke.", ["water tank", "milk frother"]],
];

let text = "";
let aspects = []; // {start, end} in the text, or {term}; each with its `answer` once there is one
let asked = null; // the request's body, and the service's answer to it
let running = null; // of the request under way
let timer = null;
let known = ""; // what of the status this screen depends on
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
  for (const [label, sentence, terms] of EXAMPLES) {
    const take = () => {
      aspects = terms.map((term) => ({ start: sentence.indexOf(term), end: sentence.indexOf(term) + term.length }));
      text = byId("review").value = sentence;
      ask();
    };
    byId("examples").append(h("button", { type: "button", class: "example", on: { click: take } }, label));
  }
  render();
}

export function enter() {
  render();
}

export function leave() {}

/** Another version, or a first one: the answers on the screen are of the old one. */
export function look(now) {
  const state = JSON.stringify([now.version, now.ready, now.scenario, now.open_job !== null]);
  if (state === known) return;
  known = state;
  show(byId("told"), now.scenario === "til");
  if (now.scenario === "til") fillDomains();
  if (!now.ready) for (const aspect of aspects) delete aspect.answer;
  if (aspects.length && now.ready && now.version !== asked?.answer.version) ask();
  else if (!running) render();
}

async function fillDomains() {
  const { domains } = await call("/v1/domains");
  const chosen = byId("domain").value;
  put(byId("domain"), domains.map(({ name }) => h("option", { selected: name === chosen }, name)));
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
  running = null;
  asked = null;
  if (text.trim() && aspects.length && status?.ready) {
    const mine = (running = new AbortController());
    timer = setTimeout(() => fetchAnswers(mine), delay);
  }
  render();
}

async function fetchAnswers(mine) {
  const body = {
    inputs: [{ sentence: text, aspects: aspects.map((each) => each.term ?? { start: each.start, end: each.end }) }],
    attributions: true,
    deadline_ms: 30000,
  };
  if (status.scenario === "til") body.domain = byId("domain").value;
  try {
    const answer = await call("/v1/predict", { body, signal: mine.signal });
    asked = { body, answer };
    answer.results[0].aspects.forEach((each, number) => (aspects[number].answer = each));
    running = null;
    render();
  } catch (problem) {
    if (mine.signal.aborted) return;
    running = null;
    render();
    put(byId("answers"), sorry(problem, () => ask()));
    put(byId("answers-state"));
  }
}

function render() {
  show(byId("marking"), text.trim() !== "");
  marker.render(text, aspects.filter((each) => "start" in each).map(({ start, end, answer }) => ({ start, end, polarity: answer?.polarity })));
  put(byId("answers"), aspects.filter((each) => each.answer).map((each) => answerCard(text, name(each), each.answer, () => drop(each))));
  byId("answers").setAttribute("aria-busy", String(running !== null));
  show(byId("copying"), asked !== null);
  put(byId("answers-state"), say());
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
  if (status.demo && status.open_job) return ["The first demo domain is being learned; this takes about a minute. ", h("a", { href: "#teach" }, "Watch it"), "."];
  return ["It has not learned anything yet. ", h("a", { href: "#teach" }, "Teach it a domain"), "."];
}

function curl() {
  const quoted = JSON.stringify(asked.body).replaceAll("'", "'\\''");
  return `curl -s ${location.origin}/v1/predict -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${quoted}'`;
}
