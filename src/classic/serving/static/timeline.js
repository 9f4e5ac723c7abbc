// Versions as a line through time, each with its card and a way to make it live.

import { call, request } from "./api.js";
import { markdown } from "./markdown.js";
import { h, put } from "./dom.js";
import { count, duration, points, when } from "./format.js";
import { refresh } from "./status.js";
import { busy, question, sorry, tell } from "./talk.js";

/** The list, newest first; `onMove` is called when another version has become live. */
export function timeLine({ live, versions }, onMove) {
  const entries = [...versions].reverse().map((version) => entry(version, live, onMove));
  return h("ol", { class: "timeline", reversed: true }, entries, untaught(live, onMove));
}

function entry(version, live, onMove) {
  const { version: number, domain, domains, written, examples, test, seconds, sha256, in_use: used } = version;
  return h("li", { class: version.live ? "live" : used ? "used" : "left" },
    h("h3", {}, `${number} · ${domain}`, version.live ? h("span", { class: "badge" }, "live") : used ? null : h("span", { class: "badge quiet" }, "left behind")),
    h("p", { class: "hint" }, [when(written), count(examples, "training row"), seconds === null ? null : duration(seconds), test ? `own test ${points(test.own_f1)}` : null].filter(Boolean).join(" · ")),
    h("p", { class: "hint" }, `Knows ${domains.join(", ")}`),
    h("p", { class: "hint mono" }, h("span", { class: "unseen" }, "sha256 "), sha256.slice(0, 16), "…"),
    card(number),
    version.live ? null : moving(number, live, onMove));
}

function untaught(live, onMove) {
  return h("li", { class: live === 0 ? "live" : "used" },
    h("h3", {}, "0 · untaught", live === 0 ? h("span", { class: "badge" }, "live") : null),
    h("p", { class: "hint" }, "Where it began: it answers nothing."),
    live === 0 ? null : moving(0, live, onMove));
}

function moving(number, live, onMove) {
  const trouble = h("div");
  const back = number < live;
  const button = h("button", { type: "button", "aria-label": `${back ? "Roll back" : "Go forward"} to version ${number}` }, back ? "Roll back to this" : "Go forward to this");
  button.addEventListener("click", async () => {
    const sure = await question({
      title: `Make version ${number} live?`,
      text: `Everybody who asks is then answered by version ${number} instead of ${live}. Version ${live} stays; you can go forward to it again.`,
      yes: back ? "Roll back" : "Go forward",
      reason: "optional",
    });
    if (!sure) return;
    busy(button, trouble, async () => {
      await call("/v1/rollback", { body: { version: number, reason: sure.reason } });
      tell(`Version ${number} is live.`);
      await refresh();
      onMove();
    });
  });
  return h("div", { class: "move" }, button, trouble);
}

function card(number) {
  const place = h("div", { class: "card" });
  const details = h("details", {}, h("summary", {}, "Model card", h("span", { class: "unseen" }, ` of version ${number}`)), place);
  details.addEventListener("toggle", async () => {
    if (!details.open || place.hasChildNodes()) return;
    try {
      put(place, markdown(await (await request(`/v1/versions/${number}/card`)).text()));
    } catch (problem) {
      put(place, sorry(problem));
    }
  });
  return details;
}
