"""A file of a million rows: rows per second, flat memory, five kills, and the same bytes in the end.

    python benchmarks/speed/bulk.py

What is shown here, memory and kills, does not depend on the size of the network, so the encoder is a random one of two
layers, 64 wide, over the vocabulary of the embedded encoder; a million rows of MiniLM would take hours. Its rows per second
are those of reading, tokenizing, writing and syncing; `predict.py` has MiniLM's. No row occurs twice and nothing is cached.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--form", choices=["jsonl", "csv"], default="jsonl")
    parser.add_argument("--out", type=Path, default=HERE / "bulk.json")
    arguments = parser.parse_args()

    from classic.files import write_json
    from classic.learning.environment import surroundings

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        folder, source = make_model(scratch), make_rows(scratch, arguments.rows)
        whole, broken = scratch / f"whole.{arguments.form}", scratch / f"broken.{arguments.form}"
        run, memory = watch(start(folder, source, whole))
        assert run == 0
        draw, kills = random.Random(0), []
        for number in range(arguments.kills):
            child = start(folder, source, broken)
            kills.append(kill_at(child, broken, int(arguments.rows * (number + draw.random()) / arguments.kills)))
        again, _ = watch(start(folder, source, broken))
        assert again == 0
        seconds = memory[-1][0]
        peaks = [mib for second, mib, _ in memory if second > seconds / 10]
        result = {
            "command": f"python benchmarks/speed/bulk.py --rows {arguments.rows} --kills {arguments.kills}",
            "surroundings": surroundings(),
            "rows": arguments.rows,
            "input_bytes": source.stat().st_size,
            "output_bytes": whole.stat().st_size,
            "wall_seconds": seconds,
            "rows_per_wall_second": arguments.rows / seconds,
            "rows_per_cpu_second": arguments.rows / memory[-1][2],
            "memory_mib": {"after_a_tenth": peaks[0], "largest_after": max(peaks)},
            "killed_after_rows": kills,
            "rows_in_the_output": sum(1 for _ in broken.open("rb")) - (arguments.form == "csv"),
            "same_bytes": digest(whole) == digest(broken),
        }
    plot(memory, HERE.parents[1] / "docs" / "images" / "bulk.png")
    write_json(arguments.out, result)
    print(json.dumps(result, indent=2))


def make_model(scratch: Path) -> Path:
    import torch
    from transformers import BertConfig, BertModel

    from classic.backbones.encoder import EMBEDDED, encoder_folder
    from classic.data import DEMO_DOMAINS, load_demo
    from classic.export import export_store
    from classic.learning.learner import open_or_create
    from classic.learning.teach import teach
    from classic.systems.system import SystemConfig

    encoder = scratch / "encoder"
    torch.manual_seed(0)
    shape = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    BertModel(shape).save_pretrained(encoder)
    shutil.copyfile(encoder_folder(EMBEDDED) / "tokenizer.json", encoder / "tokenizer.json")
    changes = {"backbone.encoder": str(encoder), "backbone.width": 16, "train.epochs": 1}
    store = open_or_create(scratch / "store", SystemConfig.preset(changes=changes))
    teach(store, load_demo(DEMO_DOMAINS[0]))
    export_store(store, scratch / "export")
    return scratch / "export"


def make_rows(scratch: Path, count: int) -> Path:
    """Demo sentences with a number each, as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from classic.data import DEMO_DOMAINS, load_demo

    pool = [(e.sentence, e.aspect) for name in DEMO_DOMAINS for e in load_demo(name).train]
    schema = pa.schema([("sentence", pa.string()), ("aspect", pa.string())])
    with pq.ParquetWriter(scratch / "rows.parquet", schema) as writer:
        for begin in range(0, count, 50_000):
            numbers = range(begin, min(count, begin + 50_000))
            picked = [pool[number % len(pool)] for number in numbers]
            sentences = [f"{text} No. {number}" for (text, _), number in zip(picked, numbers, strict=True)]
            writer.write_table(pa.table([sentences, [aspect for _, aspect in picked]], schema=schema))
    return scratch / "rows.parquet"


def start(folder: Path, source: Path, out: Path) -> subprocess.Popen[bytes]:
    program = "from classic.cli.main import run; run()"
    options = ["--threads", "1", "--batch-size", "128"]
    return subprocess.Popen(
        [sys.executable, "-c", program, "predict", str(folder), str(source), "-o", str(out), *options]
    )


def watch(child: subprocess.Popen[bytes]) -> tuple[int, list[tuple[float, float, float]]]:
    """Exit code, and seconds, MiB and CPU seconds as they went by."""
    import psutil

    begun, seen = time.perf_counter(), []
    process = psutil.Process(child.pid)
    while child.poll() is None:
        try:
            times = process.cpu_times()
            seen.append((time.perf_counter() - begun, process.memory_info().rss / 2**20, times.user + times.system))
        except psutil.Error:
            break
        time.sleep(0.5)
    return child.wait(), seen


def kill_at(child: subprocess.Popen[bytes], out: Path, rows: int) -> int:
    """Kills the process when its journal says so many rows; returns how many it said."""
    journal = out.with_name(f".{out.name}.journal")
    while True:
        done = json.loads(journal.read_text())["rows"] if journal.exists() else 0
        if done >= rows or child.poll() is not None:
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "it ended before it could be killed"
    return done


def digest(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def plot(memory: list[tuple[float, float, float]], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure: Any
    figure, axes = pyplot.subplots(figsize=(7, 3))
    axes.plot([second for second, _, _ in memory], [mib for _, mib, _ in memory])
    axes.set(xlabel="seconds", ylabel="resident memory, MiB", ylim=(0, None), title="A million rows, one process")
    figure.tight_layout()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
