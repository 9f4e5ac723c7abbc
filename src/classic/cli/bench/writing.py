"""Files that `classic bench` writes, and pages it writes into."""

from __future__ import annotations

from pathlib import Path

import typer

from classic.errors import InputError


def save(path: Path, data: bytes) -> None:
    """Writes a file and says so."""
    from classic.files import write_bytes

    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"nothing can be written: {wrong}", fix="name a file in a folder that exists")
    try:
        write_bytes(path, data)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", fix="choose another place") from None
    typer.echo(f"wrote {path}", err=True)


def put_into_page(page: Path, text: str, mark: str) -> None:
    """Puts a text between the two marks of a name in a Markdown page."""
    from classic.benchmark.tables.rendering import put_between_marks

    if not page.is_file():
        raise InputError(f"there is no page {page}", fix="name a Markdown file that has the two marks")
    save(page, put_between_marks(page.read_text("utf-8"), text, str(page), mark).encode())
