import pytest, traceback
from classic.learning import *
from classic.systems import SystemConfig
@pytest.mark.parametrize("changes", [{"train.batch_size": 0}, {"train.epochs": 0}, {"train.epochs": -1}, {"backbone.width": 0}, {"train.learning_rate": 1e30}, {"train.learning_rate": float("nan")}, {"backbone.max_length": 3}, {"backbone.max_length": 0}, {"train.eval_batch_size": 0}])
def test_x(tmp_path, tiny_system, toy_tasks, changes):
    try:
        s = open_or_create(tmp_path / "s", tiny_system(changes=changes))
        v, _ = teach(s, toy_tasks[0])
        print("OK", changes, v.number, v.record["epochs"][-1:])
    except Exception as e:
        print("EXC", changes, type(e).__name__, str(e)[:150].replace("\n", " "))
