// What the page says beside its content: short notices, questions, errors, things to copy.

import { byId, h, put, show } from "./dom.js";

/** A notice that goes away by itself. */
export function tell(text) {
  const toast = h("p", { class: "toast" }, text);
  byId("toasts").append(toast);
  setTimeout(() => toast.remove(), 6000);
}

/** An error as a block: what, what to do, where; with a button if there is something to try again. */
export function sorry(problem, again = null) {
  if (!problem.code) console.error(problem); // not the service's answer but a fault of this page
  const message = problem.code ? problem.message : "this page made a mistake";
  const fix = problem.code ? problem.fix : "load it again";
  return h("div", { class: "note bad", role: "alert" },
    h("p", {}, h("strong", {}, sentence(message)), fix ? ` ${sentence(fix)}` : null),
    problem.details?.length
      ? h("ul", {}, problem.details.slice(0, 8).map((each) => h("li", {}, [each.line ? `line ${each.line}` : each.where, each.problem].filter(Boolean).join(": "))))
      : null,
    again ? h("p", { class: "actions" }, h("button", { type: "button", on: { click: again } }, "Try again")) : null);
}

/** Runs the work of a button: it cannot be pressed twice, and an error appears in `place`. */
export async function busy(button, place, work) {
  button.disabled = true;
  put(place);
  try {
    return await work();
  } catch (problem) {
    if (place.isConnected) put(place, sorry(problem));
    else tell(sentence(problem.message)); // the screen has changed meanwhile
  } finally {
    button.disabled = false;
  }
}

/** Asks before something that others will notice. Gives {reason}, or null if the answer is no. */
export async function question({ title, text, yes, reason = "none" }) {
  const dialog = byId("question");
  const input = byId("question-reason");
  put(byId("question-title"), title);
  put(byId("question-text"), text);
  put(byId("question-yes"), yes);
  show(byId("question-reason-part"), reason !== "none");
  input.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes" ? { reason: input.value.trim() || null } : null;
}

/** Copies a text; where the browser forbids it, shows it to be copied by hand. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    byId("copy-text").value = text;
    byId("copy-dialog").showModal();
    byId("copy-text").select();
  }
}

/** Gives a file to the reader. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/** Begins with a capital, ends with a stop. */
export function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
