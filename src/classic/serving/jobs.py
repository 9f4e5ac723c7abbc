"""Jobs on disk: one folder each, inside the store's folder `service/`.

service/lock                      held by the one service over the store
service/token                     what a request must bear
service/audit.jsonl               what people decided
service/tests/DIGEST.SUM.jsonl    test rows of the domain a version learned, if their owner lets the service keep them
service/incoming/                 uploads being checked; swept at every start
service/jobs/ID/job.json          state; written whole, after every change
service/jobs/ID/data/             the upload; deleted when the job ends, whichever way
service/jobs/ID/branch/           working copy of the store, where the domain is learned
service/jobs/ID/result.json       what the teaching process found
service/jobs/ID/test.jsonl        test rows on their way to service/tests
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from classic.errors import BusyError
from classic.files import sync_folder, write_json

State = Literal["queued", "running", "ready", "held", "publishing", "published", "discarded", "cancelled", "failed"]
OPEN: frozenset[str] = frozenset({"queued", "running", "ready", "held", "publishing"})
_MOST_ENDED = 50  # jobs that are over and still listed


def now() -> str:
    """The time, for people."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Job:
    """One domain on its way into the store. Every field but `progress` survives a kill; see docs/service.md."""

    id: str
    domain: str
    publish: Literal["ask", "auto"]
    keep_test: bool
    counts: dict[str, int]
    threads: int
    base: int
    margin: float
    demo: bool = False
    state: State = "queued"
    created: str = field(default_factory=now)
    changed: str = field(default_factory=now)
    version: int | None = None
    sha256: str | None = None
    epochs: list[dict[str, Any]] = field(default_factory=list)
    gate: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    override: dict[str, str] | None = None
    progress: dict[str, Any] | None = None

    @property
    def open(self) -> bool:
        """Whether it is not over."""
        return self.state in OPEN

    def with_epoch(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Its epochs with one more; one that is made again after a kill replaces its first self."""
        key = (record["phase"], record["epoch"])
        return [entry for entry in self.epochs if (entry["phase"], entry["epoch"]) != key] + [record]

    def public(self) -> dict[str, Any]:
        """As the API shows it."""
        return {name: value for name, value in asdict(self).items() if name != "margin"}


class JobBook:
    """All jobs of a store."""

    RESULT: ClassVar[str] = "result.json"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("jobs", "tests", "incoming"):
            (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        self.jobs: dict[str, Job] = {}
        self._sweep()

    def _sweep(self) -> None:
        """Removes what a kill left: uploads never taken on, and data of jobs that are over."""
        for upload in (self.folder / "incoming").iterdir():
            upload.unlink()
        found: list[Job] = []
        for folder in (self.folder / "jobs").iterdir():
            if not (folder / "job.json").is_file():
                shutil.rmtree(folder)
                continue
            try:
                found.append(Job(**json.loads((folder / "job.json").read_bytes())))
            except (TypeError, ValueError):  # not one of ours, or of another release: nothing of it may stay
                shutil.rmtree(folder)
        for job in sorted(found, key=lambda job: (job.created, job.id)):
            self.jobs[job.id] = job
            if not job.open:
                self.clear(job)

    # --- paths ------------------------------------------------------------------------------------------------------

    def path(self, job: Job | str) -> Path:
        """The folder of a job."""
        return self.folder / "jobs" / (job if isinstance(job, str) else job.id)

    def data(self, job: Job | str) -> Path:
        """Where a job's rows are: one file, or a folder with one file per split."""
        folder = self.path(job) / "data"
        single = folder / "upload"
        return single if single.exists() else folder

    def branch(self, job: Job) -> Path:
        """Where a job learns."""
        return self.path(job) / "branch"

    # --- changing ---------------------------------------------------------------------------------------------------

    def prepare(self) -> str:
        """Makes the folder of a job to be; without a job.json it does not count."""
        identity = uuid.uuid4().hex
        (self.path(identity) / "data").mkdir(parents=True, mode=0o700)
        return identity

    def has_data(self, job: Job) -> bool:
        """Whether the rows of a job are still there: they go first when it ends."""
        return (self.path(job) / "data").is_dir()

    def abandon(self, identity: str) -> None:
        """Removes the folder of a job that did not come to be."""
        self.jobs.pop(identity, None)
        shutil.rmtree(self.path(identity), ignore_errors=True)

    def save(self, job: Job, **changes: Any) -> None:
        """Writes a job's state with some changes: first on disk, then in memory, so that both say the same."""
        changes |= {"changed": now()}
        self.mark(job, **changes)
        for name, value in changes.items():
            setattr(job, name, value)
        self.jobs[job.id] = job

    def mark(self, job: Job, **changes: Any) -> None:
        """Writes a job's state on disk only: what it will be once all that belongs to the change is done."""
        write_json(self.path(job) / "job.json", asdict(replace(job, **changes)) | {"progress": None})

    def clear(self, job: Job) -> None:
        """Deletes everything of a job but its record: upload, working copy, results."""
        for entry in self.path(job).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "job.json":
                entry.unlink()
        sync_folder(self.path(job))

    def forget_old(self) -> None:
        """Keeps the list of ended jobs short."""
        ended = [job for job in self.jobs.values() if not job.open]
        for job in ended[:-_MOST_ENDED]:
            shutil.rmtree(self.path(job))
            del self.jobs[job.id]

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def open_job(self) -> Job | None:
        """The job that is not over."""
        return next((job for job in self.jobs.values() if job.open), None)

    def result(self, job: Job) -> dict[str, Any] | None:
        """What the teaching process found, once it is done."""
        file = self.path(job) / self.RESULT
        return dict(json.loads(file.read_bytes())) if file.is_file() else None

    # --- the audit --------------------------------------------------------------------------------------------------

    def note(self, action: str, entry: dict[str, Any]) -> None:
        """Appends a decision to the audit."""
        row = {"job": None, "version": None, "before": None, "domain": None, "reason": None, "override": False}
        line = json.dumps({"at": now(), "action": action} | row | entry, ensure_ascii=False)
        with (self.folder / "audit.jsonl").open("a", encoding="utf-8") as handle:
            handle.write(line + "\n")
            handle.flush()
            os.fsync(handle.fileno())

    def audit(self, most: int) -> list[dict[str, Any]]:
        """The newest decisions, newest first."""
        file = self.folder / "audit.jsonl"
        if not file.is_file():
            return []
        found = []
        for line in file.read_text(encoding="utf-8").splitlines()[::-1]:
            try:
                found.append(json.loads(line))
            except ValueError:  # a kill in the middle of a line
                continue
            if len(found) == most:
                break
        return found


def lock_service(folder: Path) -> IO[str]:
    """Takes the store's folder for one service; the system gives it back when its holder ends or dies.

    Two services would teach the same job twice, and each would sweep away what the other receives.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = (folder / "lock").open("a")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise BusyError(
            f"{folder.parent} is served already: another `classic serve` holds {folder / 'lock'}",
            fix="end that one, or serve another store",
        ) from None
    return handle


def read_token(folder: Path, given: str | None) -> str:
    """The token: the one given, or the one on disk, made at the first start and readable by its owner only."""
    import secrets

    if given:
        return given
    file = folder / "token"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(file.with_name(".token.tmp"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
        file.with_name(".token.tmp").rename(file)
    return file.read_text(encoding="ascii").strip()
