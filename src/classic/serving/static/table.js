// Tables of other people: CSV with any delimiter, TSV, JSON lines; as columns and rows of text.

import { call } from "./api.js";
import { slice } from "./words.js";

const DELIMITERS = [",", ";", "\t", "|"];
const LOOKED_AT = 200; // rows by which columns are told apart
const CELLS = 5000; // of them all
const LONGEST = 60; // characters of such a cell

/** The text of a file, and whether it is in the old encoding of Windows, as programs there often save CSV. */
export async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const begins = (...mark) => mark.every((byte, place) => bytes[place] === byte);
  const decode = (encoding, fatal = false) => new TextDecoder(encoding, { fatal }).decode(bytes);
  if (begins(0x50, 0x4b, 3, 4)) throw new Error("it is packed, as Excel’s own files are; save it as CSV UTF-8");
  if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) return { text: decode(bytes[0] === 0xff ? "utf-16le" : "utf-16be"), old: false };
  if (bytes.subarray(0, 4096).includes(0)) throw new Error("it is no text");
  try {
    return { text: decode("utf-8", true), old: false };
  } catch {
    return { text: decode("windows-1252"), old: true };
  }
}

/** What to say about a file in the old encoding. */
export const OLD = "It is not UTF-8 and was read as text of Windows; save it as CSV UTF-8 if letters look wrong.";

/** {columns: [name], rows: [{line, cells: [text]}]}; throws an Error with a sentence for the reader. */
export function parseTable(text, name = "") {
  const content = text.replace(/^\uFEFF/, "");
  if (/\.txt$/i.test(name) && !/^[^\n]*\t/.test(content)) return lines(content);
  const table = /^\s*\{/.test(content) ? jsonLines(content) : delimited(content);
  if (!table.rows.length) throw new Error("there are no rows below the first line");
  return table;
}

/** A review in every line. */
function lines(text) {
  const rows = text.split(/\r?\n/).map((line, number) => ({ line: number + 1, cells: [line.trim()] })).filter(({ cells }) => cells[0]);
  if (!rows.length) throw new Error("the file is empty");
  return { columns: ["review"], rows };
}

function jsonLines(text) {
  const objects = text.split(/\r?\n/).flatMap((line, number) => {
    if (!line.trim()) return [];
    try {
      const value = JSON.parse(line);
      if (value && typeof value === "object" && !Array.isArray(value)) return [{ line: number + 1, value }];
    } catch {
      // told below
    }
    throw new Error(`line ${number + 1} is no JSON object`);
  });
  const columns = [...new Set(objects.flatMap(({ value }) => Object.keys(value)))];
  const shown = (value) => (value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  return { columns, rows: objects.map(({ line, value }) => ({ line, cells: columns.map((name) => shown(value[name])) })) };
}

function delimited(text) {
  const header = text.slice(0, text.search(/\r?\n|$/));
  const delimiter = DELIMITERS.reduce((best, each) => (header.split(each).length > header.split(best).length ? each : best));
  const records = [...readRecords(text, delimiter)].filter(({ cells }) => cells.length > 1 || cells[0].trim());
  const [first, ...rows] = records;
  if (!first) throw new Error("the file is empty");
  const columns = first.cells.map((name, number) => name.trim() || `column ${number + 1}`);
  for (const { line, cells } of rows) {
    if (cells.length > columns.length) throw new Error(`line ${line} has ${cells.length} cells, the first line ${columns.length}; put a text that holds the delimiter in double quotes`);
    while (cells.length < columns.length) cells.push("");
  }
  return { columns, rows };
}

function* readRecords(text, delimiter) {
  let [cells, cell, quoted, line, began] = [[], "", false, 1, 1];
  for (let at = 0; at <= text.length; at++) {
    const letter = text[at];
    if (quoted && letter === undefined) throw new Error(`a quote that begins in the row of line ${began} is never closed`);
    if (letter === "\n") line++;
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') cell += text[++at];
      else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === delimiter) [cells, cell] = [[...cells, cell], ""];
    else if (letter === "\n" || letter === undefined) {
      yield { line: began, cells: [...cells, cell] };
      [cells, cell, began] = [[], "", line];
    } else if (letter !== "\r" || text[at + 1] !== "\n") cell += letter;
  }
}

/**
 * The numbers of the columns that are probably {sentence, aspect, polarity, date, product}, or null each. The service tells them
 * by names and contents, as the command line does; if it does not, the reader chooses.
 */
export async function guessColumns({ columns, rows }) {
  const head = rows.slice(0, Math.min(LOOKED_AT, Math.ceil(CELLS / columns.length)));
  const body = { columns, rows: head.map(({ cells }) => cells.map((cell) => slice(cell.trim(), 0, LONGEST))) };
  try {
    return await call("/v1/columns", { body });
  } catch {
    return { sentence: null, aspect: null, polarity: null, date: null, product: null };
  }
}

/** Rows of text as CSV. A cell that a spreadsheet would take for a formula is made harmless. */
export function asCsv(rows) {
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}
