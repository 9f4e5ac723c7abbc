// The frame: which screen is shown, what is live, whether the service answers.

import { byId, put, show } from "./dom.js";
import { count } from "./format.js";
import * as inspect from "./inspect.js";
import * as overview from "./overview.js";
import { onStatus, refresh } from "./status.js";
import { sentence } from "./talk.js";
import * as teach from "./teach.js";
import * as trying from "./try.js";

const SCREENS = { try: trying, overview, teach, inspect };
let shown = null;

/** Shows the screen the address names; every screen has start(), enter(), leave() and look(status). */
function go() {
  const wanted = location.hash.slice(1);
  const name = wanted in SCREENS ? wanted : wanted === "" ? "try" : (shown ?? "try"); // #main is the skip link's
  if (name === shown) return;
  const first = shown === null;
  if (!first) SCREENS[shown].leave();
  shown = name;
  for (const each of Object.keys(SCREENS)) show(byId(each), each === name);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.screen === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${byId(name).dataset.title} · CLASSIC`;
  SCREENS[name].enter();
  if (!first) {
    scrollTo(0, 0);
    byId(`${name}-title`).focus({ preventScroll: true });
  }
}

/** What the live version has learned. Nobody taught it the starter, so that is not counted as a domain. */
function knows({ domains, starter }) {
  if (!starter) return count(domains, "domain");
  return domains ? `${count(domains, "domain")} on the starter` : "the starter";
}

onStatus((status, problem) => {
  show(byId("banner"), Boolean(problem));
  if (problem) return put(byId("banner"), `${sentence(problem.message)} The page goes on trying; nothing you typed is lost.`);
  put(byId("live"), status.version ? `Version ${status.version} · ${knows(status)}` : "Nothing learned yet");
  put(byId("about"), `${status.store} · ${status.method} · CLASSIC ${status.program}`);
  show(byId("teaching"), status.open_job !== null);
  for (const screen of Object.values(SCREENS)) screen.look(status);
});

for (const screen of Object.values(SCREENS)) screen.start();
addEventListener("hashchange", go);
go();
refresh();
