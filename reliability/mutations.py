"""Does a test notice? Each mutation changes one thing in a copy of the source; a test that should notice must fail.

    python -m reliability mutations [--only WORD] [--report FILE]

A list made by hand, not drawn at random: each entry is a mistake somebody could make. A mutation that survives is listed;
one whose text no longer stands in the source is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Mutation:
    """What is changed, and the tests that should notice."""

    file: str
    old: str
    new: str
    tests: str


def M(file: str, old: str, new: str, tests: str) -> Mutation:  # noqa: N802 - a table reads better so
    return Mutation(f"src/classic/{file}.py", old, new, tests)


CONNECTIONS, GUARD, DISK = "serving/test_connections.py", "serving/test_guard.py", "serving/test_full_disk.py"
STORE, RECEIVED, BRANCH = "unit/store/test_store.py", "unit/store/test_received.py", "unit/store/test_branching.py"
SHED, TEACH, SIGNED = "serving/test_shedding.py", "serving/test_teach.py", "unit/store/test_signing.py"
PAIRED, GATE, DELETE = "unit/evaluation/test_paired.py", "serving/test_gate.py", "unit/store/test_deletion.py"

MUTATIONS = [
    # the seven that were seen to pass
    M(
        "export/parity",
        "gap = max(gap, float(np.abs(before - after).max()))",
        "gap = float(np.abs(before - after).max())",
        "unit/export/test_export.py -k gap",
    ),
    M(
        "training/loop",
        "        self.method.edit_gradients(step)\n        for group in self.phase.groups:  # each by itself: "
        "embeddings must not crowd out weights\n            clip_gradients(group.parameters, self.config)\n",
        "        for group in self.phase.groups:\n            clip_gradients(group.parameters, self.config)\n"
        "        self.method.edit_gradients(step)\n",
        "unit/training/test_clipping.py",
    ),
    M("store/store", "and branch.digest(number) == digest:", "and branch.digest(number):", BRANCH),
    M(
        "serving/guard",
        "await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))",
        "await receive()",
        f"{GUARD} -k not_waited",
    ),
    M(
        "learning/testing",
        "return count(examples, said[: len(examples)]",
        "return count(asked, said",
        "unit/learning/test_teach.py -k clauses",
    ),
    M("evaluation/matrix", "not math.isfinite(value)", "math.isnan(value)", "unit/evaluation/test_matrix.py"),
    M(
        "data/readers/hu_liu",
        "if _UNSIGNED_MARK.search(piece)",
        "if not _UNSIGNED_MARK.search(piece)",
        "unit/data/test_reader_formats.py -k hu_liu",
    ),
    # the gate
    M(
        "evaluation/paired",
        "lost = sum(t == b != a for t, b, a in rows)\n    low, high = share",
        "lost = sum(t != a for t, b, a in rows)\n    low, high = share",
        PAIRED,
    ),
    M(
        "evaluation/paired",
        "lost = sum(t == b != a for t, b, a in rows)\n    low, high = share",
        "lost = sum(t == a != b for t, b, a in rows)\n    low, high = share",
        PAIRED,
    ),
    M("evaluation/paired", "if high <= margin:", "if low <= margin:", PAIRED),
    M("evaluation/paired", '"fell" if low > margin', '"fell" if high > margin', PAIRED),
    M("evaluation/paired", "more = rows + 2", "more = rows", PAIRED),
    M(
        "evaluation/paired",
        "macro_f1(true, before, labels=own) - macro_f1(true, after, labels=own)",
        "macro_f1(true, after, labels=own) - macro_f1(true, before, labels=own)",
        PAIRED,
    ),
    M("serving/gate", "for row in [*rows, own] if", "for row in rows if", f"{GATE} -k spoils"),
    M(
        "serving/gate",
        "(predictor, texts, version.domain) for predictor in (frozen, after)]",
        "(predictor, texts, version.domain) for predictor in (after, frozen)]",
        f"{GATE} -k teacher",
    ),
    M(
        "serving/gate",
        "predictor.stream(examples, domain=told)",
        "predictor.answer(list(examples), told, 32)",
        f"{GATE} -k service_gives",
    ),
    # strangers at the port
    M("serving/connections", "        self._arm(HEADER_SECONDS)\n", "", f"{CONNECTIONS} -k header"),
    M("serving/connections", "        self._bytes += len(data)\n", "", f"{CONNECTIONS} -k endless"),
    M(
        "serving/connections",
        "connection.transport.abort()\n                    return True",
        "return True",
        f"{CONNECTIONS} -k shut_anybody",
    ),
    M(
        "serving/connections",
        "None if operator else self.crowd.most + 1",
        "self.crowd.most + 1",
        f"{CONNECTIONS} -k operator",
    ),
    M(
        "serving/connections",
        "        self.crowd.forget(self)\n        operator",
        "        operator",
        f"{CONNECTIONS} -k operator",
    ),
    M(
        "serving/connections",
        "self._stuck = self.loop.call_later(STUCK_SECONDS, self.transport.abort)",
        "pass",
        f"{CONNECTIONS} -k takes_nothing",
    ),
    M("serving/connections", "min(MOST, files - _FILES)", "min(MOST, files)", f"{CONNECTIONS} -k fewer"),
    M("serving/connections", "len(self.pipeline) >= _AHEAD", "False", f"{CONNECTIONS} -k far_ahead"),
    M("serving/repeats", "return count < _FIRST", "return True", f"{CONNECTIONS} -k counted"),
    M("serving/guard", "if late > STRANGERS_WAIT:", "if False:", f"{CONNECTIONS} -k strangers"),
    M("serving/model", "now - began >= _FRESH else task", "True else task", f"{CONNECTIONS} -k computes_once"),
    M("serving/model", " or task.result() != predictor.version", "", f"{CONNECTIONS} -k computes_once"),
    M(
        "serving/guard",
        '_PRIVATE = re.compile(r"/(v1|metrics)(/|$)")',
        '_PRIVATE = re.compile(r"/v1(/|$)|/metrics$")',
        f"{GUARD} -k needs_the_token",
    ),
    M("serving/app", "redirect_slashes=False", "redirect_slashes=True", f"{GUARD} -k needs_the_token"),
    # uploads and disks
    M("serving/uploads", "    if form not in _TEXT_FORMATS:", "    if False:", "serving/test_uploads.py -k packed"),
    M("serving/uploads", "continue  # only counted", "break", "serving/test_uploads.py -k true_number"),
    M(
        "serving/jobs",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        "serving/test_process.py -k second_service",
    ),
    M(
        "serving/supervisor",
        "                await asyncio.to_thread(self.book.clear, job)\n                self.book.mark(job, **ended)\n",
        "                raise\n",
        f"{DISK} -k over_on_disk",
    ),
    M(
        "serving/supervisor",
        "            if self.book.has_data(job):",
        "            if True:",
        f"{DISK} -k rows_are_gone",
    ),
    M("files", "shutil.rmtree(scrap, ignore_errors=True)", "pass", f"{DISK} -k learn_on"),
    M("files", "        raise disk_error(error, path, needed) from error", "        raise", f"{DISK} -k learn_on"),
    M("serving/problems", "return ApiError(507,", "return ApiError(500,", f"{DISK} -k fit"),
    # the store
    M("store/manifest", "and data == seal(value) else None", "else None", f"{STORE} -k informs"),
    M("store/store", '            check_sealed(self._folder(number) / "run.json")\n', "", f"{STORE} -k informs"),
    M(
        "store/store",
        '            check_sealed(self.path / "scores" / f"{number:04d}.json")\n',
        "",
        f"{STORE} -k informs",
    ),
    M("store/store", 'found.get("manifest") == sha256(manifest)', "True", f"{STORE} -k same_number"),
    M("store/manifest", 'if found != promised["sha256"] or', "if", f"{STORE} -k damage"),
    M("store/store", "or (promised and sha256(manifest) != promised)", "", f"{STORE} -k every_bit"),
    M("store/store", 'or sha256(file) != parent["sha256"]', "", f"{STORE} -k 'swapped or another_store'"),
    M(
        "store/store",
        "            self.tensors(number)  # never point at a damaged version\n",
        "",
        f"{STORE} -k rollback",
    ),
    M("learning/soundness", "and not bool(torch.isfinite(tensor).all())", "and False", f"{RECEIVED} -k tensors"),
    M("learning/soundness", "own.dtype != tensor.dtype or", "", f"{RECEIVED} -k tensors"),
    M("learning/learner", "    check_settings(store.settings, store)\n", "", f"{RECEIVED} -k settings"),
    M("learning/learner", "    store.check_records(number)\n", "", f"{RECEIVED} -k record"),
    M("backbones/encoder", "local_files_only=not allowed", "local_files_only=False", f"{RECEIVED} -k fetched"),
    M("store/archive", "        if entry.file_size > most:", "        if False:", f"{RECEIVED} -k too_many"),
    M("store/archive", "    if len(names) > _MOST_ENTRIES:", "    if False:", f"{RECEIVED} -k too_many"),
    M("store/archive", "    _sweep(path)\n", "", f"{RECEIVED} -k swept"),
    M("store/deletion", "    with store.lock():", "    if True:", f"{DELETE} -k between"),
    M("store/store", "if self._holder == threading.get_ident():", "if self._holder:", f"{DELETE} -k nobody_publishes"),
    M("store/signing", "_PURPOSE + sha256(file)", "sha256(file)", f"{SIGNED} -k purpose"),
    M("store/signing", "public.verify(", "len(", f"{SIGNED} -k byte"),
    M("store/signing", "os.O_EXCL, 0o600", "os.O_EXCL, 0o644", f"{SIGNED} -k owner"),
    # overload, floods, kept rows
    M("serving/kept", '== [sha256(file), "jsonl"]', "!= []", "serving/test_teach.py -k damaged_rows"),
    M(
        "serving/kept",
        "        if other != target:\n            other.unlink()\n",
        "        pass\n",
        f"{TEACH} -k again_take",
    ),
    M(
        "serving/connections",
        "connection.connections.discard(connection)",
        "pass",
        f"{CONNECTIONS} -k counted_any_more",
    ),
    M("serving/connections", "        self._shed = False\n\n", "\n", "serving/test_shedding.py -k goes_on"),
    M("serving/connections", "if self._shed or self.cycle.response_complete:", "if False:", f"{SHED} -k for_ever"),
    M("serving/connections", "or at_work or not plain or", "or at_work or", f"{SHED} -k plainly"),
    M("serving/shedding", "            self._access.check(scope)\n", "", f"{SHED} -k plainly"),
    M("serving/shedding", "            check_body_headers(scope)\n", "", f"{SHED} -k plainly"),
    M("serving/shedding", 'carried("/v1/predict")', 'carried("/")', f"{SHED} -k says"),
]


def run(only: str = "") -> dict[str, Any]:
    """Tries each; returns the survivors."""
    survivors: list[str] = []
    wanted = [each for each in MUTATIONS if only in f"{each.file} {each.new} {each.tests}"]
    for number, each in enumerate(wanted, 1):
        text = (ROOT / each.file).read_text(encoding="utf-8")
        if text.count(each.old) < 1:
            raise SystemExit(f"{each.file} has no {each.old!r} any more: mend the list")
        caught = _caught(each, text.replace(each.old, each.new, 1))
        name = f"{each.file}: {each.old.strip()[:60]!r} -> {each.new.strip()[:60]!r} ({each.tests})"
        print(f"{number}/{len(wanted)} {'caught  ' if caught else 'SURVIVED'} {name}", flush=True)
        survivors += [] if caught else [name]
    return {"mutations": len(wanted), "caught": len(wanted) - len(survivors), "survivors": survivors}


def _caught(mutation: Mutation, text: str) -> bool:
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        (Path(name) / mutation.file).write_text(text, encoding="utf-8")
        path, _, rest = mutation.tests.partition(" -k ")
        selected = ["-k", rest.strip("'")] if rest else []
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--timeout", "90", "-p", "no:cacheprovider"]
        environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*command, f"tests/{path}", *selected],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 1
