"""Makes the starter: the default system learns the starter corpus, and becomes a file that is shipped with the package.

    python benchmarks/starter/make.py --work FOLDER

Kill it at will; the same command goes on. It prints the sha256 that `classic.learning.starter` must name. The same code on
the same kind of machine gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src" / "classic" / "learning" / "starter.safetensors"
# A corpus of a few thousand sentences of three dozen domains takes longer to learn than one domain.
EPOCHS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where the store lies meanwhile")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(1)
    from classic.cli.progress import TrainingProgress
    from classic.data.starter import starter_task
    from classic.files import write_bytes
    from classic.learning.learner import begin
    from classic.learning.starter import pack
    from classic.learning.teach import teach
    from classic.systems.system import SystemConfig

    config = SystemConfig.preset(changes={"train.large_epochs": arguments.epochs})
    store, ready = begin(arguments.work / "starter.store", config)
    with TrainingProgress() as progress:
        version, learner = teach(store, starter_task(), watcher=progress, learner=ready)
    record = {name: value for name, value in version.record.items() if name != "parent"}
    data = pack(learner, record)
    write_bytes(arguments.out, data)
    scores = record["scores"]["test"]
    print(f"{arguments.out.name}: {len(data) / 1e6:.1f} MB, sha256 {hashlib.sha256(data).hexdigest()}")
    print(f"held-out domains: accuracy {scores['accuracy']:.4f}, own F1 {scores['own_f1']:.4f}")


if __name__ == "__main__":
    main()
