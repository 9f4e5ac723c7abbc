"""Runs: content-addressed, resumable, shared where they train the same, the same on every engine."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from classic.backbones.w2v import W2v
from classic.benchmark.runs.engines import find
from classic.benchmark.runs.engines.local import Local
from classic.benchmark.runs.identity import versions_of
from classic.benchmark.runs.job import BenchJob, claimed, execute
from classic.benchmark.runs.outside import split
from classic.benchmark.runs.results import TIDY, read_results
from classic.benchmark.runs.runner import Plan, carry_out, plan, provenance
from classic.benchmark.runs.search import Trial
from classic.benchmark.runs.spec import QUICK_EXAMPLES, Spec, key_of
from classic.benchmark.runs.suites import Selection, grid, specs_of, systems_of
from classic.cli.main import app
from classic.data.domains import domain
from classic.errors import IncompatibleError, InputError
from classic.methods.hat import Hat
from classic.systems.system import METHODS
from classic.types import Task

DOMAINS = ("Speaker", "Router", "Norton")


@pytest.fixture
def data(tmp_path: Path, toy_tasks: tuple[Task, ...], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three toy domains under the paper's names, in the authors' layout."""
    root = tmp_path / "data"
    for name, task in zip(DOMAINS, toy_tasks, strict=False):
        folder = root / domain(name).folder
        folder.mkdir(parents=True)
        for split_name, examples in (("train", task.train), ("dev", task.valid), ("test", task.test)):
            rows = {
                str(number): {"polarity": str(e.polarity), "term": e.aspect, "id": str(number), "sentence": e.sentence}
                for number, e in enumerate(examples)
            }
            (folder / f"{split_name}.json").write_text(json.dumps(rows), "utf-8")
    keys = [domain(name).key for name in DOMAINS]
    (root / "asc_random").write_text("\t".join(keys) + "\n" + "\t".join(reversed(keys)) + "\n", "utf-8")
    monkeypatch.setenv("CLASSIC_DATA", str(root))
    return root


@pytest.fixture
def spec(data: Path, tiny_encoder: Path) -> Spec:
    """A run of seconds."""
    return Spec("ncl@bert_adapter/dil", first=2, encoder=str(tiny_encoder), changes={"train.epochs": 1})


class InThisProcess:
    """Carries jobs out at once."""

    def run(self, jobs: Sequence[BenchJob], tell: Any, done: Any) -> Any:
        for job in jobs:
            yield execute(job, progress=tell)


