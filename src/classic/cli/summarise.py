"""`classic summarise`: what a file of reviews says, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classic.cli.answerers import opener
from classic.cli.options import BatchSize, Device, MinConfidence, OldVersion, StarterEncoder, Threads, ToldDomain
from classic.errors import InputError

if TYPE_CHECKING:
    from classic.runtime.answering import Answering
    from classic.summary.survey import Survey


def summarise(
    store: Annotated[
        Path,
        typer.Argument(
            help="Folder of the store, or a folder that `classic export` wrote. Without either, the starter that comes with "
            "the package reads the file.",
            metavar="STORE|FILE",
            show_default=False,
        ),
    ],
    reviews: Annotated[
        Path | None,
        typer.Argument(
            help="File of reviews, a row for each: CSV, TSV, JSONL, Parquet, Excel, or text with a review per line.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="What to write, by its ending: .html, .json or .csv. May be repeated. Default: summary.html.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page. Default: the name of the file.", show_default=False)
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Column of the reviews. Default: found by name or length.", show_default=False)
    ] = None,
    date: Annotated[
        str | None, typer.Option(help='Column of the dates, "" for none. Default: found.', show_default=False)
    ] = None,
    product: Annotated[
        str | None, typer.Option(help='Column of the products, "" for none. Default: found.', show_default=False)
    ] = None,
    min_confidence: MinConfidence = 0.5,
    least: Annotated[int, typer.Option(help="Mentions an aspect needs to be shown.", min=1)] = 5,
    sample: Annotated[
        int | None,
        typer.Option(help="Read only so many reviews, evenly spread over the file.", min=1, show_default=False),
    ] = None,
    domain: ToldDomain = None,
    version: OldVersion = None,
    encoder: StarterEncoder = None,
    batch_size: BatchSize = 32,
    threads: Threads = None,
    device: Device = "auto",
    open_it: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
) -> None:
    """Say what a pile of reviews is about: aspects found and judged, one page to send round.

    Aspects that mean the same are counted together. Counts by polarity with their intervals, a bar chart, typical
    sentences for and against; what changed, if there is a column of dates; by product, if there is one. The page is one
    HTML file that loads nothing. Memory does not grow with the file.

    For instance:

        classic summarise reviews.csv

        classic summarise reviews.store reviews.csv -o summary.html -o summary.csv --title "Reviews, May"

        classic summarise reviews.store reviews.jsonl --text body --date created --product sku --sample 5000
    """
    from classic.summary.survey import survey
    from classic.summary.writing import check_target

    source, own = (store, None) if reviews is None else (reviews, store)
    if reviews is None and source.is_dir():
        raise InputError("no file of reviews given", fix=f"write: classic summarise {source} reviews.csv")
    targets = out or [Path("summary.html")]
    for target in targets:
        check_target(target, source)
    found = survey(source, text, date, product)
    _tell(found)
    open_predictor, _ = opener(own, version, threads, device, told=domain is not None, finding=True, encoder=encoder)
    predictor = open_predictor()
    _summarise(found, predictor, targets, title or source.stem, min_confidence, least, sample, domain, batch_size)
    if open_it:
        import webbrowser

        page = next((target for target in targets if target.suffix.casefold() == ".html"), targets[0])
        if not webbrowser.open(page.resolve().as_uri()):
            typer.echo("found no browser to open it with", err=True)


def _tell(found: Survey) -> None:
    """What was taken for what, before the work begins: a wrong guess is seen at once."""
    columns = found.columns
    parts = [f"review{'' if found.reviews == 1 else 's'} from column {columns.text!r}"]
    parts += [f"dates from {columns.date!r}"] if columns.date else []
    parts += [f"products from {columns.product!r}"] if columns.product else []
    typer.echo(f"{found.reviews:,} {', '.join(parts)}", err=True)
    if found.empty:
        were = "1 row without a text is" if found.empty == 1 else f"{found.empty:,} rows without a text are"
        typer.echo(f"{were} left out", err=True)
    if found.undated:
        have = "1 review has" if found.undated == 1 else f"{found.undated:,} reviews have"
        typer.echo(f"{have} no date that could be read", err=True)


def _summarise(
    found: Survey,
    predictor: Answering,
    targets: list[Path],
    title: str,
    min_confidence: float,
    least: int,
    sample: int | None,
    domain: str | None,
    batch_size: int,
) -> None:
    from classic.cli.progress import RowProgress
    from classic.summary.counting import count_reviews, describe, sampled
    from classic.summary.nearness import nearness
    from classic.summary.summary import summarise as make
    from classic.summary.survey import iter_reviews
    from classic.summary.writing import write_summary

    total = min(found.reviews, sample or found.reviews)
    with RowProgress() as progress:
        progress.begin("finding aspects", total)
        try:
            tally = count_reviews(
                sampled(iter_reviews(found), found.reviews, sample),
                predictor,
                min_confidence=min_confidence,
                domain=domain,
                batch_size=batch_size,
                on_reviews=progress.at,
            )
        except KeyboardInterrupt:
            typer.echo("\nNothing is written. --sample N reads fewer reviews, evenly spread.", err=True)
            raise
        progress.begin("grouping names", None)
        summary = make(tally, found, title=title, model=describe(predictor), similarity=nearness(), least=least)
        for target in targets:
            write_summary(summary, target)
    clearly = f"{len(summary.aspects)} aspects in {summary.everything.mentions:,} mentions"
    typer.echo(f"wrote {', '.join(map(str, targets))}: {clearly} of {summary.reviews:,} reviews")
    if summary.everything.mentions and not summary.aspects:
        typer.echo(f"no aspect is mentioned {least} times or more; --least 1 shows rarer ones, too", err=True)
