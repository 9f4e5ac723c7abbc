// Answers that a reader of Try corrected: rows for the next lesson. They stay in this tab until they are taught.

const KEY = "classic-corrections";
const same = (row) => (each) => each.sentence === row.sentence && each.aspect === row.aspect && each.start === row.start;
let rows = remembered();
const listeners = new Set();

/** All of them, as the rows of a file. */
export const corrections = () => rows;

/** Calls back whenever they change. */
export function onCorrections(listener) {
  listeners.add(listener);
}

/** The polarity a row was corrected to, or null. */
export function correctionOf(row) {
  return rows.find(same(row))?.polarity ?? null;
}

/** Notes {sentence, aspect, start, end, polarity}; a polarity of null takes the note back. */
export function correct(row) {
  const others = rows.filter((each) => !same(row)(each));
  keep(row.polarity === null ? others : [...others, row]);
}

/** They have been taught, or are not wanted. */
export function forgetCorrections() {
  keep([]);
}

function keep(now) {
  rows = now;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(rows));
  } catch {
    // storage may be forbidden; they then last as long as the page
  }
  for (const listener of listeners) listener();
}

function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}