def run(specs: Sequence[Spec], folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    wanted = plan(specs, folder / "results", folder / "work", 1)
    return wanted, list(carry_out(wanted, InThisProcess(), folder / "results", lambda event: None))


def told(result: dict[str, Any]) -> Any:
    """What a result says, but for what it cost."""
    cost = {"seconds", "cpu_seconds"}
    tasks = {task: {k: v for k, v in facts.items() if k not in cost} for task, facts in result["tasks"].items()}
    return tasks, *(result[name] for name in ("key", "scores", "determined_by", "tensors_sha256"))


def changed(spec: Spec, **values: Any) -> Spec:
    import dataclasses

    return dataclasses.replace(spec, **values)


def test_a_finished_run_is_never_repeated(spec: Spec, tmp_path: Path) -> None:
    wanted, made = run([spec, spec], tmp_path)
    assert (len(wanted.finished), len(wanted.jobs), len(made)) == (0, 1, 1)
    again, none = run([spec], tmp_path)
    assert (again.finished, again.jobs, none) == ((spec,), (), [])
    (result,) = read_results(tmp_path / "results")
    assert result["spec"]["system"] == "ncl@bert_adapter/dil"
    assert list(result["tasks"]) == list(DOMAINS[:2])
    assert re.fullmatch("[0-9a-f]{64}", result["tensors_sha256"])
    assert result["commit"] is None or re.fullmatch("[0-9a-f]{40}", result["commit"])
    assert isinstance(result["dirty"], bool)


def test_a_changed_tree_is_noticed(tmp_path: Path) -> None:
    inside = tmp_path / "src" / "package"
    inside.mkdir(parents=True)
    (inside / "code.py").write_text("answer = 42\n")
    author = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert provenance(inside)["dirty"] is False
    (inside / "code.py").write_text("answer = 43\n")
    assert provenance(inside)["dirty"] is True


@pytest.mark.parametrize(
    "values",
    [
        {"seed": 1},
        {"order": 1},
        {"first": 3},
        {"budget": "full"},
        {"valid": True},
        {"system": "ewc@bert_adapter/dil"},
        {"changes": {"train.epochs": 1, "train.learning_rate": 0.5}},
    ],
)
def test_everything_that_determines_a_run_is_in_its_address(spec: Spec, values: dict[str, Any]) -> None:
    other = changed(spec, **values)
    assert key_of(spec.determined_by(spec.tasks(), 1)) != key_of(other.determined_by(other.tasks(), 1))


def test_threads_and_data_are_in_the_address_and_caches_are_not(spec: Spec, data: Path) -> None:
    first = key_of(spec.determined_by(spec.tasks(), 1))
    assert key_of(spec.determined_by(spec.tasks(), 2)) != first
    cached = changed(spec, changes=spec.changes | {"backbone.cache_folder": "anywhere"})
    assert key_of(cached.determined_by(cached.tasks(), 1)) == first
    file = data / domain(DOMAINS[0]).folder / "train.json"
    file.write_text(file.read_text("utf-8").replace(" is ", " was ", 1), "utf-8")
    assert key_of(spec.determined_by(spec.tasks(), 1)) != first


def test_an_encoder_counts_by_what_it_is_and_is_told_of_by_its_name(
    spec: Spec, tiny_encoder: Path, tmp_path: Path
) -> None:
    here, there = (Path(shutil.copytree(tiny_encoder, tmp_path / place / "tiny")) for place in ("here", "there"))
    first, moved = changed(spec, encoder=str(here)), changed(spec, encoder=f"{there}/")
    (result,) = run([first], tmp_path)[1]
    assert run([moved], tmp_path)[0].finished == (moved,)  # the same encoder elsewhere: the same run
    assert result["spec"]["encoder"] == result["encoder"]["encoder"] == "tiny"
    assert result["determined_by"]["encoder"]["model.safetensors"] == result["encoder"]["sha256"]
    (file,) = (tmp_path / "results").glob("*.json")
    assert "-tiny-" in file.name
    assert str(tmp_path) not in file.read_text("utf-8")
    tokenizer = there / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text("utf-8").replace("awful", "lawful"), "utf-8")
    assert key_of(moved.determined_by(moved.tasks(), 1)) != result["key"]


