"""Prediction: sentences per second, start-up and memory, of every way to ask one store, beside two anchors.

    python benchmarks/speed/predict.py --store STORE

Anchors, on the bare encoder without any adapter: the text-classification pipeline of transformers, and onnxruntime. The
pipeline is given the sentences sorted by length, which is the best that can be done for it, and in the order of the file,
which is what its users do. All others are given the order of the file. All carry tokenization; ours carry adapters,
calibration and the domain map. Everything takes turns in one process on one thread, so that whatever else the machine
does falls on all; ratios are taken within a round. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANCHOR = "pipeline, sorted"
PROGRAM = "from classic.cli.main import run; run()"
BITS = {"onnx": 32, "int8": 8}
SIZES = {1: 48, 32: 256, 256: 256}  # sentences that are asked in batches of a size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--texts", choices=["asc19", "demo"], default="asc19")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", choices=list(SIZES), default=list(SIZES), help="of batches")
    parser.add_argument("--out", type=Path, default=HERE / "predict.json")
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        os.environ[name] = "1" if name.startswith("OMP") else "false"

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        folders = {kind: scratch / kind for kind in ("onnx", "int8")}
        exports = {kind: export(arguments.store, folder, arguments.texts) for kind, folder in folders.items()}
        folders = {kind: folder for kind, folder in folders.items() if "refused" not in exports[kind]}
        texts = read_texts(arguments.texts)
        # First, while this process is small: a child's peak begins with its parent's size.
        alone = processes(arguments.store, folders, texts, scratch, arguments.starts)

        import torch

        torch.set_num_threads(1)
        from classic.files import write_json
        from classic.learning.environment import surroundings

        contenders, flops = make_contenders(arguments.store, folders)
        mean_tokens = flops.pop("mean_tokens")
        result = {
            "command": f"python benchmarks/speed/predict.py --store STORE --texts {arguments.texts}",
            "surroundings": surroundings() | {"onnxruntime": version("onnxruntime")},
            "texts": {"set": arguments.texts, "mean_tokens": mean_tokens(texts[:256])},
            "model": flops,
            "exports": exports,
            "gemm_gflops": gemm_peak(),
            "batches": {
                size: race(contenders, texts[: SIZES[size]], size, arguments.rounds) for size in arguments.sizes
            },
            "processes": alone,
        }
    peak = max(result["gemm_gflops"].values())
    tokens = result["texts"]["mean_tokens"]
    for size, rows in result["batches"].items():
        for name in {"onnxruntime, 32 bits", "torch, folded"} & rows.keys():
            work = tokens * flops["folded_mflop_per_token"] / 1e3
            rows[name]["share_of_gemm_peak"] = rows[name]["per_cpu_second"] * work / peak
        print(f"\nbatch {size}")
        for name, row in rows.items():
            spread = "-".join(f"{value:.2f}" for value in row["ratio_quartiles"])
            print(f"  {name:24} {row['per_cpu_second']:7.1f}/s   {row['ratio']:.2f} x pipeline ({spread})")
    print(json.dumps({key: result[key] for key in ("model", "exports", "gemm_gflops", "processes")}, indent=2))
    write_json(arguments.out, json.loads(json.dumps(result)))


def read_texts(name: str) -> list[Any]:
    from classic.data import DEMO_DOMAINS, DOMAINS, load_demo, load_domain

    tasks = [load_domain(domain.name) for domain in DOMAINS] if name == "asc19" else map(load_demo, DEMO_DOMAINS)
    examples = [example for task in tasks for example in task.test]
    random.Random(0).shuffle(examples)
    return examples


def export(store: Path, folder: Path, texts: str) -> dict[str, Any]:
    on = ["--on", "asc19"] if texts == "asc19" else []
    asked = ["export", str(store), "-o", str(folder), "--format", folder.name, "--threads", "1", "--json", *on]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *asked], capture_output=True, text=True, check=False)
    if done.returncode:  # the gate's word is a result like any other
        why = done.stderr.strip().removeprefix("Error: ") or f"exit code {done.returncode}"
        print(f"{folder.name} is left out: {why}", file=sys.stderr)
        return {"refused": why}
    found: dict[str, Any] = json.loads(done.stdout)["parity"]
    return found | {"model_bytes": (folder / "model.onnx").stat().st_size}


def make_contenders(store: Path, folders: dict[str, Path]) -> tuple[dict[str, Callable[..., Any]], dict[str, Any]]:
    """How each answers a list of examples in batches of a size; and what the networks cost."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

    from classic.backbones.encoder import encoder_folder
    from classic.learning.learner import load_learner, new_learner
    from classic.prediction.predictor import Predictor
    from classic.runtime import ExportedPredictor as Exported
    from classic.store.store import Store
    from classic.systems.system import SystemConfig

    learner = load_learner(Store.open(store))
    encoder = learner.config.backbone_config["encoder"]
    folder = encoder_folder(encoder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3).eval()
    pipe = pipeline("text-classification", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu")
    gated, folded = Predictor(learner, 1, folded=False), Predictor(learner, 1)
    bare = bare_session(
        new_learner(SystemConfig.preset(method="ncl", backbone="bert", changes={"backbone.encoder": encoder}), 0)
    )
    exported = {kind: Exported(path, threads=1) for kind, path in folders.items()}
    tokenizer = folded_network(folded).tokenizer

    def ask_pipeline(examples: list[Any], size: int) -> None:
        list(pipe([{"text": e.aspect, "text_pair": e.sentence} for e in examples], batch_size=size))

    def ask_sorted(examples: list[Any], size: int) -> None:
        lengths = tokenizer.lengths(examples)
        order = sorted(range(len(examples)), key=lambda row: lengths[row])
        ask_pipeline([examples[row] for row in order], size)

    def stream(predictor: Any) -> Callable[[list[Any], int], Any]:
        window = {1: 1}
        return lambda examples, size: list(predictor.stream(examples, batch_size=size, window=window.get(size, 1024)))

    contenders = {
        ANCHOR: ask_sorted,
        "pipeline, file order": ask_pipeline,
        "bare onnxruntime": bare,
        "torch, gated": stream(gated),
        "torch, folded": stream(folded),
        **{f"onnxruntime, {BITS[kind]} bits": stream(predictor) for kind, predictor in exported.items()},
    }
    return contenders, costs(learner, folded_network(folded))


def folded_network(predictor: Any) -> Any:
    from classic.prediction.folding import fold

    return fold(predictor.learner)


def bare_session(learner: Any) -> Callable[[list[Any], int], None]:
    """The encoder without adapters in onnxruntime, length-sorted: logits only, of an untaught head."""
    import torch

    from classic.export.graph import write_graph
    from classic.prediction.folding import fold
    from classic.runtime.exported import open_session

    network = fold(learner)
    learner.map.add(torch.eye(learner.map.means.shape[1])[:4], torch.zeros(0))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bare.onnx"
        file.write_bytes(write_graph(network, learner.map).SerializeToString())
        session = open_session(file, 1)

    def ask(examples: list[Any], size: int) -> None:
        lengths = network.tokenizer.lengths(examples)
        order = sorted(range(len(examples)), key=lambda row: lengths[row])
        for start in range(0, len(order), size):
            batch = network.tokenizer.collate([examples[row] for row in order[start : start + size]])
            session.run(["logits"], {name: value.numpy() for name, value in batch.inputs.items()})

    return ask


def costs(learner: Any, folded: Any) -> dict[str, Any]:
    """Sizes before and after folding, and the matrix products per token."""
    from torch import nn

    from classic.modules.folded import FoldedAdapter

    adapters = [module for module in folded.modules() if isinstance(module, FoldedAdapter)]
    plastics = learner.method.model.backbone.plastic().values()
    before = sum(plastic.layer.weight.numel() + plastic.units for plastic in plastics)
    after = sum(p.numel() for adapter in adapters for p in adapter.parameters())
    layers = sum(module.weight.numel() for module in folded.layers.modules() if isinstance(module, nn.Linear))
    products = sum(m.weight.numel() for a in adapters for m in (a.down, a.up))
    return {
        "mean_tokens": lambda texts: statistics.mean(folded.tokenizer.lengths(texts)),
        "living_units_per_adapter": [adapter.down.out_features for adapter in adapters],
        "adapter_parameters": {"gated": before, "folded": after},
        "bare_mflop_per_token": 2 * (layers - products) / 1e6,
        "folded_mflop_per_token": 2 * layers / 1e6,
        "gated_mflop_per_token": 2 * (layers - products + sum(p.layer.weight.numel() for p in plastics)) / 1e6,
    }


def gemm_peak() -> dict[str, float]:
    """The fastest 32-bit matrix product of each library at the network's own shapes, in GFLOP per CPU second."""
    import numpy as np
    import onnxruntime
    import torch
    from onnx import TensorProto, helper, numpy_helper

    found = {"torch": 0.0, "onnxruntime": 0.0}
    for inner, outer in ((384, 1152), (384, 1536), (1536, 384)):
        rows, weight = torch.randn(864, inner), torch.randn(outer, inner)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [864, inner])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [864, outer])],
            [numpy_helper.from_array(np.ascontiguousarray(weight.T.numpy()), "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        model.ir_version = 10
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        calls = {
            "torch": lambda rows=rows, weight=weight: torch.nn.functional.linear(rows, weight),
            "onnxruntime": lambda rows=rows, session=session: session.run(None, {"x": rows.numpy()}),
        }
        for name, call in calls.items():
            for _ in range(5):
                begun = time.process_time()
                for _ in range(20):
                    call()
                rate = 20 * 2 * 864 * inner * outer / (time.process_time() - begun) / 1e9
                found[name] = max(found[name], rate)
    return found


def race(contenders: dict[str, Callable[..., Any]], examples: list[Any], size: int, rounds: int) -> dict[str, Any]:
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, ask in contenders.items():
            cpu, wall = time.process_time(), time.perf_counter()
            ask(examples, size)
            if number:  # the first round warms up
                seconds[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    found = {}
    for name, taken in seconds.items():
        ratios = [anchor[0] / own[0] for own, anchor in zip(taken, seconds[ANCHOR], strict=True)]
        rates = [len(examples) / cpu for cpu, _ in taken]
        found[name] = {
            "per_cpu_second": statistics.median(rates),
            "quartiles": statistics.quantiles(rates, n=4)[::2],
            "per_wall_second": statistics.median(len(examples) / wall for _, wall in taken),
            "ratio": statistics.median(ratios),
            "ratio_quartiles": statistics.quantiles(ratios, n=4)[::2],
        }
    return found


def processes(store: Path, folders: dict[str, Path], texts: list[Any], scratch: Path, starts: int) -> dict[str, Any]:
    """Whole commands in processes of their own: one sentence, and a file; with the peak of their memory."""
    from classic.data import write_examples

    file = scratch / "texts.jsonl"
    write_examples(texts, file)
    found: dict[str, Any] = {}
    for name, place in {"torch": store, **folders}.items():
        one = [str(place), "The zoom is superb.", "--aspect", "zoom", "--json", "--threads", "1"]
        runs = [command(one) for _ in range(starts + 1)][1:]  # the first fills the file cache
        out = scratch / f"{name}.jsonl"
        whole = command([str(place), str(file), "-o", str(out), "--threads", "1"])
        found[name] = {
            "first_answer_seconds": statistics.median(run["wall"] for run in runs),
            "first_answer_cpu_seconds": statistics.median(run["cpu"] for run in runs),
            "first_answer_peak_mib": max(run["peak_mib"] for run in runs),
            "file_rows": len(texts),
            "file_rows_per_cpu_second": len(texts) / whole["cpu"],
            "file_peak_mib": whole["peak_mib"],
        }
    return found


def command(arguments: list[str]) -> dict[str, float]:
    """Runs `classic predict` and measures it."""
    begun = time.perf_counter()
    asked = [sys.executable, "-c", PROGRAM, "predict", *arguments]
    child = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, arguments
    scale = 1 if sys.platform == "darwin" else 1024
    return {
        "wall": time.perf_counter() - begun,
        "cpu": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss * scale / 2**20,
    }


if __name__ == "__main__":
    main()
