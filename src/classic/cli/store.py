"""`classic store`: look at a store, check it, go back, hand it over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classic.cli import completion
from classic.cli.options import AsJson, StorePath, print_json
from classic.errors import StoreError
from classic.store.store import Store

app = typer.Typer(help="Look at a store, check it, go back, hand it over.", no_args_is_help=True)


@app.command("list")
def list_versions(store: StorePath, as_json: AsJson = False) -> None:
    """Show the versions of a store and which one is in use."""
    opened = Store.open(store)
    versions = [opened.version(number) for number in opened.numbers() if number]
    current = opened.current
    if as_json:
        rows = [{"version": v.number, "parent": v.parent, "current": v.number == current} | v.record for v in versions]
        print_json({"current": current, "versions": rows})
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    straight = all(v.parent == v.number - 1 for v in versions)  # no rollback ever led elsewhere
    table = Table(
        title=str(store), title_justify="left", caption="test scores when learned; units of the adapters left"
    )
    table.add_column("#", justify="right")
    table.add_column("domain", overflow="fold")
    for column in (*(() if straight else ("from",)), "train", "accuracy", "macro-F1", "free", ""):
        table.add_column(column, justify="right", no_wrap=True)
    for v in versions:
        test = v.record["scores"].get("test", {})
        capacity = v.record.get("capacity")
        table.add_row(
            str(v.number),
            Text(v.domain),
            *(() if straight else (str(v.parent),)),
            str(sum(v.record["counts"]["train"].values())),
            f"{test['accuracy']:.3f}" if test else "-",
            f"{test['macro_f1']:.3f}" if test else "-",
            f"{capacity['free']:.0%}" if capacity else "-",
            "in use" if v.number == current else "",
        )
    Console().print(table)
    if current == 0:
        typer.echo("The untaught model (version 0) is in use.")


@app.command()
def verify(store: StorePath, as_json: AsJson = False) -> None:
    """Check every file of a store against its sha256, and print one digest for all of it."""
    from classic.serving.kept import check_rows

    opened = Store.open(store)
    digest = opened.verify()
    check_rows(store / "service")
    if as_json:
        print_json({"ok": True, "current": opened.current, "sha256": digest})
    else:
        count = len(opened.numbers()) - 1
        versions = "1 version" if count == 1 else f"{count} versions"
        typer.echo(f"{store} is whole: {versions}; version {opened.current} is in use\nsha256 {digest}")


@app.command()
def rollback(
    store: StorePath,
    version: Annotated[
        int,
        typer.Argument(
            help="The version to use again; 0 is the untaught model.", metavar="VERSION", show_default=False
        ),
    ],
) -> None:
    """Put an earlier version back in use. Later versions stay until `prune`.

    For instance:

        classic store rollback reviews.store 2
    """
    opened = Store.open(store)
    opened.rollback(version)
    typer.echo(f"version {version} is in use; it knows: {', '.join(opened.domains()) or 'nothing yet'}")


@app.command()
def prune(store: StorePath, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete the versions that the one in use is not made of: what they learned is then gone for good."""
    opened = Store.open(store)
    kept = {0, *(version.number for version in opened.chain())}
    gone = [number for number in opened.numbers() if number not in kept]
    if not gone:
        opened.prune()  # scraps of killed processes, too
        typer.echo("nothing to delete")
        return
    names = ", ".join(f"{number} ({_domain(opened, number)})" for number in gone)
    if not yes:
        typer.confirm(f"Delete for good: {names}?", abort=True)
    opened.prune()
    typer.echo(f"deleted {names}")


def _domain(store: Store, number: int) -> str:
    try:
        return store.version(number).domain
    except StoreError:
        return "damaged"


@app.command()
def card(
    store: StorePath,
    version: Annotated[
        int | None, typer.Argument(help="Default: the one in use.", metavar="VERSION", show_default=False)
    ] = None,
    raw: Annotated[bool, typer.Option("--markdown", help="Print plain Markdown.")] = False,
) -> None:
    """Show a version's model card."""
    text = Store.open(store).card(version)
    if raw:
        typer.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