def test_the_embedded_encoder_has_the_address_it_always_had(
    spec: Spec, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = changed(spec, encoder=None)
    before = embedded.determined_by(embedded.tasks(), 1)
    assert "encoder" not in before
    shutil.copytree(tiny_encoder, tmp_path / "minilm")
    monkeypatch.chdir(tmp_path)  # a folder that happens to have its name is not the one that is meant
    assert embedded.determined_by(embedded.tasks(), 1) == before


def test_a_run_is_known_by_the_versions_of_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    bcl, ncl = (versions_of([METHODS[name].build, W2v]) for name in ("bcl", "ncl"))
    assert {"Bcl", "Hat", "Method", "W2v", "Backbone", "loop", "answers"} == bcl.keys()
    assert "Hat" not in ncl
    monkeypatch.setattr(Hat, "version", Hat.version + 1)
    assert versions_of([METHODS["bcl"].build, W2v]) != bcl
    assert versions_of([METHODS["ncl"].build, W2v]) == ncl


def test_systems_that_differ_in_the_rule_train_once(spec: Spec, tmp_path: Path) -> None:
    both = [changed(spec, system=f"hat+{rule}@bert_adapter/dil") for rule in ("last", "ent")]
    wanted, made = run(both, tmp_path)
    assert len(wanted.jobs) == 1
    assert [result["spec"]["system"] for result in made] == [each.system for each in both]
    alone = run([both[1]], tmp_path / "alone")[1][0]
    shared = made[1]
    assert told(shared) == told(alone)
    assert shared["key"] == alone["key"]
    assert made[0]["key"] != shared["key"]


def test_the_local_engine_gives_what_this_process_gives(spec: Spec, tmp_path: Path) -> None:
    (here,) = run([spec], tmp_path / "here")[1]
    events: list[dict[str, Any]] = []
    wanted = plan([spec], tmp_path / "r", tmp_path / "w", 1)
    (there,) = carry_out(wanted, Local(), tmp_path / "r", events.append)
    assert told(there) == told(here)
    assert [event["done"] for event in events] == [1, 2]
    assert not [path for path in (tmp_path / "w").iterdir() if path.is_dir() and path.name != "states"]


def test_a_job_another_process_has_in_hand_is_left_alone(spec: Spec, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    (job,) = plan([spec], tmp_path / "r", tmp_path, 1).jobs
    with claimed(job) as mine:
        assert mine
        assert list(Local().run([job], events.append, lambda job: False)) == []
    assert "another process" in events[0]["note"]


def test_a_job_ends_when_the_command_that_wanted_it_is_gone(spec: Spec, tmp_path: Path) -> None:
    endless_spec = changed(spec, changes={"train.epochs": 10**6})
    (endless,) = plan([endless_spec], tmp_path / "r", tmp_path, 1).jobs
    with subprocess.Popen(
        [sys.executable, "-m", "classic.benchmark.runs.engines.local"], stdin=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        try:
            process.stdin.write(json.dumps(asdict(endless)) + "\n")
            process.stdin.flush()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            process.stdin.close()  # as the system does for a killed command
            assert process.wait(timeout=60) == 1
        finally:
            process.kill()


def test_a_failing_job_does_not_stop_the_others(spec: Spec, tmp_path: Path) -> None:
    from classic.errors import TrainingError

    bad = changed(spec, changes={"train.learning_rate": 1e30, "train.epochs": 1, "train.clip_norm": 1e30})
    wanted = plan([bad, spec], tmp_path / "r", tmp_path / "w", 1)
    made: list[dict[str, Any]] = []
    with pytest.raises(TrainingError, match="1 jobs failed"):
        made += carry_out(wanted, Local(), tmp_path / "r", lambda event: None)
    assert [result["spec"].get("changes") for result in read_results(tmp_path / "r")] == [spec.changes]


def test_a_method_from_a_users_own_file(spec: Spec, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "adding_a_method.md").read_text("utf-8")
    source = next(block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "class Anchor(" in block)
    file = tmp_path / "my_method.py"
    file.write_text(source, "utf-8")
    name, outside = split(f"{file}:Anchor@bert_adapter/dil")
    assert name == "anchor@bert_adapter/dil"
    own = changed(spec, system=name, outside=outside)
    wanted = plan([own], tmp_path / "r", tmp_path / "w", 1)
    (result,) = carry_out(wanted, Local(), tmp_path / "r", lambda event: None)
    assert result["determined_by"]["system"]["method"] == "anchor"
    file.write_text(source.replace("strength: float = 1.0", "strength: float = 2.0"), "utf-8")
    assert key_of(own.determined_by(own.tasks(), 1)) != result["key"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere.py:Mine@bert_adapter", "no file"),
        ("{file}:Missing@bert_adapter", "no method 'Missing'"),
        ("{file}:Untyped@bert_adapter", "does not say what its config is"),
        ("{file}:Ncl@bert_adapter", "already"),
    ],
)
def test_what_is_wrong_with_a_users_file(tmp_path: Path, text: str, said: str) -> None:
    from classic.benchmark.runs.outside import load

    file = tmp_path / "bad.py"
    file.write_text(
        "from classic.methods.base import Method\n"
        "class Untyped(Method):\n    def __init__(self, model, config):\n        super().__init__(model)\n"
        "class Ncl(Untyped):\n    pass\n",
        "utf-8",
    )
    with pytest.raises(InputError, match=said):
        load([split(text.format(file=file))[1]])


def test_the_quick_budget_thins_large_domains_evenly(spec: Spec, data: Path) -> None:
    from classic.benchmark.runs.spec import _thinned
    from classic.types import Example

    many = tuple(Example(f"s{i}", "a") for i in range(2 * QUICK_EXAMPLES))
    thin = _thinned(many)
    assert len(thin) == len(set(thin)) == QUICK_EXAMPLES
    assert thin[0] == many[0]
    assert thin[-1] == many[-2]
    assert _thinned(many[:7]) == many[:7]


def test_every_system_of_every_table_has_a_configuration() -> None:
    for table in ("main", "til", "ablation", "std", "cost"):
        for spec in specs_of(table, Selection()):
            for budget in ("quick", "full", "paper"):
                config = changed(spec, budget=budget).config()
                assert config.scenario == spec.system.rpartition("/")[2]
    assert len(systems_of("main")) == len(set(systems_of("main")))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="table"):
        specs_of("mian", Selection())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="budget"):
        Spec("ncl@w2v/dil", budget="fast")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="engine"):
        find("slurm")


