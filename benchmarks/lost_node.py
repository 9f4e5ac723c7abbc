"""The same sweep on one machine and on a Ray cluster that loses a node in the middle: are the tables the same bytes?

python benchmarks/lost_node.py --work /tmp/lost_node

24 small runs (4 systems over word vectors, 3 orders, 2 seeds, the first 3 tasks of an order), first with the local
engine, then on a cluster of 3 nodes on loopback, of which one is killed when a quarter of the results are there.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

SYSTEMS = "ncl@w2v,ewc@w2v,ucl@w2v,ncl+csc@w2v"
SWEEP = ["main", "--systems", SYSTEMS, "--orders", "1-3", "--seeds", "0-1", "--first", "3"]
RUNS = 24


def classic(*words: str) -> list[str]:
    return [sys.executable, "-c", "from classic.cli.main import run; run()", *words]


def table(results: Path, form: str) -> bytes:
    command = classic("bench", "table", *SWEEP, "--results", str(results), "--format", form)
    return subprocess.run(command, check=True, capture_output=True).stdout


def finished(results: Path) -> int:
    return len(list(results.glob("*.json")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    local, clustered = work / "local", work / "cluster"
    subprocess.run(classic("bench", "run", *SWEEP, "--results", str(local), "--work", str(work / "w1")), check=True)
    assert finished(local) == RUNS

    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # loopback, also for whoever joins (classic.cluster)
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"},
    )
    nodes = [cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1") for _ in range(2)]
    command = classic(
        "bench", "run", *SWEEP, "--engine", "ray", "--address", cluster.address,
        "--results", str(clustered), "--work", str(work / "w2"),
    )  # fmt: skip
    with subprocess.Popen(command) as process:
        while process.poll() is None and finished(clustered) < RUNS // 4:
            time.sleep(0.5)
        assert process.poll() is None, "the sweep ended before a node could be killed"
        before = finished(clustered)
        cluster.remove_node(nodes[0], allow_graceful=False)
        print(f"a node was killed after {before} of {RUNS} results", flush=True)
    assert process.returncode == 0
    cluster.shutdown()
    assert finished(clustered) == RUNS
    for form in ("markdown", "latex", "html"):
        same = table(local, form) == table(clustered, form)
        print(f"{form}: {'the same bytes' if same else 'DIFFERENT'}")
        assert same


if __name__ == "__main__":
    main()
