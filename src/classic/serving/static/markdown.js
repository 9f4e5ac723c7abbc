// As much Markdown as model cards use: headings, paragraphs, lists, tables of two columns, **strong** and `code`.

import { h } from "./dom.js";

/** Elements of a text. Headings become h4 and h5: they stand below those of the page. */
export function markdown(text) {
  return text.trim().split(/\n\s*\n/).map((block) => {
    const lines = block.split("\n");
    const heading = lines[0].match(/^(#+) (.*)$/);
    if (heading) return h(heading[1].length === 1 ? "h4" : "h5", {}, inline(heading[2]));
    if (lines.every((line) => line.startsWith("|"))) return table(lines);
    if (lines[0].startsWith("- ")) return h("ul", {}, block.slice(2).split(/\n- /).map((item) => h("li", {}, inline(item))));
    return h("p", {}, inline(block));
  });
}

function table(lines) {
  const rows = lines.map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim())).filter((cells) => cells.some((cell) => cell && !/^:?-+:?$/.test(cell)));
  return h("dl", { class: "facts" }, rows.map(([name, ...values]) => h("div", {}, h("dt", {}, inline(name)), values.map((value) => h("dd", {}, inline(value))))));
}

function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((piece) => {
    if (/^\*\*.+\*\*$/.test(piece)) return h("strong", {}, piece.slice(2, -2));
    if (/^`.+`$/.test(piece)) return h("code", {}, piece.slice(1, -1));
    return piece;
  });
}
