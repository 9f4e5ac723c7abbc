// Texts as words. Positions count code points, as the service does, not JavaScript's UTF-16 units.

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** [{text, start, end, word}] that join to the text; `word` is false for spaces and punctuation. */
export function pieces(text) {
  let at = 0;
  return [...segmenter.segment(text)].map(({ segment, isWordLike }) => {
    const start = at;
    at += [...segment].length;
    return { text: segment, start, end: at, word: isWordLike };
  });
}

/** The part of a text between two positions. */
export function slice(text, start, end) {
  return [...text].slice(start, end).join("");
}

/** Spans of an old text in a new one; those that the edit touched are kept only if their words stand there just once. */
export function moveSpans(before, after, spans) {
  const old = [...before];
  const now = [...after];
  const least = Math.min(old.length, now.length);
  let same = 0;
  while (same < least && old[same] === now[same]) same++;
  let tail = 0;
  while (tail < least - same && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const shift = now.length - old.length;
  return spans.flatMap(({ start, end }) => {
    if (end <= same) return [{ start, end }];
    if (start >= old.length - tail) return [{ start: start + shift, end: end + shift }];
    return onlyPlace(after, old.slice(start, end).join(""));
  });
}

function onlyPlace(text, words) {
  const parts = pieces(text);
  const ends = new Set(parts.map(({ end }) => end));
  const length = [...words].length;
  const found = parts.filter(({ start }) => ends.has(start + length) && slice(text, start, start + length) === words);
  return found.length === 1 ? [{ start: found[0].start, end: found[0].start + length }] : [];
}
