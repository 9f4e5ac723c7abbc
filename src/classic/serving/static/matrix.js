// What was measured: the result matrix, capacity, and which domain helped which.

import { heatMap, stackedBar } from "./charts.js";
import { breakable, captioned, h, part, put } from "./dom.js";
import { percent, points, signed } from "./format.js";

const MEASURES = { own_f1: "Own F1", macro_f1: "Macro-F1", accuracy: "Accuracy" };

/** The results on the domains it was taught. Nobody has texts to test the starter with: its row would be empty. */
export function taught({ domains, averaged, versions, matrix: scores, ...rest }) {
  const places = domains.map((_, place) => place).filter((place) => averaged.includes(domains[place]));
  const pick = (list) => places.map((place) => list[place]);
  const left = Object.fromEntries(Object.keys(MEASURES).map((measure) => [measure, pick(scores[measure]).map(pick)]));
  return { ...rest, domains: averaged, versions: pick(versions), matrix: left, starter: averaged.length < domains.length };
}

/** Scores of every version on every domain, and what became of each domain. */
export function matrix({ domains, versions, starter, matrix: scores, forgetting_by_domain: forgotten, backward_transfer_by_domain: backward }) {
  const place = h("div");
  function draw(measure) {
    const known = scores[measure].flat().filter((value) => value !== null);
    put(place,
      heatMap({
        caption: `${MEASURES[measure]}, in points: after learning (row), tested on (column)`,
        corner: "After", rows: domains.map((name, number) => `${versions[number]} ${name}`), columns: domains, cells: scores[measure],
        format: points, low: Math.min(...known), high: Math.max(...known),
      }),
      domains.length > 1 ? changes(domains, forgotten[measure], backward[measure]) : null);
  }
  draw("own_f1");
  const choice = h("select", { id: "measure" }, Object.entries(MEASURES).map(([value, name]) => h("option", { value }, name)));
  choice.addEventListener("change", () => draw(choice.value));
  return part("Results", starter ? "The starter, which this store began with, is left out: it came with the package." : null, h("p", { class: "pick" }, h("label", { for: "measure" }, "Measure"), choice), place);
}

function changes(domains, forgotten, backward) {
  const cell = (value) => h("td", {}, value === undefined || value === null ? "–" : signed(100 * value));
  return captioned("Forgetting (best earlier score − score now) and backward transfer (now − when learned), in points",
    h("table", { class: "numbers" },
      h("thead", {}, h("tr", {}, ["Domain", "Forgetting", "Backward transfer"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, domains.slice(0, -1).map((name) => h("tr", {}, h("th", { scope: "row" }, name), cell(forgotten[name]), cell(backward[name]))))));
}

/** Units each domain took. */
export function capacity({ domains, capacity: entries }) {
  if (!entries.some(Boolean)) return null;
  return part("Capacity", "Units of the adapters: newly taken by a domain, shared with earlier ones, kept by earlier ones alone, free.",
    h("p", { class: "legend" }, ["new", "shared", "kept", "free"].map((name) => h("span", { class: `swatch ${name}` }, name))),
    h("ul", { class: "plain bars" }, domains.map((name, number) => {
      const entry = entries[number];
      if (!entry) return h("li", {}, name, " –");
      const parts = [["new", entry.new], ["shared", entry.shared], ["kept", Math.max(0, 1 - entry.new - entry.shared - entry.free)]];
      return h("li", {}, h("span", {}, breakable(name)), stackedBar(parts), h("span", { class: "muted" }, `${percent(entry.new)} new, ${percent(entry.free)} free`));
    })));
}

/** CKS attention and shared units. */
export function transfer({ domains, transfer: attention, overlap }) {
  const tables = [
    [attention, "Attention while it was learned: a row looked at the columns (rows sum to 100)"],
    [overlap, "Units a row shares with each earlier domain, in points"],
  ].filter(([cells]) => cells.some((row) => row?.length));
  if (!tables.length) return null;
  return part("Which domain helped which", null, tables.map(([cells, caption]) => {
    const known = cells.flatMap((row) => row ?? []);
    const rows = domains.map((name, number) => [name, cells[number]]).filter(([, row]) => row?.length);
    return heatMap({
      caption, corner: "Domain", rows: rows.map(([name]) => name), columns: domains.slice(0, Math.max(...rows.map(([, row]) => row.length))), cells: rows.map(([, row]) => row),
      format: points, low: Math.min(0, ...known), high: Math.max(...known),
    });
  }));
}
