// The service at a glance, asked for every few seconds while somebody looks: so that a second tab sees what the first did.

import { call } from "./api.js";

const EVERY = 3000;
const PATIENCE = 5000; // without an answer for so long, the service hangs
const listeners = new Set();
let timer = null;

/** The last answer of GET /v1/status, or null. */
export let status = null;

/** Calls back with (status, problem) after every look; `problem` is null if it succeeded. */
export function onStatus(listener) {
  listeners.add(listener);
}

/** Looks now, then goes on looking. */
export async function refresh() {
  clearTimeout(timer);
  let problem = null;
  try {
    status = await call("/v1/status", { patience: PATIENCE });
  } catch (error) {
    problem = error;
  }
  for (const listener of listeners) listener(status, problem);
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refresh, EVERY);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
