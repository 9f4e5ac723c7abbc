"""Predicting large files: memory stays flat, a kill loses nothing and doubles nothing, Ray spreads the work.

Rows are answered in chunks. The answers of a chunk are appended to a partial file and synced, and then a small journal
beside it is replaced: so many rows, so many bytes. Whoever takes up the work cuts the partial file to the journal's length
and skips the journal's rows. Chunks always begin at the same rows, so the finished file has the same bytes, killed or not.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from classic.cluster import enough_room, start_ray
from classic.data.readers import BadRow, Row
from classic.errors import ClassicError, InputError
from classic.files import json_bytes, sync_folder, write_json
from classic.prediction.tables import need_pyarrow, write_parquet
from classic.runtime.answering import WINDOW, Answering
from classic.runtime.records import Answered, columns, header, lines, record
from classic.types import Example, Prediction, example_about

CHUNK = WINDOW
"""Rows between two entries of the journal: some ten seconds of work on a CPU, all that a kill can lose."""

Chunk = list[Example]
Engine = Callable[[Iterable[Chunk]], Iterator[list[Prediction]]]
"""Answers chunks in their order."""


def local_engine(
    predictor: Answering, domain: str | None, batch_size: int, on_answer: Callable[[], None] | None = None
) -> Engine:
    """Answers in this process; ``on_answer`` is called after each answer."""

    def answer(chunks: Iterable[Chunk]) -> Iterator[list[Prediction]]:
        for chunk in chunks:
            answers = []
            for found in predictor.stream(chunk, domain=domain, batch_size=batch_size):
                answers.append(found)
                if on_answer:
                    on_answer()
            yield answers

    return answer


def ray_engine(open_predictor: Callable[[], Answering], domain: str | None, batch_size: int, workers: int) -> Engine:
    """Answers in worker processes, on this machine or on the cluster that `RAY_ADDRESS` names.

    Args:
        open_predictor: Opens the predictor in a worker; its paths must mean the same on every machine.
        domain: As in `Predictor.predict`.
        batch_size: Examples computed at once.
        workers: How many processes, with one CPU each.
    """
    # As many CPUs as workers, whatever the machine has: a worker without one would be waited for in vain.
    ray = start_ray(os.environ.get("RAY_ADDRESS"), workers, extra="ray")

    class Worker:
        def __init__(self) -> None:
            self.engine = local_engine(open_predictor(), domain, batch_size)

        def answer(self, chunk: Chunk) -> list[Prediction]:
            return next(self.engine([chunk]))

    def answer(chunks: Iterable[Chunk]) -> Iterator[list[Prediction]]:
        actor: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(Worker)
        pool = [actor.remote() for _ in range(workers)]
        waiting: deque[Any] = deque()
        # Two chunks per worker are under way: enough to keep it busy, few enough to keep memory flat.
        with enough_room(ray):
            for worker, chunk in zip(itertools.cycle(pool), chunks, strict=False):
                if len(waiting) == 2 * workers:
                    yield ray.get(waiting.popleft())
                waiting.append(worker.answer.remote(chunk))
            while waiting:
                yield ray.get(waiting.popleft())

    return answer


class _BusyError(InputError):
    """Somebody else is at work on the output."""


class RowPredictor:
    """Answers batches of rows of a Ray dataset: `dataset.map_batches(RowPredictor, fn_constructor_args=(folder,), ...)`.

    Ray Data then reads, spreads and writes, and keeps no order; see `docs/scaling.md`.

    Args:
        folder: A folder that `classic export` wrote, at the same place on every machine.
        batch_size: Examples computed at once.
    """

    def __init__(self, folder: str, batch_size: int = 32) -> None:
        from classic.runtime import ExportedPredictor

        self._predictor, self._batch_size = ExportedPredictor(folder, threads=1), batch_size

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Columns `sentence` and `aspect` in, the columns of the answers out."""
        pairs = zip(batch["sentence"], batch["aspect"], strict=True)
        examples = [example_about(str(sentence), str(aspect)) for sentence, aspect in pairs]
        answers = [record(answer) for answer in self._predictor.stream(examples, batch_size=self._batch_size)]
        return {name: [answer[name] for answer in answers] for name in answers[0]} if answers else {}


