// Small drawings: lines over epochs, shares as stacked bars, tables as heat maps. Every number is also there as text.

import { breakable, captioned, h, svg } from "./dom.js";
import { percent, POLARITIES } from "./format.js";

const WIDTH = 320;
const HEIGHT = 120;

/** Lines over epochs. `series` is {name: [number or null]}; the range goes from 0 to `top`, or to the highest value. */
export function lineChart(title, series, format, top = null) {
  const names = Object.keys(series).filter((name) => series[name].some((value) => value !== null));
  if (!names.length) return null;
  const values = names.flatMap((name) => series[name].filter((value) => value !== null));
  const highest = top ?? (Math.max(...values) || 1);
  const length = Math.max(...names.map((name) => series[name].length));
  const x = (place) => (length === 1 ? WIDTH / 2 : 6 + (place * (WIDTH - 12)) / (length - 1));
  const y = (value) => HEIGHT - 6 - (value / highest) * (HEIGHT - 12);
  const said = names.map((name) => `${name} ${format(series[name].findLast((value) => value !== null))}`);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}; last: ${said.join(", ")}` },
    [0, 0.5, 1].map((part) => svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(part * highest), y2: y(part * highest) })),
    names.map((name, number) => line(series[name], x, y, number)));
  const key = names.map((name, number) => h("span", { class: `key k${number}` }, said[number]));
  return h("figure", { class: "chart" }, h("figcaption", {}, title), drawing, h("p", { class: "hint" }, key, h("span", { class: "muted" }, `top: ${format(highest)}`)));
}

function line(values, x, y, number) {
  const there = values.map((value, place) => [place, value]).filter(([, value]) => value !== null);
  const path = there.map(([place, value]) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const [place, value] = there.at(-1);
  return [svg("polyline", { class: `line k${number}`, points: path }), svg("circle", { class: `end k${number}`, cx: x(place), cy: y(value), r: 3.5 })];
}

/** Shares of a whole as one bar. `parts` is [[name, share]]; what they leave is free. */
export function stackedBar(parts) {
  let at = 0;
  const pieces = parts.map(([name, share]) => {
    const piece = svg("rect", { class: `part ${name}`, x: 100 * at, y: 0, width: 100 * share, height: 8 });
    at += share;
    return piece;
  });
  const said = parts.map(([name, share]) => `${name} ${percent(share)}`).join(", ");
  return svg("svg", { class: "stack", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": said },
    svg("rect", { class: "part free", x: 0, y: 0, width: 100, height: 8 }), pieces);
}

/** Mentions as one bar: praise on the left, blame on the right. `most` mentions fill it. */
export function polarityBar(counts, most) {
  let at = 0;
  const pieces = ["positive", "neutral", "negative"].map((name) => {
    const width = (100 * counts[name]) / most;
    const piece = svg("rect", { class: `said ${name}`, x: at, y: 0, width, height: 8 });
    at += width;
    return piece;
  });
  const said = POLARITIES.map((name) => `${counts[name]} ${name}`).join(", ");
  return svg("svg", { class: "stack", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": said }, pieces);
}

/**
 * A table whose cells are shaded from `low` to `high`.
 * `cells[r][c]` is a number or null; `format` makes the text.
 */
export function heatMap({ caption, rows, columns, cells, format, low, high, corner }) {
  const shade = (value) => `h${Math.max(0, Math.min(9, Math.floor((10 * (value - low)) / (high - low || 1))))}`;
  const cell = (value) => (value === null || value === undefined ? h("td", { class: "none" }, h("span", { class: "unseen" }, "none")) : h("td", { class: shade(value) }, format(value)));
  return captioned(caption,
    h("table", { class: "heat" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, corner), columns.map((name) => h("th", { scope: "col" }, breakable(name))))),
      h("tbody", {}, rows.map((name, r) => h("tr", {}, h("th", { scope: "row" }, breakable(name)), columns.map((_, c) => cell(cells[r]?.[c])))))));
}