@app.command()
def pack(
    store: StorePath,
    file: Annotated[Path, typer.Argument(help="The file to write.", metavar="FILE", show_default=False)],
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Also if the method keeps training texts (DER++, joint, retrain).")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            "--sign", help="Sign it with this private key; writes FILE.sig.", metavar="KEY", show_default=False
        ),
    ] = None,
) -> None:
    """Write the version in use, and what it is made of, into one file for another data owner.

    The model travels, the data does not. The other one unpacks it, verifies it and teaches it further.

    For instance:

        classic store pack reviews.store may.classic
    """
    from classic.store.archive import pack as pack_store
    from classic.store.signing import read_private, sign

    private = read_private(key) if key else None
    opened = Store.open(store)
    size = pack_store(opened, file, with_texts=with_texts)
    typer.echo(f"wrote {file}: {size / 2**20:.1f} MiB\nsha256 {opened.digest()}")
    if private is not None:
        typer.echo(f"signed: {sign(file, private)}")


@app.command()
def keygen(
    key: Annotated[Path, typer.Argument(help="The file to write.", metavar="KEY", show_default=False)],
) -> None:
    """Make a key to sign packed stores with, and KEY.pub to check them by."""
    from classic.store.signing import make_key

    public = make_key(key)
    typer.echo(f"wrote {key} (keep it to yourself) and {key}.pub (give it to who unpacks)\npublic key {public.hex()}")


@app.command()
def unpack(
    file: Annotated[Path, typer.Argument(help="A file written by `pack`.", metavar="FILE", show_default=False)],
    store: Annotated[Path, typer.Argument(help="Folder to make; must not exist.", metavar="STORE", show_default=False)],
    expect: Annotated[
        str | None, typer.Option("--sha256", help="Refuse anything but this digest.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--verify-key",
            help="Refuse what the owner of this public key has not signed (FILE.sig).",
            metavar="KEY.pub",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a store of a packed file; every byte is checked before the store appears.

    For instance:

        classic store unpack may.classic their.store
    """
    from classic.store.archive import unpack as unpack_store
    from classic.store.signing import check_signature

    if key:
        check_signature(file, key)
    opened = unpack_store(file, store, expect)
    typer.echo(f"{store} knows: {', '.join(opened.domains())}\nsha256 {opened.digest()}")


@app.command()
def delete(
    store: StorePath,
    domain: Annotated[
        str, typer.Option(help="The domain to forget.", show_default=False, autocompletion=completion.domain)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget a domain exactly: go back to the version before it and delete everything of it.

    Domains learned after it grew from it. They go, too, and must be taught again by whoever has their data; so do versions
    that a rollback left aside, of whatever domain. What is left is, byte for byte, the store from before. Packed copies,
    exports, reports and backups are not reached.

    For instance:

        classic store delete reviews.store --domain phone
    """
    from dataclasses import asdict

    from classic.serving.forgetting import forget_domain
    from classic.store.deletion import delete_domain, files_with, versions_that_go

    opened = Store.open(store)
    named = {number: f"{number} ({_domain(opened, number)})" for number in versions_that_go(opened, domain)}
    learned = opened.domains()
    later = learned[learned.index(domain) + 1 :] if domain in learned else []
    if not yes:
        also = f"; {', '.join(later)} learned after it must be taught again" if later else ""
        going = ", ".join(named.values()) or "none"
        typer.confirm(f"Forget {domain} for good{also}? Versions that go: {going}.", abort=True)
    forget_domain(store / "service", domain, {opened.digest(number) for number in opened.numbers()})  # or is it in use?
    done = delete_domain(opened, domain)
    kept = {opened.digest(number) for number in opened.numbers()}
    removed = forget_domain(store / "service", domain, kept)
    left = files_with(store, domain.encode())
    if as_json:
        print_json(asdict(done) | {"service": removed, "name_still_in": left})
        return
    gone = ", ".join(named.get(number, str(number)) for number in done.gone) or "none"
    typer.echo(f"{domain} is forgotten: version {done.version} is in use; deleted versions: {gone}")
    typer.echo(f"sha256 {done.sha256}, as it was before {domain} was learned")
    for entry in (*done.scores, *removed):
        typer.echo(f"also removed from {entry}")
    if done.again:
        typer.echo(f"to be taught again, in this order: {', '.join(done.again)}")
    if left:
        typer.echo(f"the word {domain!r} still stands in: {', '.join(left)}")
