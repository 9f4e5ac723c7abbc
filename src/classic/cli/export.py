"""`classic export`: a store's model as a folder that needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classic.cli import completion
from classic.cli.options import AsJson, StorePath, Threads, prepare_torch, print_json

if TYPE_CHECKING:
    from classic.types import Example


def export(
    store: StorePath,
    out: Annotated[Path, typer.Option("--out", "-o", help="The new folder.", metavar="FOLDER", show_default=False)],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="onnx: 32 bits, the same answers. int8: 8 bits, smaller and faster, a few answers may differ. "
            "hf: for plain transformers; only for a fine-tuned BERT, not for what `learn` makes.",
            autocompletion=completion.of("onnx", "int8", "hf"),
        ),
    ] = "onnx",
    on: Annotated[
        list[str] | None,
        typer.Option(
            help="Texts on which export and store are compared, as in `evaluate`, or asc19 for the paper's test sets. "
            "May be repeated. Default: the demo domains' test sets.",
            metavar="[NAME=]PATH",
            show_default=False,
        ),
    ] = None,
    calibrate: Annotated[
        list[Path] | None,
        typer.Option(
            help="int8: a file of texts like those it will be asked about, a few hundred; other ones than --on. May be "
            "repeated. Default: texts of the demo domains.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    version: Annotated[int | None, typer.Option(help="Export an older version.", show_default=False)] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Whose model; only in a store that learns task-incrementally.",
            show_default=False,
            autocompletion=completion.domain,
        ),
    ] = None,
    max_gap: Annotated[
        float | None, typer.Option(help="Largest difference of a logit that is published.", show_default=False)
    ] = None,
    max_flips: Annotated[
        float | None, typer.Option(help="Largest share of changed answers that is published.", show_default=False)
    ] = None,
    max_drop: Annotated[
        float | None, typer.Option(help="Largest fall of the own F1 that is published.", show_default=False)
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Write the model, masks folded in and dead units left out, into a folder that `classic predict` runs without torch.

    Before the folder is published, export and store answer the same questions; beyond the limits nothing is written.

    For instance:

        classic export reviews.store -o reviews.onnx --on camera=camera_test.csv

        classic predict reviews.onnx new_reviews.csv -o answers.csv
    """
    from dataclasses import replace

    from classic.data import read_examples
    from classic.errors import InputError
    from classic.store.store import Store

    opened = Store.open(store)
    sets = _sets(on or [], opened.domains(version))
    if calibrate and form != "int8":
        raise InputError(f"--calibrate with --format {form}", fix="leave it out: only int8 has steps to choose")
    calibration = [example for path in calibrate or [] for example in read_examples(path, labelled=False)]
    prepare_torch(threads, "cpu")
    from classic.export import export_store
    from classic.export.parity import Limits

    usual = Limits.of(form)
    limits = replace(
        usual,
        gap=usual.gap if max_gap is None else max_gap,
        flips=usual.flips if max_flips is None else max_flips,
        drop=usual.drop if max_drop is None else max_drop,
    )
    parity = export_store(
        opened, out, form, version=version, domain=domain, sets=sets, limits=limits, calibration=calibration or None
    )
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    if as_json:
        print_json({"folder": str(out), "bytes": size, "parity": parity.to_dict()})
        return
    typer.echo(f"compared on {parity.examples} examples, {parity.texts}:")
    typer.echo(f"  largest difference of a logit  {parity.gap:.2g}")
    typer.echo(f"  answers that changed           {parity.flips} of {parity.examples}")
    if parity.store_f1 is not None and parity.export_f1 is not None:
        typer.echo(f"  own F1                         {parity.store_f1:.4f} -> {parity.export_f1:.4f}")
    if parity.layers:
        typer.echo(f"  layers in 8 bits               {parity.rounded} of {parity.layers}")
    typer.echo(f"wrote {out} ({size / 1e6:.0f} MB)")


def _sets(entries: list[str], domains: list[str]) -> dict[str, list[Example]] | None:
    from classic.data import DOMAINS, load_domain, read_examples
    from classic.data.tasks import scored_file
    from classic.errors import InputError

    sets: dict[str, list[Example]] = {}
    for entry in entries:
        if entry == "asc19":
            paper = [known.name for known in DOMAINS if known.name in domains]
            if not paper:
                raise InputError("this store has learned none of the paper's domains", fix="give files instead")
            sets |= {name: list(load_domain(name).test) for name in paper}
            continue
        name, separator, path = entry.partition("=")
        file = scored_file(path if separator else entry)
        sets[name if separator else str(file)] = list(read_examples(file, labelled=False))
    return sets or None
