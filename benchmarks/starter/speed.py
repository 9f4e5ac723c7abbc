"""How much longer does the larger encoder take? The demo's 306 test rows, asked of both starters in turn, one thread.

python benchmarks/starter/speed.py

The time of the processor counts, not the clock, so other programs hardly matter; the ratio is what to remember.
"""

from __future__ import annotations

import time
from statistics import median

ROUNDS = 3


def main() -> None:
    import torch

    torch.set_num_threads(1)
    from classic.data.demo import DEMO_DOMAINS, load_demo
    from classic.learning.starter import SHIPPED, starter_learner, starter_over
    from classic.prediction.predictor import Predictor

    rows = [example for name in DEMO_DOMAINS for example in load_demo(name).test]
    predictors = {encoder: Predictor(starter_learner(starter_over(encoder)), 1) for encoder in SHIPPED}
    taken: dict[str, list[float]] = {encoder: [] for encoder in predictors}
    for _ in range(ROUNDS):
        for encoder, predictor in predictors.items():
            began = time.process_time()
            list(predictor.stream(rows))
            taken[encoder].append(time.process_time() - began)
    small, *larger = taken.items()
    print(f"{small[0]}: {median(small[1]):.2f} CPU seconds for {len(rows)} rows")
    for encoder, seconds in larger:
        ratio = median(own / other for own, other in zip(seconds, small[1], strict=True))
        print(f"{encoder}: {median(seconds):.2f}, {ratio:.1f} times as long")


if __name__ == "__main__":
    main()
