"""A table as text: for the terminal, in Markdown, in LaTeX, in HTML. Equal tables give equal bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import Literal

from classic.benchmark.tables.table import Cell, Column, Table
from classic.errors import InputError, unknown_name

Format = Literal["terminal", "markdown", "latex", "html"]
FORMATS: tuple[Format, ...] = ("terminal", "markdown", "latex", "html")
_WIDE = 400  # columns of an imaginary terminal: a table that is written to a file is never wrapped


def render(table: Table, form: str) -> str:
    """A table in one of FORMATS, with a line break at its end."""
    known: dict[str, Callable[[Table], str]] = {
        "terminal": _terminal,
        "markdown": _markdown,
        "latex": _latex,
        "html": _html,
    }
    if form not in known:
        raise unknown_name("format", form, list(known))
    return known[form](table)


def put_between_marks(page: str, text: str, where: str, mark: str) -> str:
    """A page with what stands between its two marks of a name replaced."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        raise InputError(
            f"{where} does not have the two marks once each, in order", fix=f"put {begin} and {end} into it"
        )
    return f"{page[: page.index(begin)]}{begin}\n{text.strip()}\n{page[page.index(end) :]}"


def _terminal(table: Table) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title=Text(table.title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        grid.add_column(Text(column.title), justify="left" if column.words else "right", no_wrap=True)
    for line, ends in zip(table.lines, _section_ends(table), strict=True):
        cells = (Text(cell.text, style="bold" if cell.bold else "") for cell in line.cells)
        grid.add_row(*cells, end_section=ends)
    page = io.StringIO()
    console = Console(file=page, width=_WIDE, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(grid)
    for note in (*table.notes, f"Made by: {table.command}"):
        console.print(Text(note, style="dim"), soft_wrap=True)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def plain(text: str) -> str:
    """Terminal text without its colours, for files and pipes."""
    return re.sub(r" +$", "", re.sub(r"\x1b\[[0-9;]*m", "", text), flags=re.MULTILINE)


def _markdown(table: Table) -> str:
    def cell(each: Cell) -> str:
        text = each.text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
        return f"**{text}**" if each.bold else text

    lines = [
        f"**{table.title}**",
        "",
        _row([column.title for column in table.columns]),
        _row([":--" if column.words else "--:" for column in table.columns]),
        *(_row([cell(each) for each in line.cells]) for line in table.lines),
        "",
        *(f"- {note}" for note in table.notes),
        f"- Made by `{table.command}`.",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "−": r"$-$",
    "Δ": r"$\Delta$",
    "—": r"---",
    "–": r"--",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "§": r"$^\S$",
    "¶": r"$^\P$",
}


def escape_latex(text: str) -> str:
    """Text as LaTeX sets it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex(table: Table) -> str:
    """For `booktabs`, which the preamble must load."""

    def cell(each: Cell) -> str:
        return rf"\textbf{{{escape_latex(each.text)}}}" if each.bold else escape_latex(each.text)

    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering\small",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{''.join('l' if column.words else 'r' for column in table.columns)}}}",
        r"\toprule",
        " & ".join(escape_latex(column.title) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    for line, ends in zip(table.lines, _section_ends(table), strict=True):
        lines.append(" & ".join(cell(each) for each in line.cells) + r" \\")
        lines += [r"\midrule"] if ends else []
    notes = " ".join(escape_latex(note) for note in table.notes)
    lines += [r"\bottomrule", r"\end{tabular}", "", rf"\smallskip\parbox{{\textwidth}}{{\footnotesize {notes}}}"]
    lines += [r"\end{table*}", f"% {table.command}"]
    return "\n".join(lines) + "\n"


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .5rem; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid currentColor; vertical-align: bottom; }
.words { text-align: left; }
.ends td { border-bottom: 1px solid #9aa4af; }
.notes { color: #48525d; max-width: 60rem; }
""".strip()


def _html(table: Table) -> str:
    title = escape(table.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{html_part(table)}</body>\n</html>\n"
    )


def html_part(table: Table) -> str:
    """The table and its notes, for a page of one's own."""
    head = "".join(f'<th scope="col"{_kind(column)}>{escape(column.title)}</th>' for column in table.columns)
    lines = [f"<table>\n<caption>{escape(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>"]
    for line, ends in zip(table.lines, _section_ends(table), strict=True):
        cells = ""
        for column, each in zip(table.columns, line.cells, strict=True):
            text = f"<strong>{escape(each.text)}</strong>" if each.bold else escape(each.text)
            cells += f"<td{_kind(column)}>{text}</td>"
        lines.append(f'<tr class="ends">{cells}</tr>' if ends else f"<tr>{cells}</tr>")
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in table.notes)
    command = f"<p>Made by <code>{escape(table.command)}</code>.</p>\n"
    return "\n".join(lines) + f'\n</tbody>\n</table>\n<div class="notes">\n{notes}{command}</div>\n'


def _kind(column: Column) -> str:
    return ' class="words"' if column.words else ""


def _section_ends(table: Table) -> list[bool]:
    """For every line, whether the next one belongs to another section."""
    changes = [here.section != after.section for here, after in pairwise(table.lines)]
    return [*changes, False][: len(table.lines)]