@pytest.mark.parametrize("key", ["method.gates.s_max=140", "train.momentum=0.9"])
def test_a_setting_without_effect_is_refused_as_learn_refuses_it(key: str, data: Path, tmp_path: Path) -> None:
    words = ["bench", "run", "main", "--systems", "classic@bert_adapter", "--results", str(tmp_path), "--dry-run"]
    refused = CliRunner().invoke(app, [*words, "--set", key])
    assert isinstance(refused.exception, InputError)
    assert f"{key.partition('=')[0]} has no effect in this system" in str(refused.exception)
    taken = CliRunner().invoke(app, [*words, "--set", "train.epochs=1"])
    assert taken.exit_code == 0 and "1 to do in 1 training." in taken.output


def test_a_system_that_cannot_work_is_refused_before_anything_runs(data: Path, tmp_path: Path) -> None:
    words = ["bench", "run", "main", "--systems", "owm@bert", "--results", str(tmp_path), "--dry-run"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, IncompatibleError) and "owm" in str(refused.exception)


def test_validation_sets_are_scored_if_told(data: Path, tmp_path: Path) -> None:
    words = ["bench", "run", "main", "--systems", "ncl@bert_adapter", "--results", str(tmp_path), "--dry-run"]
    scored = [CliRunner().invoke(app, [*words, *more]).output for more in ([], ["--valid"])]
    assert ["-valid" in output for output in scored] == [False, True]


def test_a_search_leaves_out_what_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    spaces: list[dict[str, Any]] = []

    def note(spec: Spec, space: dict[str, Any], **rest: Any) -> list[Trial]:
        spaces.append(space)
        return []

    monkeypatch.setattr("classic.benchmark.runs.search.search", note)
    done = CliRunner().invoke(app, ["bench", "run", "search"])
    assert done.exit_code == 0 and "method.gates.s_max is not searched" in done.output
    assert spaces == [{key: values for key, values in grid().items() if key != "method.gates.s_max"}]


