// Numbers, times and polarities as people read them.

/** A share as points out of a hundred: 0.853 → "85.3". */
export const points = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(1));

/** A share as whole per cent: 0.853 → "85 %". */
export const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(100 * value)} %`);

/** A difference in points, always with its sign; a true minus. */
export function signed(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toFixed(digits));
  if (rounded === 0) return (0).toFixed(digits);
  return `${rounded > 0 ? "+" : "−"}${Math.abs(rounded).toFixed(digits)}`;
}

/** Seconds as words: 41.5 → "42 s", 200 → "3 min 20 s". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Seconds as an estimate: 41.5 → "about 40 s", 200 → "about 3 min". */
export function roughly(seconds) {
  if (seconds < 55) return `about ${Math.max(5, 5 * Math.round(seconds / 5))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `about ${minutes} min` : `about ${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** What a job does now, and its own estimate of how long: "learning, about 3 min left"; without a word from it, "starting". */
export function doing(progress) {
  if (!progress) return "starting";
  return progress.seconds_left ? `${progress.stage}, ${roughly(progress.seconds_left)} left` : progress.stage;
}

/** A time of the server in the reader's own zone and language. */
export function when(iso) {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** "1 row", "2 rows". */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;

/** "80 positive, 40 negative"; classes without rows are left out. */
export function classes(counts) {
  return POLARITIES.filter((name) => counts[name]).map((name) => `${counts[name].toLocaleString()} ${name}`).join(", ");
}

export const POLARITIES = ["positive", "negative", "neutral"];

/** Shapes beside the colours, so that colour is never the only sign. */
export const SIGNS = { positive: "▲", negative: "▼", neutral: "●" };
