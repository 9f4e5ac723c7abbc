"""`classic audit`: what a store keeps and why, whether a text is in it, how much its weights tell."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from classic.cli import completion
from classic.cli.options import AsJson, StorePath, print_json
from classic.errors import InputError, StoreError

NOT_PROMISED = (
    "There is no differential privacy here: weights are shaped by texts and may tell who was among them.",
    "Deleting is not shredding: disks, snapshots, backups and packed copies may hold what is gone here.",
    "Names of domains are kept. Methods that replay (derpp, retrain, joint) keep texts, word for word.",
)


def audit(
    store: StorePath,
    find: Annotated[
        list[str] | None,
        typer.Option("--find", help="A text to look for; may be repeated.", metavar="TEXT", show_default=False),
    ] = None,
    find_in: Annotated[
        Path | None,
        typer.Option("--find-rows", help="Look for every sentence of a data file.", show_default=False),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also", help="Look there, too: caches, logs. May be repeated.", metavar="PATH", show_default=False
        ),
    ] = None,
    members: Annotated[
        Path | None, typer.Option(help="Rows a domain was trained on, for membership inference.", show_default=False)
    ] = None,
    others: Annotated[
        Path | None, typer.Option(help="Rows of the same domain it was not trained on.", show_default=False)
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="The domain of the members.", show_default=False, autocompletion=completion.domain),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show every byte a store keeps and why, look for texts in it, and measure how much its weights tell.

    A text is looked for in all encodings, in base64 and JSON, inside packed files, and as runs of token ids. The search is
    tried on planted copies first. Ends with code 1 if a text is found or the store is not whole.

    For instance:

        classic audit reviews.store --find-rows camera.csv --also ~/.cache --also /tmp

        classic audit reviews.store --domain camera --members train.csv --others test.csv
    """
    from classic.audit.inventory import UNKNOWN, as_rows, by_domain, inventory, lineage
    from classic.store.store import Store

    opened = Store.open(store)
    files = inventory(opened)
    found: dict[str, Any] = {
        "store": str(store),
        "whole": True,
        "problem": None,
        "bytes": sum(file.bytes for file in files),
        "by_domain": by_domain(files),
        "files": as_rows(files),
        "lineage": [],
        "search": None,
        "membership": None,
        "not_promised": list(NOT_PROMISED),
    }
    try:
        found["sha256"] = opened.verify()
        found["lineage"] = lineage(opened)
    except StoreError as error:
        found |= {"whole": False, "problem": error.what, "sha256": None}
    texts = _texts(find, find_in)
    if texts:
        found["search"] = _search(opened, texts, also or [], quiet=as_json)
    if members or others or domain:
        found["membership"] = _membership(opened, domain, members, others)
    found["unknown_files"] = [file.file for file in files if file.why == UNKNOWN]
    if as_json:
        print_json(found)
    else:
        _show(found)
    if not found["whole"] or (found["search"] and found["search"]["hits"]):
        raise typer.Exit(1)


def _texts(find: list[str] | None, rows: Path | None) -> list[str]:
    texts = list(find or [])
    if rows is not None:
        from classic.data import read_examples

        texts += sorted({example.sentence for example in read_examples(rows, labelled=False)})
    if any(len(text.encode()) < 6 for text in texts):
        raise InputError("a text of less than 6 bytes is found by chance", fix="give longer ones")
    return texts


def _search(store: Any, texts: list[str], also: list[Path], *, quiet: bool) -> dict[str, Any]:
    from classic.audit.search import control, search

    missing = [str(place) for place in also if not place.exists()]
    if missing:
        raise InputError(f"there is no {missing[0]}", fix="check the path")
    if not quiet:  # it takes a minute, and silence looks like a program that hangs
        what = "1 text" if len(texts) == 1 else f"{len(texts)} texts"
        typer.echo(f"looking for {what} in every file; this may take a while", err=True)
    tokenize = _tokenizer(store)
    with tempfile.TemporaryDirectory() as name:
        sound, planted = control(texts[:20], tokenize, Path(name))
    hits, looked = search([store.path, *also], texts, tokenize)
    return {
        "texts": len(texts),
        "places": [str(place) for place in (store.path, *also)],
        "bytes": looked,
        "token_ids": tokenize is not None,
        "control": {"planted": planted, "found": sound},
        "hits": [{"text": hit.text, "file": hit.file, "form": hit.form} for hit in hits],
    }


def _tokenizer(store: Any) -> Any:
    """The store's own tokenizer; None where its encoder is not here or writes no ids."""
    from classic.backbones.encoder import encoder_folder
    from classic.errors import ClassicError

    try:
        name = store.settings["system"]["backbone_config"].get("encoder")
        file = encoder_folder(name) / "tokenizer.json" if name else None
    except (ClassicError, KeyError, TypeError):
        return None
    if file is None or not file.is_file():
        return None
    from tokenizers import Tokenizer

    read = Tokenizer.from_file(str(file))
    return lambda text: list(read.encode(text, add_special_tokens=False).ids)


def _membership(store: Any, domain: str | None, members: Path | None, others: Path | None) -> dict[str, Any]:
    if domain is None or members is None or others is None:
        raise InputError(
            "membership inference needs a domain and two files", fix="give --domain, --members and --others"
        )
    from classic.audit.membership import attack
    from classic.data import read_examples

    return attack(store, domain, read_examples(members), read_examples(others))


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    state = f"whole, sha256 {found['sha256']}" if found["whole"] else f"NOT WHOLE: {found['problem']}"
    console.print(Text(f"{found['store']}: {state}"))
    table = Table(title=f"{found['bytes']:,} bytes are kept", title_justify="left")
    for column in ("domain", "file", "bytes", "why"):
        table.add_column(column, justify="right" if column == "bytes" else "left", overflow="fold")
    for file in found["files"]:
        table.add_row(Text(file["domain"] or "-"), Text(file["file"]), f"{file['bytes']:,}", file["why"])
    console.print(table)
    if search := found["search"]:
        control = search["control"]
        console.print(
            f"searched {search['bytes']:,} bytes for {search['texts']} texts"
            f"{' (token ids, too)' if search['token_ids'] else ' (no token ids: the encoder is not here)'}; "
            f"of {control['planted']} planted copies {control['found']} were found"
        )
        for hit in search["hits"]:
            console.print(Text(f"FOUND text {hit['text']} as {hit['form']} in {hit['file']}"), soft_wrap=True)
        if not search["hits"]:
            console.print("none was found")
    if membership := found["membership"]:
        console.print(Text(f"membership inference, {membership['domain']} (0.5 is guessing, 1 is knowing):"))
        for name, value in membership.items():
            if isinstance(value, dict):
                low, high = value["interval"]
                console.print(f"  by {name}: AUC {value['auc']:.3f} ({low:.3f} to {high:.3f})")
    console.print("Not promised:")
    for sentence in NOT_PROMISED:
        console.print(f"  {sentence}", soft_wrap=True)
