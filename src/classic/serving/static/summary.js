// What many reviews say, on the screen: figures, bars, what changed, products, typical sentences. The file to send round has all of it.

import { heatMap, polarityBar } from "./charts.js";
import { captioned, h, part } from "./dom.js";
import { count, percent, POLARITIES, SIGNS, signed } from "./format.js";
import { slice } from "./words.js";

const BARS = 20;
const QUOTED = 12;
const OPEN = 3; // of the quoted, from the start
const PRODUCTS = 8;
const CAREFUL = 0.3; // share of unfamiliar mentions from which on to warn

/** The view of a summary, as POST /v1/summary gives it. */
export function summaryView(summary) {
  const { aspects, everything, reviews, mentions } = summary;
  if (!aspects.length) return h("p", { class: "note" }, `Nothing is mentioned often enough to compare: ${count(summary.rare.mentions, "mention")} of ${count(summary.rare.names, "name")} in ${count(reviews, "review")}.`);
  return h("div", { class: "overview" },
    summary.unfamiliar_mentions >= CAREFUL * mentions
      ? h("p", { class: "note bad" }, h("strong", {}, "Take it with care."), ` ${percent(summary.unfamiliar_mentions / mentions)} of the mentions stand in texts unlike all it has learned.`) : null,
    tiles(summary),
    bars(aspects, summary.rare),
    changes(summary),
    products(aspects),
    part("Typical sentences", "For and against, as they stand in the reviews.", aspects.slice(0, QUOTED).map(quotes)));

  function tiles() {
    const share = (name) => [percent(everything.shares[name].value), `of all mentions (${range(everything.shares[name])})`];
    const entries = [
      ["Reviews", reviews.toLocaleString(), summary.reviews_without_aspect ? `${summary.reviews_without_aspect.toLocaleString()} say nothing about any aspect` : "all of them say something"],
      ["Aspects", aspects.length, `in ${count(mentions, "mention")}`],
      ["Positive", ...share("positive")],
      ["Negative", ...share("negative")],
    ];
    return h("dl", { class: "tiles" }, entries.map(([name, value, about]) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "value" }, String(value)), h("dd", {}, about))));
  }
}

const range = ({ low, high }) => `${Math.round(100 * low)} to ${Math.round(100 * high)}`;

function bars(aspects, rare) {
  const most = Math.max(...aspects.map(({ mentions }) => mentions));
  const row = ({ aspect, also, mentions, counts, shares }) => h("tr", {},
    h("th", { scope: "row" }, h("span", { dir: "auto" }, aspect), also.length ? h("span", { class: "muted also" }, also.join(", ")) : null),
    h("td", { class: "drawn" }, polarityBar(counts, most)),
    h("td", { class: "number" }, mentions.toLocaleString()),
    h("td", { class: "number" }, percent(shares.positive.value), h("span", { class: "muted" }, ` (${range(shares.positive)})`)),
    h("td", { class: "number" }, percent(shares.negative.value), h("span", { class: "muted" }, ` (${range(shares.negative)})`)));
  const hidden = aspects.length - BARS;
  return part("What people write about", null,
    h("p", { class: "legend" }, ["positive", "neutral", "negative"].map((name) => h("span", { class: `swatch ${name}` }, name))),
    captioned("In brackets: 95 % intervals. Names that mean the same are counted together.",
      h("table", { class: "said-table" },
        h("thead", {}, h("tr", {}, ["Aspect", "Mentions", "", "Positive", "Negative"].map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {}))))),
        h("tbody", {}, aspects.slice(0, BARS).map(row)))),
    hidden > 0 || rare.names ? h("p", { class: "hint" }, [hidden > 0 ? count(hidden, "more aspect") : null, rare.names ? `${count(rare.names, "name")} with fewer than five mentions` : null].filter(Boolean).join(" and "), " are not shown here.") : null);
}

/** What is clearly liked more or less than before. */
function changes({ aspects, everything, halves_at: cut, period_unit: unit }) {
  if (!unit) return null;
  const all = [{ aspect: "all aspects", ...everything }, ...aspects].filter(({ change }) => change?.sure);
  const lead = `The positive share before ${cut} and since, where it changed more than chance would make (99 %). The file to download shows it by ${unit}.`;
  if (!all.length) return part("What changed", null, h("p", { class: "hint" }, `Nothing changed clearly between the time before ${cut} and since.`));
  return part("What changed", lead, h("ul", { class: "plain" }, all.map(({ aspect, change }) => h("li", {},
    h("span", { "aria-hidden": "true" }, change.low > 0 ? SIGNS.positive : SIGNS.negative), " ", h("b", { dir: "auto" }, aspect),
    `: ${percent(change.before)} → ${percent(change.after)}, ${signed(100 * (change.after - change.before), 0)} points`))));
}

function products(aspects) {
  const columns = (aspects[0].products ?? []).slice(0, PRODUCTS).map(({ name }) => name);
  if (!columns.length) return null;
  const rows = aspects.slice(0, QUOTED);
  return part("By product", null, heatMap({
    caption: "Positive share of the mentions; empty where there are fewer than five.", corner: "Aspect",
    rows: rows.map(({ aspect }) => aspect), columns, cells: rows.map((each) => each.products.slice(0, PRODUCTS).map(({ positive }) => positive?.value ?? null)),
    format: (value) => String(Math.round(100 * value)), low: 0, high: 1,
  }));
}

function quotes({ aspect, counts, typical }, place) {
  const quote = (name) => ({ sentence, start, end, line }) => h("blockquote", { class: `said ${name}`, dir: "auto" },
    slice(sentence, 0, start), h("b", {}, slice(sentence, start, end)), slice(sentence, end), h("span", { class: "muted line-number" }, ` line ${line}`));
  const side = (name, title) => h("div", {}, h("h3", {}, `${SIGNS[name]} ${title}`), typical[name].length ? typical[name].map(quote(name)) : h("p", { class: "hint" }, "Nothing."));
  return h("details", { class: "quotes", open: place < OPEN },
    h("summary", {}, h("b", { dir: "auto" }, aspect), h("span", { class: "muted" }, ` ${POLARITIES.map((name) => `${counts[name]} ${name}`).join(", ")}`)),
    h("div", { class: "sides" }, side("positive", "For"), side("negative", "Against")));
}
