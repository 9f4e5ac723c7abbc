// The gate: every domain before and after, and whether one fell too far.

import { captioned, h } from "./dom.js";
import { count, percent, points, signed } from "./format.js";

/** The comparison of a trained job. */
export function comparison({ passed, verdict: overall, margin, domains, new: own }) {
  const proxies = domains.some((each) => each.kind === "proxy");
  return h("section", { class: "gate", "aria-label": "Before and after" },
    h("p", { class: passed ? "passed" : "failed" }, h("strong", {}, verdict(passed, margin, [...domains, own], overall === "too few to tell"))),
    captioned("Macro-F1 over the domain’s own classes, in points",
      h("table", { class: "numbers" },
        h("thead", {}, h("tr", {}, ["Domain", "Before", "After", "Change"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, domains.map(earlierDomain), newDomain(own)))),
    proxies ? h("p", { class: "hint" }, "≈ No test rows of this domain are kept. Instead, the frozen model it left behind and the new one answered the new domain’s held-out rows: shown is the share of them the frozen one had right and the new one has wrong.") : null);
}

function verdict(passed, margin, domains, unclear) {
  if (domains.length === 1) return "This is the first domain: nothing can have suffered.";
  if (passed && unclear) return "Too few rows to tell whether a domain fell: look at the table and decide.";
  if (passed) return `No domain fell by more than ${count(margin, "point")}.`;
  const fallen = domains.filter((each) => each.passed === false).map((each) => each.domain);
  return `${fallen.join(", ")} fell by more than ${count(margin, "point")}.`;
}

const SIGNS = { kept: "✓ kept", fell: "✗ fell", "too few to tell": "? too few to tell" };

function earlierDomain({ domain, kind, before, after, fell, passed, verdict: said, examples, disagreement }) {
  const proxy = kind === "proxy";
  const basis = proxy ? `≈ ${count(examples, "row")}, ${percent(disagreement)} answered differently` : count(after.examples, "test row");
  return h("tr", {},
    h("th", { scope: "row" }, domain, h("span", { class: "hint block" }, basis)),
    h("td", {}, proxy ? "–" : points(before.own_f1)),
    h("td", {}, proxy ? "–" : points(after.own_f1)),
    h("td", {}, proxy ? "≈ " : "", signed(-fell), h("span", { class: `block ${passed ? "passed" : "failed"}` }, SIGNS[said ?? (passed ? "kept" : "fell")])));
}

function newDomain({ domain, before, after, verdict: said }) {
  const change = before && after ? 100 * (after.own_f1 - before.own_f1) : null;
  return h("tr", { class: "new" },
    h("th", { scope: "row" }, domain, h("span", { class: "hint block" }, after ? `new, ${count(after.examples, "test row")}` : "new, no test rows")),
    h("td", {}, points(before?.own_f1)), h("td", {}, points(after?.own_f1)), h("td", {}, signed(change), said ? h("span", { class: `block ${said === "fell" ? "failed" : "passed"}` }, SIGNS[said]) : null));
}
