// One answer: polarity, three probabilities, how sure it is, the words that spoke for it, and a way to correct it.

import { h, put } from "./dom.js";
import { percent, POLARITIES, SIGNS, signed } from "./format.js";
import { slice } from "./words.js";

const LEAST = 0.02; // of a probability; a word that moves less said nothing
const SURE = 0.6; // of a probability; an answer below it is hardly one

/**
 * The card of an aspect.
 * @param {object} aspect  its `answer`, and its `why` once that is asked for; gets `redraw`, to be called when `why` has changed
 * @param {{remove, stop, correct, corrected}} doing  what its buttons do, and the polarity it was corrected to
 */
export function answerCard(text, name, aspect, { remove, stop, correct, corrected }) {
  const { answer } = aspect;
  const why = h("div");
  aspect.redraw = () => put(why, explanation(text, aspect, stop));
  aspect.redraw();
  const unsure = answer.probabilities[answer.polarity] < SURE;
  return h("article", { class: `answer ${answer.polarity}${unsure || answer.unfamiliar ? " doubtful" : ""}` },
    h("header", {},
      h("h3", { dir: "auto" }, name),
      h("p", { class: "verdict" }, h("span", { "aria-hidden": "true" }, SIGNS[answer.polarity]), ` ${answer.polarity}`, unsure ? [" ", h("span", { class: "badge doubt" }, "unsure")] : null),
      h("button", { type: "button", class: "quiet remove", "aria-label": `Remove ${name}`, on: { click: remove } }, "×")),
    unsure || answer.unfamiliar ? doubts(answer, unsure) : null,
    h("dl", { class: "shares" }, POLARITIES.map((polarity) => share(polarity, answer.probabilities[polarity]))),
    why,
    aspect.found || !answer.unfamiliar ? origin(aspect) : null,
    answer.truncated ? h("p", { class: "hint" }, "The text is longer than the model reads; its end was left out.") : null,
    correction(answer.polarity, corrected, correct));
}

/** Where an answer comes from; and the way to its explanation, where that is not looked for by itself. */
function origin({ answer, found, why }) {
  return h("p", { class: "hint why" },
    h("span", {}, found ? `Found by itself (${percent(answer.confidence)} sure). ` : null, answer.unfamiliar ? null : ["Resembles ", h("b", {}, answer.nearest_domain), "."]),
    why?.state === "offered" ? h("button", { type: "button", class: "small", "aria-label": `Why is ${answer.aspect} ${answer.polarity}?`, on: { click: why.again } }, "Why?") : null);
}

function doubts({ probabilities, polarity, nearest_domain: domain, unfamiliar }, unsure) {
  return h("p", { class: "doubts" },
    unsure ? [h("strong", {}, "Take it with care."), ` It gives ${polarity} only ${percent(probabilities[polarity])}. `] : null,
    unfamiliar ? [h("strong", {}, "Unfamiliar."), ` The text is unlike all it has learned; the nearest is ${domain}.`] : null);
}

function share(polarity, value) {
  const bar = h("span", { class: `bar ${polarity}` });
  bar.style.setProperty("--share", `${100 * value}%`);
  return h("div", {}, h("dt", {}, polarity), h("dd", {}, bar, h("span", { class: "number" }, percent(value))));
}

function explanation(text, { answer, why }, stop) {
  const line = (said, button, act) => h("p", { class: "hint why" }, said, button ? h("button", { type: "button", class: "small", on: { click: act } }, button) : null);
  if (why?.state === "waiting") return line("Looking for the words that decided it …", "Stop", stop);
  if (why?.state === "long") return line("Too long to explain: shorten the text to see which words decided it.");
  if (why?.state === "not") return line("Not explained.", "Explain", why.again);
  return why?.state === "known" ? spoke(text, why.words, answer.polarity) : null;
}

function spoke(text, words, polarity) {
  const loud = words.filter(({ weight }) => Math.abs(weight) >= LEAST);
  if (!loud.length) return h("p", { class: "hint" }, "No single word decided it.");
  const top = Math.max(...loud.map(({ weight }) => Math.abs(weight)));
  const shown = [];
  let at = 0;
  for (const { start, end, weight } of words) {
    const step = Math.abs(weight) < LEAST ? 0 : Math.max(1, Math.round((4 * Math.abs(weight)) / top));
    const word = slice(text, start, end);
    shown.push(slice(text, at, start), step ? h("span", { class: `${weight > 0 ? "for" : "against"} s${step}` }, word) : word);
    at = end;
  }
  // Isolated, so that words that run from right to left leave sentence and numbers as they are.
  const entry = ({ start, end, weight }) => [h("bdi", {}, slice(text, start, end)), " ", h("bdi", { dir: "ltr", class: "number" }, signed(100 * weight, 0))];
  const said = (list) => list.slice(0, 3).map((each, number) => [number ? ", " : "", entry(each)]);
  const sorted = loud.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  const [agree, differ] = [sorted.filter(({ weight }) => weight > 0), sorted.filter(({ weight }) => weight < 0)];
  return h("div", { class: "spoke" },
    h("p", { class: "quote", dir: "auto" }, shown, slice(text, at)),
    h("p", { class: "hint" }, agree.length ? [`For ${polarity}: `, said(agree), ". "] : null, differ.length ? ["Against: ", said(differ), ". "] : null, "In points that the answer would lose without the word."));
}

/** Says what would have been right; the row then waits for the next lesson. */
function correction(polarity, corrected, correct) {
  const place = h("div", { class: "correction" });
  const button = (label, value, more = {}) => h("button", { type: "button", class: "small", on: { click: () => choose(value) }, ...more }, label);
  function choose(value) {
    correct(value);
    draw(value);
    place.querySelector("button, summary").focus();
  }
  function draw(value) {
    if (value) return put(place, h("p", { class: "hint why", role: "status" }, `Noted as ${value}, for the next lesson.`, button("Undo", null)));
    const others = POLARITIES.filter((each) => each !== polarity);
    return put(place, h("details", {}, h("summary", {}, "Wrong?"),
      h("p", { class: "actions" }, "It should be", others.map((each) => button(each, each)))));
  }
  draw(corrected);
  return place;
}
