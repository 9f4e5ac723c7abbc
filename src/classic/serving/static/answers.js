// One answer: polarity, three probabilities, the words that spoke for it, the domain it resembles.

import { h } from "./dom.js";
import { percent, POLARITIES, SIGNS, signed } from "./format.js";
import { slice } from "./words.js";

const LEAST = 0.02; // of a probability; a word that moves less said nothing

/** The card of an aspect. */
export function answerCard(text, name, answer, onRemove) {
  return h("article", { class: `answer ${answer.polarity}` },
    h("header", {},
      h("h3", {}, name),
      h("p", { class: "verdict" }, h("span", { "aria-hidden": "true" }, SIGNS[answer.polarity]), ` ${answer.polarity}`),
      h("button", { type: "button", class: "quiet remove", "aria-label": `Remove ${name}`, on: { click: onRemove } }, "×")),
    h("dl", { class: "shares" }, POLARITIES.map((polarity) => share(polarity, answer.probabilities[polarity]))),
    answer.words?.length ? spoke(text, answer) : null,
    resembles(answer),
    answer.truncated ? h("p", { class: "hint" }, "The text is longer than the model reads; its end was left out.") : null);
}

function share(polarity, value) {
  const bar = h("span", { class: `bar ${polarity}` });
  bar.style.setProperty("--share", `${100 * value}%`);
  return h("div", {}, h("dt", {}, polarity), h("dd", {}, bar, h("span", { class: "number" }, percent(value))));
}

function spoke(text, { words, polarity }) {
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
  const said = (list) => list.slice(0, 3).map(({ start, end, weight }) => `${slice(text, start, end)} ${signed(100 * weight, 0)}`).join(", ");
  const sorted = loud.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  const [agree, differ] = [sorted.filter(({ weight }) => weight > 0), sorted.filter(({ weight }) => weight < 0)];
  return h("div", { class: "spoke" },
    h("p", { class: "quote" }, shown, slice(text, at)),
    h("p", { class: "hint" }, agree.length ? `For ${polarity}: ${said(agree)}. ` : "", differ.length ? `Against: ${said(differ)}. ` : "", "In points that the answer would lose without the word."));
}

function resembles({ nearest_domain: domain, unfamiliar }) {
  if (!domain) return null;
  if (unfamiliar) {
    return h("p", { class: "unfamiliar" }, h("strong", {}, "Unfamiliar."), ` The text is unlike all learned domains; the nearest is ${domain}. Take the answer with care.`);
  }
  return h("p", { class: "hint" }, "Resembles ", h("b", {}, domain), ".");
}
