"""Teaching as the service sees it: one job at a time, in a child process, published by one rename and one pointer move."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from classic.errors import StaleError, StoreError
from classic.serving.events import Watchers
from classic.serving.jobs import Job, JobBook, now
from classic.serving.kept import keep_rows
from classic.serving.model import Live, load_predictor
from classic.serving.problems import ApiError, explain
from classic.serving.telemetry import Telemetry
from classic.store.store import Store

log = logging.getLogger("classic.serving")

_GONE = {"message": "its rows are gone: it was ending when the service stopped", "fix": "teach the domain again"}
_STALE = "the store has moved on since this domain was taught"


class Teaching:
    """Starts, watches, publishes and ends jobs.

    Args:
        store: The store that is served.
        book: Its jobs.
        live: The model that answers.
        telemetry: Where to count.
        memory: Most GiB a teaching process may take; 0 is no limit.
    """

    def __init__(self, store: Store, book: JobBook, live: Live, telemetry: Telemetry, memory: float) -> None:
        self.store, self.book, self.live = store, book, live
        self.watchers = Watchers()
        self.changing = asyncio.Lock()  # the pointer, and the state of jobs
        self._telemetry, self._memory = telemetry, memory
        self._child: asyncio.subprocess.Process | None = None
        self._running: asyncio.Task[None] | None = None
        self._listener: asyncio.Future[dict[str, str] | None] | None = None
        self._ending = False
        self._unended: tuple[Job, Any, dict[str, str] | None] | None = None  # over, but the disk did not take it

    # --- the life of a job ------------------------------------------------------------------------------------------

    async def resume(self) -> None:
        """Takes up what an earlier process left."""
        job = self.book.open_job
        if job is None:
            return
        if job.state == "publishing":
            try:
                async with self.changing:
                    await self._publish(job)
            except (ApiError, StoreError, OSError) as error:  # a person decides, or makes room and asks again
                log.warning("publish: %s", type(error).__name__)
        elif job.state in ("queued", "running"):
            if self.book.has_data(job):
                self.start(job)
            else:
                await self._end(job, "failed", _GONE)

    def start(self, job: Job) -> None:
        """Runs a job's process in the background."""
        self._running = asyncio.create_task(self._run(job))

    async def _run(self, job: Job) -> None:
        try:
            await self._teach(job)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            problem = explain(error)
            await self._stop_child()
            async with self.changing:
                if job.open:
                    await self._end(
                        job, "failed", {"message": f"teaching broke off: {problem.message}", "fix": problem.fix}
                    )

    async def _teach(self, job: Job) -> None:
        command = [sys.executable, "-m", "classic.serving.worker", str(self.book.path(job)), str(self._memory)]
        pipe = asyncio.subprocess.PIPE
        async with self.changing:
            if not job.open or self._ending:
                return
            await asyncio.to_thread(self._make_branch, job)
            child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 22)
            self._child = child
            self._change(job, state="running")
        self._listener = asyncio.ensure_future(self._listen(job, child))
        error = await self._listener
        code = await child.wait()
        self._child = None
        async with self.changing:
            if self._ending or job.state != "running":  # the service ends, or somebody cancelled
                return
            job.progress = None
            result = self.book.result(job) if code == 0 else None
            if result is None:
                await self._end(job, "failed", error or self._silent_end(code))
                return
            found = {name: result[name] for name in ("version", "sha256", "gate")}
            passed = bool(result["gate"]["passed"])
            self._change(job, **found, state="ready" if passed else "held")
            if result["gate"]["verdict"] == "kept" and job.publish == "auto":  # "too few to tell" is for a person
                with suppress(ApiError):  # stale: a person decides
                    await self._publish(job)

    def _silent_end(self, code: int) -> dict[str, str]:
        """What to say of a child that was killed, by itself or from outside."""
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {
            "message": f"the teaching process ended without a word ({how}); it may have run out of memory",
            "fix": f"its limit is {self._memory:g} GiB: raise --teach-memory, or teach fewer rows",
        }

    async def _listen(self, job: Job, child: asyncio.subprocess.Process) -> dict[str, str] | None:
        """Follows what a child says until it ends; returns its error."""
        assert child.stdout is not None
        error: dict[str, str] | None = None
        async for line in child.stdout:
            said: dict[str, Any] = json.loads(line)
            event = said.pop("event")
            if event == "progress":
                job.progress = said
                self.watchers.tell(job.id, "progress", said)
            elif event == "epoch":
                self.book.save(job, epochs=job.with_epoch(said["record"]))
                self.watchers.tell(job.id, "epoch", said["record"])
            else:
                error = {"message": said["message"], "fix": said["fix"]}
        return error

    def _make_branch(self, job: Job) -> None:
        """The working copy; one that a kill left half-made is made again."""
        folder = self.book.branch(job)
        if not Store.exists(folder):
            shutil.rmtree(folder, ignore_errors=True)
            self.store.branch(folder)

    # --- decisions --------------------------------------------------------------------------------------------------

    async def publish(self, job: Job, override: bool, reason: str | None) -> None:
        """Makes a trained version live."""
        async with self.changing:
            self._need(job, "ready", "held", "publishing")  # the last: it broke off half-way, and goes on
            if job.state == "held":
                if not override or not reason:
                    raise ApiError(
                        409,
                        "gate",
                        "a domain fell by more than the margin",
                        fix="say override and a reason, or discard",
                    )
                await self._publish(job, {"reason": reason, "at": now()})
            else:
                await self._publish(job)

    async def _publish(self, job: Job, override: dict[str, str] | None = None) -> None:
        if self.store.current not in (job.base, job.version):
            raise ApiError(409, "stale", _STALE, fix="discard it and teach the domain again")
        self._change(job, state="publishing", override=override or job.override)
        try:
            await self._adopt(job)
        except (StoreError, ApiError, OSError):
            if job.open and self.store.current != job.version:  # live is live, whatever the job's file says
                self._change(job, state="ready" if job.gate and job.gate["passed"] else "held", override=None)
            raise

    async def _adopt(self, job: Job) -> None:
        """The part of publishing that is done again after a kill: every step of it may find itself done."""
        assert job.version is not None and job.sha256 is not None
        number, digest = job.version, job.sha256
        branch = self.book.branch(job)
        moved = (self.store.path / "versions" / f"{number:04d}").is_dir()
        try:
            predictor = await asyncio.to_thread(load_predictor, self.store if moved else Store.open(branch), number)
            await asyncio.to_thread(self.store.adopt, Store(branch, self.store.settings), number, digest)
        except StaleError:
            raise ApiError(409, "stale", _STALE, fix="discard it and teach the domain again") from None
        result = self.book.result(job)
        if result is not None:
            self.store.write_scores(number, self.store.read_scores(number) | result["counted"])
        kept = self.book.path(job) / "test.jsonl"
        if kept.is_file():
            keep_rows(self.book.folder, digest, kept)
        self.live.exchange(predictor)
        reason = job.override["reason"] if job.override else None
        entry = {"job": job.id, "version": number, "before": job.base, "domain": job.domain}
        self.book.note("publish", entry | {"reason": reason, "override": job.override is not None})
        await self._end(job, "published")

    async def discard(self, job: Job) -> None:
        """Throws a trained version away."""
        async with self.changing:
            self._need(job, "ready", "held")
            await self._end(job, "discarded")
            self.book.note("discard", {"job": job.id, "domain": job.domain})

    async def cancel(self, job: Job) -> None:
        """Ends a job that is being taught."""
        async with self.changing:
            self._need(job, "queued", "running")
            await self._stop_child()
            await self._end(job, "cancelled")
            self.book.note("cancel", {"job": job.id, "domain": job.domain})

    async def rollback(self, number: int, reason: str | None) -> int:
        """Makes another version live; returns the one before."""
        async with self.changing:
            before = self.store.current
            predictor = await asyncio.to_thread(load_predictor, self.store, number)
            await asyncio.to_thread(self.store.rollback, number)
            self.live.exchange(predictor)
            self.book.note("rollback", {"version": number, "before": before, "reason": reason})
            return before

    async def follow_pointer(self) -> None:
        """Makes the version live that another program put in use."""
        async with self.changing:
            number = self.store.current
            if number != self.live.version:
                self.live.exchange(await asyncio.to_thread(load_predictor, self.store, number))

    # --- inside -----------------------------------------------------------------------------------------------------

    async def end(self) -> None:
        """The service ends; the job goes on when it starts again."""
        self._ending = True
        await self._stop_child()
        if self._running:
            await asyncio.gather(self._running, return_exceptions=True)

    async def _stop_child(self) -> None:
        child = self._child
        if child is not None and child.returncode is None:
            child.kill()
            await child.wait()
        if self._listener is not None:  # its last words are heard before the job's folder is cleared
            await asyncio.wait({self._listener})

    async def _end(self, job: Job, state: Any, error: dict[str, str] | None = None) -> None:
        """Says on disk that a job is over, deletes its data, then says so to everybody.

        On a full disk its data go first, which makes room; a job without data is never taught again. If not even that
        helps, the job stays as it is on disk, and `retry` ends it when there is room.
        """
        ended = {"state": state, "error": error}
        try:
            self._unended = job, state, error
            try:
                self.book.mark(job, **ended)
            except StoreError:
                await asyncio.to_thread(self.book.clear, job)
                self.book.mark(job, **ended)
            await asyncio.to_thread(self.book.clear, job)
        except (StoreError, OSError) as problem:
            log.error("job cannot be ended: %s", type(problem).__name__)
            raise
        self._unended = None
        self.book.save(job, progress=None, **ended)
        self.watchers.tell(job.id, "end", job.public())
        self._telemetry.jobs.labels(state).inc()
        self.book.forget_old()

    async def retry(self) -> None:
        """Ends the job that a full disk kept from ending."""
        if self._unended:
            async with self.changing:
                if self._unended:
                    await self._end(*self._unended)

    def _change(self, job: Job, **changes: Any) -> None:
        self.book.save(job, **changes)
        self.watchers.tell(job.id, "job", job.public())

    def _need(self, job: Job, *states: str) -> None:
        if job.state not in states:
            raise ApiError(
                409, "state", f"the job is {job.state}", fix=f"this needs a job that is {' or '.join(states)}"
            )


def job_folder(store: Path) -> Path:
    """Where a service keeps its own files."""
    return store / "service"