def test_a_search_of_any_system_tries_what_it_is_told(data: Path, tmp_path: Path) -> None:
    words = ["bench", "run", "search", "--results", str(tmp_path), "--dry-run", "--systems"]
    tried = ["ewc@bert_adapter,derpp@bert_adapter", "--try", "train.learning_rate=1e-4,2e-4,4e-4"]
    done = CliRunner().invoke(app, [*words, *tried, "--trials", "2"])
    assert done.output.count("2 trials, 3 combinations") == 2
    either = ["classic@bert_adapter", "--try", "method.gates.form=soft,hard", "--try", "method.gates.s_max=100,400"]
    assert "4 trials, 4 combinations" in CliRunner().invoke(app, [*words, *either]).output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("search", "--systems", "ewc@bert_adapter"), "the paper's grid is of CLASSIC's settings"),
        (("search", "--systems", "ewc@bert_adapter", "--try", "method.strength=5"), "fewer than two values"),
        (("search", "--systems", "ewc@bert_adapter", "--try", "method.strength=5,x"), "method.strength is 'x'"),
        (("search", "--try", "train.epochs=1,2", "--try", "train.epochs=3,4"), "twice"),
        (("search", "--try", "method.gates.s_max=100,400"), "has no effect"),
        (("main", "--try", "train.epochs=1,2"), "for the search alone"),
    ],
)
def test_a_search_that_cannot_work_is_refused_before_it_runs(
    words: tuple[str, ...], why: str, data: Path, tmp_path: Path
) -> None:
    refused = CliRunner().invoke(app, ["bench", "run", *words, "--results", str(tmp_path / "none")])
    assert why in str(refused.exception)
    assert not (tmp_path / "none").exists()


def test_a_result_file_is_short_and_gives_one_tidy_table(spec: Spec, tmp_path: Path) -> None:
    (result,) = run([spec], tmp_path)[1]
    (file,) = (tmp_path / "results").glob("*.json")
    text = file.read_text("utf-8")
    assert len(text.splitlines()) < 30
    assert "null" not in text.partition('"tasks"')[2]
    rows = list(csv.DictReader((tmp_path / "results" / TIDY).open(encoding="utf-8")))
    assert [(row["task"], row["when"]) for row in rows] == [(d, w) for d in DOMAINS[:2] for w in ("forward", "final")]
    means = {
        metric: sum(float(row[metric]) for row in rows if row["when"] == "final") / 2
        for metric in ("accuracy", "own_f1")
    }
    assert means["accuracy"] == pytest.approx(result["scores"]["final_accuracy"], abs=1e-5)
    assert means["own_f1"] == pytest.approx(result["scores"]["final_own_f1"], abs=1e-5)


def test_a_damaged_result_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match=r"broken\.json"):
        read_results(tmp_path)


def test_a_search_is_taken_up_and_scored_on_validation_sets(spec: Spec, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    from classic.benchmark.runs.search import search

    def look() -> list[Any]:
        return search(
            spec,
            {"train.learning_rate": (0.0, 0.01)},
            trials=2,
            together=1,
            sampler="grid",
            engine=InThisProcess(),
            results=tmp_path / "r",
            work=tmp_path / "w",
            threads=1,
            tell=lambda event: None,
        )

    found = look()
    assert {trial.changes["train.learning_rate"] for trial in found} == {0.0, 0.01}
    assert found[0].score >= found[1].score
    results = read_results(tmp_path / "r")
    assert all(result["spec"]["valid"] for result in results)
    assert look() == found
    assert len(read_results(tmp_path / "r")) == len(results) == 2


def test_ray_gives_what_this_process_gives(spec: Spec, tmp_path: Path) -> None:
    if importlib.util.find_spec("ray") is None:  # importing it here would be before its token is set
        pytest.skip("needs Ray: pip install 'classic-asc[bench]'")
    specs = [spec, changed(spec, system="hat+last@bert_adapter/dil"), changed(spec, system="hat+ent@bert_adapter/dil")]
    here = {result["key"]: result for result in run(specs, tmp_path / "here")[1]}
    wanted = plan(specs, tmp_path / "r", tmp_path / "w", 1)
    there = list(carry_out(wanted, find("ray"), tmp_path / "r", lambda event: None))
    assert len(there) == 3
    for result in there:
        assert told(result) == told(here[result["key"]])
