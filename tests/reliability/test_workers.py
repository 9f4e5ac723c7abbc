"""Two processes learn a domain together, as `accelerate launch` starts them on two GPUs, here on the CPU."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from classic.data.writers import write_examples
from classic.store.store import Store

DRIVER = """
import sys, torch
torch.set_num_threads(1)
from classic.data import load_task
from classic.learning.learner import open_or_create
from classic.learning.teach import teach
from classic.systems.system import SystemConfig
from safetensors.torch import save_file
folder, encoder, rank = sys.argv[1:]
small = {"backbone.encoder": encoder, "backbone.width": 16, "train.epochs": 2, "train.batch_size": 8}
store = open_or_create(folder + "/store", SystemConfig.preset(changes=small))
for name in ("first", "second"):
    version, learner = teach(store, load_task(name, f"{folder}/{name}"))
save_file({name: tensor.contiguous() for name, tensor in learner.tensors().items()}, f"{folder}/rank{rank}.safetensors")
"""


def test_two_processes_learn_one_store_together(tmp_path: Path, tiny_encoder: Path, toy_tasks) -> None:
    for name, task in zip(("first", "second"), toy_tasks, strict=False):
        (tmp_path / name).mkdir()
        for part in ("train", "valid", "test"):
            write_examples(getattr(task, part), tmp_path / name / f"{part}.jsonl")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(2):
        launch = {
            "WORLD_SIZE": "2",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "ACCELERATE_USE_CPU": "true",
            "OMP_NUM_THREADS": "1",
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(tmp_path), str(tiny_encoder), str(rank)],
                env=os.environ | launch,
                stderr=subprocess.PIPE,
            )
        )
    for process in processes:
        _, complaint = process.communicate()
        assert process.returncode == 0, complaint.decode()
    store = Store.open(tmp_path / "store")
    store.verify()
    assert store.domains() == ["first", "second"]
    # Gradients were averaged before anything was done with them, so both processes hold the very same model.
    assert (tmp_path / "rank0.safetensors").read_bytes() == (tmp_path / "rank1.safetensors").read_bytes()
