// Inspect: the versions, what the live one knows, what it forgot, what is left, and what can be taken away.

import { call, request } from "./api.js";
import { byId, h, part, put } from "./dom.js";
import { duration, percent, points, signed, when } from "./format.js";
import { capacity, matrix, taught, transfer } from "./matrix.js";
import { busy, save, sorry } from "./talk.js";
import { timeLine } from "./timeline.js";

let entered = false;
let shown = null; // the live version when the screen was filled

export function start() {}

export function enter() {
  entered = true;
  load();
}

export function leave() {
  entered = false;
}

export function look(now) {
  if (entered && shown !== null && now.version !== shown) load();
}

async function load() {
  const place = byId("findings");
  if (shown === null) put(place, h("p", { class: "hint" }, "Looking …"));
  try {
    const [versions, exports, audit] = await Promise.all([call("/v1/versions"), call("/v1/exports"), call("/v1/audit")]);
    const numbers = versions.live ? await call("/v1/matrix") : null;
    shown = versions.live;
    put(place,
      numbers ? tiles(taught(numbers)) : h("p", { class: "lead" }, "The live model has not learned anything. ", h("a", { href: "#teach" }, "Teach it a domain"), versions.versions.length ? ", or choose a version below." : "."),
      h("div", { class: "inspected" },
        h("div", {},
          part("Versions", "Every domain it learns makes one. Going back is one pointer move; nothing is deleted.", timeLine(versions, load))),
        h("div", {},
          numbers ? [matrix(taught(numbers)), capacity(numbers), transfer(numbers)] : null,
          part("Take it away", null, exports.exports.map(download)),
          audit.entries.length ? part("Decisions", null, h("ul", { class: "plain" }, audit.entries.slice(0, 12).map(decision))) : null)));
  } catch (problem) {
    put(place, sorry(problem, load));
  }
}

function tiles({ domains, starter, matrix: scores, forgetting_by_domain: forgotten, backward_transfer_by_domain: backward, free_units: free, seconds }) {
  const mean = (values) => {
    const known = values.filter((value) => value !== null && value !== undefined);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };
  const last = domains.map((_, place) => scores.own_f1.map((row) => row[place]).findLast((value) => value !== null && value !== undefined) ?? null);
  const tested = last.filter((value) => value !== null).length;
  const points100 = (value) => (value === null ? null : 100 * value);
  const entries = [
    ["Domains", domains.length, `learned in ${duration(seconds)}${starter ? ", on top of the starter" : ""}`],
    ["Macro-F1", points(mean(last)), `mean over ${tested === domains.length ? "all" : `${tested} of ${domains.length}`} domains, own classes${tested < domains.length ? "; the others have no test rows" : ""}`],
    ["Forgetting", signed(points100(mean(Object.values(forgotten.own_f1)))), "points below the best it had; less is better"],
    ["Backward transfer", signed(points100(mean(Object.values(backward.own_f1)))), "points since each was learned"],
    ["Capacity left", free === null ? "–" : percent(free), "of the adapters’ units"],
  ];
  return h("dl", { class: "tiles" }, entries.map(([name, value, note]) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: "value" }, value), h("dd", {}, note))));
}

function download({ format, file, title, available, reason }) {
  const trouble = h("div");
  const button = h("button", { type: "button", disabled: !available }, `Download ${title.toLowerCase()}`);
  button.addEventListener("click", () => busy(button, trouble, async () => save(await (await request(`/v1/exports/${format}`)).blob(), file)));
  return h("div", {}, h("p", { class: "actions" }, button, h("span", { class: "muted" }, available ? file : reason)), trouble);
}

function decision({ at, action, version, before, domain, reason, override }) {
  const what = {
    teach: `teaching ${domain} began`, discard: `${domain} was discarded`, cancel: `${domain} was cancelled`,
    publish: `${domain} was published as version ${version}${override ? " against the gate" : ""}`,
    rollback: `version ${before} → ${version}`,
  }[action] ?? action;
  return h("li", {}, what, reason ? h("q", {}, reason) : null, h("span", { class: "muted" }, ` · ${when(at)}`));
}