def predict_file(
    rows: Iterable[Row | BadRow],
    out: Path,
    form: str,
    engine: Engine,
    job: dict[str, Any],
    on_chunk: Callable[[int], None] | None = None,
    chunk: int = CHUNK,
    names: Sequence[str] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> int:
    """Answers all rows into a file, or goes on where a killed process left off.

    Args:
        rows: All rows from the first one on; those that are answered already are read and skipped. A bad one is written with
            what is wrong with it.
        out: The file; it appears when all rows are answered.
        form: ``jsonl``, ``csv`` or ``parquet``.
        engine: Who answers.
        job: What determines the answers; work on another job is thrown away.
        on_chunk: Told the number of rows answered so far.
        chunk: Rows between two entries of the journal.
        names: The columns of a CSV file, from `classic.runtime.records.columns`; those of the answers if none are given.
        on_start: Told the number of rows that were answered before.

    Returns:
        The number of rows.
    """
    names = columns(()) if names is None else names

    def chunks(done: int) -> Iterator[tuple[int, str]]:
        for answered in _answer(itertools.islice(rows, done, None), engine, chunk):
            yield len(answered), lines(answered, form, names)

    return write_chunks(chunks, out, form, job | {"chunk": chunk, "columns": list(names)}, names, on_chunk, on_start)


def write_chunks(
    chunks: Callable[[int], Iterator[tuple[int, str]]],
    out: Path,
    form: str,
    job: dict[str, Any],
    names: Sequence[str],
    on_chunk: Callable[[int], None] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> int:
    """Writes a file chunk by chunk, or goes on where a killed process left off.

    Args:
        chunks: From so many rows of the input on: how many each chunk answers, and the lines of the answers.
        out: The file; it appears when all rows are answered.
        form: ``jsonl``, ``csv`` or ``parquet``; the lines of ``parquet`` are those of ``jsonl``.
        job: What determines the answers, the size of the chunks included; work on another job is thrown away.
        names: The columns of a CSV file.
        on_chunk: Told the number of rows answered so far.
        on_start: Told the number of rows that were answered before.

    Returns:
        The number of rows of the input.
    """
    if form == "parquet":
        need_pyarrow()
    key = hashlib.sha256(json_bytes(job | {"form": form})).hexdigest()
    partial, journal = out.with_name(f".{out.name}.partial"), out.with_name(f".{out.name}.journal")
    try:
        with partial.open("a+b") as handle:
            _take(handle, out)
            done, size = _read_journal(journal, key)
            if handle.seek(0, os.SEEK_END) < size:
                done, size = 0, 0
            handle.truncate(size)
            if not done:
                handle.write(header(form, names).encode())
            if on_start:
                on_start(done)
            for count, text in chunks(done):
                done += count
                _append(handle, text)
                write_json(journal, {"key": key, "rows": done, "bytes": handle.tell()})
                if on_chunk:
                    on_chunk(done)
            handle.flush()
            os.fsync(handle.fileno())
        if form == "parquet":
            table = out.with_name(f".{out.name}.tmp")
            write_parquet(partial, table)
            table.replace(out)
            partial.unlink()
        else:
            partial.replace(out)
        journal.unlink(missing_ok=True)
        sync_folder(out.parent)
    except _BusyError:
        raise
    except ClassicError:  # the input must change, and then this work is of no use
        partial.unlink(missing_ok=True)
        journal.unlink(missing_ok=True)
        raise
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}", fix="choose another place") from None
    return done


def _answer(rows: Iterable[Row | BadRow], engine: Engine, size: int) -> Iterator[list[Answered]]:
    """Chunks of rows with their answers. The engine may read ahead, so rows wait for their answers in line."""
    waiting: deque[list[Row | BadRow]] = deque()

    def asked() -> Iterator[Chunk]:
        ahead = iter(rows)
        while chunk := list(itertools.islice(ahead, size)):
            waiting.append(chunk)
            yield [row.example for row in chunk if isinstance(row, Row)]

    for answers in engine(asked()):
        yield pair(waiting.popleft(), answers)


def pair(rows: Iterable[Row | BadRow], answers: Iterable[Prediction]) -> list[Answered]:
    """Rows with their answers; a bad row has none."""
    found = iter(answers)
    return [
        Answered(None, row.fields, row.error.told) if isinstance(row, BadRow) else Answered(next(found), row.fields)
        for row in rows
    ]


def describe_input(path: Path) -> dict[str, Any]:
    """What tells whether an input file is still the same: its name, size and time of change."""
    stat = path.stat()
    return {"path": str(path.resolve()), "bytes": stat.st_size, "changed": stat.st_mtime_ns}


def _take(handle: BinaryIO, out: Path) -> None:
    """One writer at a time; the system takes the lock back when its holder dies."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise _BusyError(
            f"another process is writing {out}", fix="wait for it to end, or choose another name"
        ) from None


def _read_journal(journal: Path, key: str) -> tuple[int, int]:
    try:
        found = json.loads(journal.read_bytes())
        if found["key"] == key:
            return int(found["rows"]), int(found["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, 0


def _append(handle: BinaryIO, text: str) -> None:
    handle.write(text.encode())
    handle.flush()
    os.fsync(handle.fileno())
