// The way to the service: the token, one kind of error, patience with a full queue.

import { followToken } from "./token.js";

/** Anything but a success. `code` is a word to act on, `fix` a sentence for the reader. */
export class Problem extends Error {
  constructor(status, { code, message, fix = "", details = [] }, retryAfter = null) {
    super(message);
    Object.assign(this, { status, code, fix, details, retryAfter });
  }
}

const HUNG = { code: "hung", message: "the service has not answered for some seconds", fix: "look whether it is busy or hangs" };
const OFFLINE = { code: "offline", message: "the service does not answer", fix: "look whether it is still running" };
const PATIENCE = 20; // times a full queue is waited for by somebody who has many questions
const TRIES = 3; // of a request that was refused because the queue is full

/** A JSON answer. `body` is an object to send as JSON, or bytes or text together with `type`. */
export async function call(path, options = {}) {
  return (await request(path, options)).json();
}

/** A raw answer, of which the status is known to be a success; `patience` are milliseconds after which to give up. */
export async function request(path, { method, body, type, signal, patience } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  const content = body === undefined || type ? body : JSON.stringify(body);
  for (let attempt = 1; ; attempt++) {
    const response = await send(path, { method: method ?? (body === undefined ? "GET" : "POST"), headers, body: content, signal }, patience);
    if (response.ok) return response;
    const problem = await explain(response);
    if (problem.status !== 429 || attempt === TRIES) throw problem;
    await pause(1000 * Math.min(problem.retryAfter ?? 1, 10), signal);
  }
}

/**
 * Asks about many rows together. What the service refuses is found by asking for less; a full queue is waited for.
 * @param {(rows: object[]) => Promise<object[]>} ask  gives an answer for each row
 * @param {(row: object, problem: Problem) => object} refused  the answer for a row that is refused by itself
 */
export async function askPatiently(rows, ask, refused, signal) {
  for (let tried = 1; ; tried++) {
    try {
      return await ask(rows);
    } catch (problem) {
      if (problem.status === 422 && rows.length > 1) {
        const half = rows.length >> 1;
        return [...(await askPatiently(rows.slice(0, half), ask, refused, signal)), ...(await askPatiently(rows.slice(half), ask, refused, signal))];
      }
      if (problem.status === 422) return [refused(rows[0], problem)];
      if (![429, 504].includes(problem.status) || tried === PATIENCE) throw problem;
      await pause(2000, signal);
    }
  }
}

/** Waits; a signal ends the waiting with its own error. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal?.aborted) return stop();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), stop()), { once: true });
  });
}

async function send(path, options, patience) {
  return followToken(async (token) => {
    if (token) options.headers.Authorization = `Bearer ${token}`;
    // A new one for every try: while the token is asked for, no time passes.
    const late = patience ? AbortSignal.timeout(patience) : null;
    try {
      return await fetch(path, late ? { ...options, signal: late } : options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (late?.aborted) throw new Problem(0, HUNG);
      throw new Problem(0, OFFLINE);
    }
  });
}

async function explain(response) {
  const wait = Number(response.headers.get("Retry-After")) || null;
  try {
    return new Problem(response.status, (await response.json()).error, wait);
  } catch {
    return new Problem(response.status, { code: "unknown", message: `the service answered ${response.status}` }, wait);
  }
}
