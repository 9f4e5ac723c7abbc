"""One service over one store: the parts, and how they start and end."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from classic.data import DEMO_DOMAINS, load_demo
from classic.data.tasks import check_name, task_hash
from classic.data.writers import write_examples
from classic.errors import InputError, StoreError
from classic.prediction.predictor import Predictor
from classic.serving.batcher import BatchLimits
from classic.serving.guard import Access
from classic.serving.jobs import Job, JobBook, lock_service
from classic.serving.kept import keep_rows, kept_rows, sweep_rows
from classic.serving.model import Live, load_predictor
from classic.serving.problems import ApiError, invalid
from classic.serving.supervisor import Teaching, job_folder
from classic.serving.telemetry import Telemetry
from classic.serving.uploads import read_upload
from classic.store.store import Store
from classic.types import POLARITIES, Task

log = logging.getLogger("classic.serving")

_LOOK = 2.0  # seconds between two looks at the pointer, which other programs may move


@dataclass(frozen=True)
class ServiceConfig:
    """How a store is served.

    Attributes:
        access: Who may ask.
        limits: How predictions are batched.
        margin: By how many points of macro-F1 a domain may fall before a person must decide.
        teach_threads: CPU threads of the teaching process; as many give the same bytes.
        teach_memory: GiB the teaching process may take; 0 is no limit.
        demo: How many of the demo domains the service teaches itself.
    """

    access: Access
    limits: BatchLimits = field(default_factory=BatchLimits)
    margin: float = 1.0
    teach_threads: int = 1
    teach_memory: float = 4.0
    demo: int = 0


class Service:
    """Everything behind the routes. Made and used inside one event loop."""

    def __init__(self, store: Store, config: ServiceConfig) -> None:
        self.store, self.config = store, config
        self._lock = lock_service(job_folder(store.path))  # first: what follows sweeps
        self.telemetry = Telemetry()
        self.live = Live(config.limits, self.telemetry)
        self.book = JobBook(job_folder(store.path))
        self.teaching = Teaching(store, self.book, self.live, self.telemetry, config.teach_memory)
        self.draining = False
        self.examples: tuple[Predictor, list[dict[str, Any]]] | None = None  # to try a model with, and the model
        self.summarising = asyncio.Lock()
        self._caretaker: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Loads the model, takes up an unfinished job, begins to answer."""
        self.live.batcher.start()
        sweep_rows(self.book.folder, {self.store.digest(number) for number in self.store.numbers()})
        self.live.exchange(await asyncio.to_thread(load_predictor, self.store, self.store.current))
        await self.teaching.resume()
        self._caretaker = asyncio.create_task(self._take_care())

    def drain(self) -> None:
        """No longer ready; streams end so that connections can close."""
        self.draining = True
        self.teaching.watchers.close()

    async def stop(self) -> None:
        """Answers what waits, stops the teaching process, ends."""
        self.drain()
        if self._caretaker:
            self._caretaker.cancel()
        await self.teaching.end()
        await self.live.batcher.stop()
        self._lock.close()

    async def _take_care(self) -> None:
        """Teaches the demo domains, and follows a pointer that another program moved."""
        while True:
            try:
                if self.config.demo:
                    await self._teach_demo()
                await self.teaching.retry()
                await self.teaching.follow_pointer()
            except StoreError as error:  # damaged or busy: what is in memory goes on answering
                log.warning("store: %s", type(error).__name__)
            except OSError as error:
                log.warning("files: %s", type(error).__name__)
            except ApiError as error:
                log.warning("demo: %s", error.code)
            await asyncio.sleep(_LOOK)

    # --- teaching ---------------------------------------------------------------------------------------------------

    async def teach(self, identity: str, domain: str, publish: str, keep_test: bool) -> Job:
        """Makes a job of an upload that is on disk already; the caller removes it if this fails."""
        self.refuse_teaching(domain)
        task = await asyncio.to_thread(read_upload, domain, self.book.data(identity))
        async with self.teaching.changing:
            self.refuse_teaching(domain)  # again: reading took its time
            job = self._new_job(identity, task, publish, keep_test)
        self.teaching.start(job)
        return job

    def refuse_teaching(self, domain: str) -> None:
        """Says why a domain cannot be taught now."""
        try:
            check_name(domain)
        except InputError as error:
            raise invalid("this cannot be the name of a domain", fix=error.fix) from None
        if self.draining:
            raise ApiError(503, "draining", "the service is ending", headers={"Retry-After": "5"})
        if job := self.book.open_job:
            raise ApiError(409, "busy", "another domain is being taught", fix=f"wait for job {job.id}, or end it")
        if domain in self.store.domains():
            raise ApiError(
                409,
                "known_domain",
                "the store has learned a domain of this name already",
                fix="choose another name, or roll back to the version before it",
            )

    def _new_job(self, identity: str, task: Task, publish: str, keep_test: bool, demo: bool = False) -> Job:
        rows = task.train + task.valid + task.test
        job = Job(
            id=identity,
            domain=task.name,
            publish="auto" if publish == "auto" else "ask",
            keep_test=keep_test,
            counts={str(p): sum(example.polarity is p for example in rows) for p in POLARITIES},
            threads=self.config.teach_threads,
            base=self.store.current,
            margin=100.0 if demo else self.config.margin,
            demo=demo,
        )
        self.book.save(job)
        self.book.note("teach", {"job": job.id, "domain": job.domain})
        return job

    async def _teach_demo(self) -> None:
        """Starts the next demo domain when nothing else is going on; its gate is open, its comparison is shown."""
        self._keep_demo_tests()
        # Also what a rollback left behind: to teach it again would undo the rollback.
        learned = {self.store.version(number).domain for number in self.store.numbers() if number}
        wanted = [name for name in DEMO_DOMAINS[: self.config.demo] if name not in learned]
        if not wanted or self.book.open_job or self.draining:
            return
        if any(not job.open and job.demo and job.state != "published" for job in self.book.jobs.values()):
            return  # somebody cancelled it, or it failed: not again by itself
        task = load_demo(wanted[0])
        identity = self.book.prepare()
        try:
            for split, examples in (("train", task.train), ("valid", task.valid), ("test", task.test)):
                write_examples(examples, self.book.path(identity) / "data" / f"{split}.jsonl")
            async with self.teaching.changing:
                job = self._new_job(identity, task, "auto", keep_test=True, demo=True)
        except BaseException:
            self.book.abandon(identity)
            raise
        self.teaching.start(job)

    def _keep_demo_tests(self) -> None:
        """Test rows of demo domains a store has learned: they are part of the package and may be kept.

        Only where the package's own split was learned: uploaded rows of the same name were split anew, and most of the
        package's test rows were then among those that were trained on.
        """
        for version in self.store.chain():
            digest = self.store.digest(version.number)
            if version.domain not in DEMO_DOMAINS or kept_rows(self.book.folder, digest):
                continue
            demo = load_demo(version.domain)
            if version.record["data"] == task_hash(demo):
                rows = self.book.folder / "incoming" / f"{digest}.jsonl"
                write_examples(demo.test, rows)
                keep_rows(self.book.folder, digest, rows)
