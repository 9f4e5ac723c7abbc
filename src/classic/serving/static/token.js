// The token: from the address's fragment, else from this tab's memory, else from another tab of the page, else asked for.
// It never leaves in an address, and is gone when the last tab is closed.

import { byId, show } from "./dom.js";

const KEY = "classic-token";
const NEIGHBOUR = 500; // milliseconds in which another tab would have answered
const tabs = new BroadcastChannel(KEY); // reaches tabs of the same address only
let token = fromAddress() ?? remembered();
let asking = null; // one dialog, however many requests were refused

/** Calls `send(token)`; after a 401 asks the reader for the token and calls again. */
export async function followToken(send) {
  for (;;) {
    const used = token;
    const response = await send(used);
    if (response.status !== 401) return response;
    if (used === token) {
      asking ??= obtain(used).finally(() => (asking = null));
      await asking;
    }
  }
}

// An address with a token, opened in a tab that shows the page already.
addEventListener("hashchange", () => {
  if (fromAddress() !== null) location.reload();
});

tabs.addEventListener("message", ({ data }) => {
  if (data.asks && token !== null && token !== data.refused) tabs.postMessage({ token });
});

/** Another token than the one that was refused: a neighbour's, or what the reader types. */
async function obtain(refused) {
  const given = await fromNeighbour(refused);
  if (given === null) return ask();
  token = given;
  remember(token);
}

function fromNeighbour(refused) {
  return new Promise((resolve) => {
    const hear = ({ data }) => data.token !== undefined && end(data.token);
    const timer = setTimeout(() => end(null), NEIGHBOUR);
    function end(given) {
      clearTimeout(timer);
      tabs.removeEventListener("message", hear);
      resolve(given);
    }
    tabs.addEventListener("message", hear);
    tabs.postMessage({ asks: true, refused });
  });
}

function fromAddress() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found === null) return null;
  history.replaceState(null, "", location.pathname); // so that it is not copied along with the address
  remember(found);
  return found;
}

async function ask() {
  const dialog = byId("token-dialog");
  const input = byId("token");
  show(byId("token-wrong"), token !== null);
  input.value = "";
  do {
    dialog.returnValue = "";
    if (!dialog.open) dialog.showModal();
    await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  } while (!input.value.trim());
  // The whole address may be pasted as well.
  token = input.value.trim().replace(/^.*#token=/, "");
  remember(token);
}

function remembered() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(value) {
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    // storage may be forbidden; the token then lasts as long as the page
  }
}
