"""Ray actors that hold an image model, a judge, or both, and the connection to the cluster they run on."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import platform
import re
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg._util.installing import install_line
from formalimg._util.processes import temporary_environment
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.runs.inspection import inspect
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.parties import Reopenable
from formalimg.types import Concurrent, ImageModel, Item, Judge, Setting, Unscored, Verdict

_MIN_RESOURCE = 0.0001  # The smallest part of a CPU or GPU that Ray counts
_LOOPBACK = "127.0.0.1"

_REACHABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Whether Ray listens where other machines reach it; on all systems, in spite of its name."""

_AUTHENTICATION = frozenset({"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"})

_CONNECT_TIMEOUT = 10  # Seconds that the head of a cluster may take to answer
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The beginning of an HTTP/2 connection, which Ray speaks: the preface, and default settings."""

_SETTINGS_FRAME = 4  # The type of the first frame of an HTTP/2 server: its fourth byte


@dataclass(frozen=True)
class ResourceRequest:
    """The CPUs and GPUs reserved for one worker."""

    cpus: float = 1  # CPUs; 0 for workers that only wait for a server elsewhere
    gpus: float = 0  # GPUs, also a part of one, such as 0.5 for two workers on each

    def __post_init__(self) -> None:
        for amount in (self.cpus, self.gpus):
            if not (isfinite(amount) and (amount == 0 or amount >= _MIN_RESOURCE)):
                raise FormalimgError(
                    f"a worker cannot take {amount:g} CPUs or GPUs: give 0, or a number from {_MIN_RESOURCE:.4f} on"
                )
        if self.gpus > 1 and self.gpus % 1:
            raise FormalimgError(f"{self.gpus} GPUs per worker is not valid: give a fraction of one, or a whole number")

    def __str__(self) -> str:
        return f"{self.cpus:g} CPU{'s' * (self.cpus != 1)} and {self.gpus:g} GPU{'s' * (self.gpus != 1)}"

    def fits(self, nodes: Sequence[Mapping[str, Any]]) -> int | None:
        """Return the number of workers that fit on the idle live machines, or None if unlimited."""
        if not self.cpus and not self.gpus:
            return None
        workers = 0
        for resources in (node["Resources"] for node in nodes if node["Alive"]):
            amounts = [(self.cpus, resources.get("CPU", 0)), (self.gpus, resources.get("GPU", 0))]
            if self.gpus and self.gpus < 1:  # parts are parts of one GPU each
                amounts[1] = (1, resources.get("GPU", 0) * int(1 / self.gpus))
            workers += min(int(available / needed) for needed, available in amounts if needed)
        return workers


@contextmanager
def connect(address: str) -> Iterator[None]:
    """Connect to a Ray cluster for the duration of the block, preferring the one this program already belongs to."""
    if find_spec("ray") is None:
        raise FormalimgError(f"the engine ray needs the package ray: {install_line('ray')}")
    if "://" in address:
        raise FormalimgError(
            f"{address} cannot be joined from outside: use --address auto, on a machine of the cluster"
        )
    if address not in ("auto", "local") and not re.fullmatch(r"[^\s:]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}", address):
        raise FormalimgError(f"{address!r} is not an address of a Ray cluster: use auto, local or HOST:PORT")
    # Before Ray is loaded; users who have set them otherwise have decided.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")  # else messages about dead workers are coloured, also in log files
    if address != "local":
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # else it looks for minutes for one that is gone
    options = {"include_dashboard": False, "_node_ip_address": _LOOPBACK} if address == "local" else {}
    with private_cluster() if address == "local" else nullcontext():
        import ray
        from ray.job_config import JobConfig

        if ray.is_initialized():
            yield
            return
        job = JobConfig()
        job._py_driver_sys_path = _ImportPath()
        try:
            probe(address)
            ray.init(address, job_config=job, log_to_driver=False, logging_level="ERROR", **options)
        except Exception as error:  # of many types
            raise FormalimgError(f"{_cannot_join(address)} ({error_text(error)})") from None
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def private_cluster() -> Iterator[None]:
    """Restrict clusters started inside the block to the loopback interface and a private token.

    By default Ray listens on all interfaces, and creates a token that all users of the machine can read. A program that
    has already loaded Ray keeps its user's token, which is created readable by that user only.
    """
    settings = {_REACHABLE: "0"}
    if not _AUTHENTICATION & os.environ.keys():  # users who have set them have decided
        if "ray" not in sys.modules or _private_token.cache_info().currsize:
            settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(_private_token())}
        else:  # it has read them when it was loaded
            with suppress(FileExistsError):
                _write_token(Path.home() / ".ray" / "auth_token")
    with temporary_environment(settings):
        from ray._private import ray_constants

        is_reachable = ray_constants.ENABLE_RAY_CLUSTER  # read when Ray was loaded, perhaps earlier
        ray_constants.ENABLE_RAY_CLUSTER = False
        try:
            yield
        finally:
            ray_constants.ENABLE_RAY_CLUSTER = is_reachable


@cache
def _private_token() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="formalimg-ray-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _write_token(folder / "auth_token")


def _write_token(path: Path) -> Path:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600), encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    return path


class _ImportPath(list[str]):
    """The import path that Ray prepends for workers, restricted to folders on this process's path.

    Ray would add the current folder, whose files would be imported in place of the standard library.
    """

    def extend(self, folders: Iterable[str]) -> None:
        """Add the folders that are on the import path of this process."""
        own_folders = {os.path.abspath(folder) for folder in sys.path}  # noqa: PTH100  # "" is the current folder
        super().extend(folder for folder in folders if folder in own_folders)


def probe(address: str) -> None:
    """Check quickly whether a Ray cluster is listening at HOST:PORT, since Ray takes more than a minute."""
    host, colon, port = address.rpartition(":")
    if not colon:
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT) as connection:
        if os.environ.get("RAY_USE_TLS", "0") == "1":
            return
        connection.sendall(_HTTP2_PREFACE)
        connection.settimeout(_CONNECT_TIMEOUT)
        answer = connection.recv(4, socket.MSG_WAITALL)
    if len(answer) < 4 or answer[3] != _SETTINGS_FRAME:
        raise ConnectionError("the process that listens there is not Ray: give the port of `ray start --head --port`")


def _cannot_join(address: str) -> str:
    if address == "local":
        return "no Ray cluster can be started on this machine"
    return (
        f"cannot join the Ray cluster at {address}: `ray start` it, on this machine too, and give this command "
        "its token (RAY_AUTH_MODE=token, with ~/.ray/auth_token); or use --address local"
    )


POLL_SECONDS = 5.0
"""Interval at which the cluster is checked for any machine that could hold a worker that does not start."""

NO_MACHINE_TIMEOUT = 60.0  # Seconds that a pool without workers waits for a machine that can hold one
_MAX_MESSAGE = 4_000  # Characters of the beginning and of the end of an error that ends the run
Component = TypeVar("Component", bound=Concurrent)


@dataclass(frozen=True)
class ComponentSpec(Generic[Component]):
    """A model or judge for workers to open, with its expected identity."""

    factory: Callable[[], Component]  # opens it
    name: str  # those it has where the run was started. Keys are made of them, so they must be the same
    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, component: Reopenable[Component]) -> ComponentSpec[Component]:
        """Return the specification of an open component."""
        return cls(component.factory, component.instance.name, dict(component.instance.settings))

    def open(self) -> Component:
        """Open the component and check its identity."""
        component = self.factory()
        local, remote = {"name": component.name, **component.settings}, {"name": self.name, **self.settings}
        different = sorted(key for key in {*local, *remote} if local.get(key) != remote.get(key))
        if different:
            raise FormalimgError(
                f"{self.name} differs from the machine where the run was started ({', '.join(different)} differ): use "
                "the same versions and files on all machines, and set what it would choose by itself, such as dtype"
            )
        return component


class WorkerSetup(NamedTuple):
    """The components that a worker opens at startup."""

    model: ComponentSpec[ImageModel] | None  # what it opens; None for nothing
    judge: ComponentSpec[Judge] | None
    version: str  # the version of formalimg that it must have
    folder: str  # the folder from which the run was started; it changes there if it exists, for files and `.env`


class WorkerFailure(NamedTuple):
    """A one-line error message without API keys, and whether the error ends the run."""

    message: str
    ends_run: bool = False


class GeneratedBatch(NamedTuple):
    """The answers to the first requests of a batch, and the failure that ended it."""

    answers: list[ImageResult]  # in the order of the requests
    failure: WorkerFailure | None = None  # why some are missing; None if none is
    batch: int = 1  # the batch size that the model prefers from now on


class WorkerVerdict(NamedTuple):
    """The verdict of a judge, or the failure that prevented it."""

    verdict: Verdict | Unscored | None
    failure: WorkerFailure | None = None


def failure_of(error: BaseException) -> WorkerFailure:
    """Convert an exception to a message that every process can deserialize."""
    if isinstance(error, FormalimgError):
        # Whole, as where there is no cluster: the end of our own messages says what to do.
        return WorkerFailure(one_line(str(error), _MAX_MESSAGE, _MAX_MESSAGE), ends_run=True)
    return WorkerFailure(error_text(error))


class Worker:
    """A Ray actor that runs concurrent calls in an event loop, up to the limits of its model and judge.

    Nothing is raised to the caller: errors are returned as messages without API keys that can be read everywhere. This
    includes `sys.exit()`, which would end the event loop but not the process, so that no answer would ever arrive.
    """

    _model: ImageModel
    _judge: Judge

    async def start(self, setup: WorkerSetup) -> tuple[str, WorkerFailure | None]:
        """Open the model and judge, and return the host name and the failure, if any. Must be called first."""
        with contextlib.suppress(OSError):
            os.chdir(setup.folder)
        try:
            await asyncio.to_thread(self._open, setup)
        except BaseException as error:
            return platform.node(), failure_of(error)
        return platform.node(), None

    def _open(self, setup: WorkerSetup) -> None:
        installed = version("formalimg")
        if setup.version != installed:
            raise FormalimgError(
                f"it has formalimg {installed}, and the run was started with {setup.version}: install the same"
            )
        if setup.model:
            self._model = setup.model.open()
            self._generating = asyncio.Semaphore(max(1, self._model.concurrency))
        if setup.judge:
            self._judge = setup.judge.open()
            self._judging = asyncio.Semaphore(max(1, self._judge.concurrency))

    async def generate(self, requests: Sequence[ImageRequest]) -> GeneratedBatch:
        """Return the answers to the requests in order, up to the first failure."""
        answers: list[ImageResult] = []
        async with self._generating:
            try:
                async with aclosing(self._model.generate(requests)) as stream:  # type: ignore[type-var]
                    async for answer in stream:
                        answers.append(answer)  # noqa: PERF401 (those before an error count)
            except BaseException as error:
                return GeneratedBatch(answers, failure_of(error), self._model.batch)
        return GeneratedBatch(answers, batch=self._model.batch)

    async def judge(self, item: Item[object], data: bytes) -> WorkerVerdict:
        """Judge an image, passed as the encoded file from the image model."""
        async with self._judging:
            try:
                image: LoadedImage | Unscored = await asyncio.to_thread(inspect, data)
                return WorkerVerdict(image if isinstance(image, Unscored) else await self._judge.judge(item, image))
            except BaseException as error:
                return WorkerVerdict(None, failure_of(error))


class WorkerLostError(Exception):
    """Raised when a worker or its machine dies before the worker is ready."""


async def start_worker(
    setup: WorkerSetup, resources: ResourceRequest, calls: int, no_workers: Callable[[], bool]
) -> tuple[Any, str]:
    """Start a worker on any machine with capacity, wait until it is ready, and return its handle and host."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    actor = ray.remote(
        num_cpus=resources.cpus,
        num_gpus=resources.gpus,
        max_restarts=0,
        max_concurrency=calls + 1,
        scheduling_strategy="SPREAD",
    )(Worker)
    worker = actor.remote()
    try:
        host, failure = await _wait_unless_no_machine(worker.start.remote(setup), resources, no_workers)
        if failure:
            raise FormalimgError(f"the worker on {host} cannot begin: {failure.message}")
    except BaseException as error:
        end_worker(worker)
        if isinstance(error, RayTaskError):  # its setup cannot be deserialized there
            raise FormalimgError(f"a worker cannot begin: {failure_of(error).message}") from None
        if isinstance(error, RayError):
            raise WorkerLostError(failure_of(error).message) from None
        raise
    return worker, host


def end_worker(worker: Any) -> None:
    """Terminate a worker, whether busy, idle or already gone."""
    import ray

    if worker is not None:
        with contextlib.suppress(Exception):  # the cluster itself may be gone
            ray.kill(worker)


async def _wait_unless_no_machine(
    reference: Any, resources: ResourceRequest, no_workers: Callable[[], bool]
) -> tuple[str, WorkerFailure | None]:
    import ray

    async def result() -> Any:
        return await reference

    task = asyncio.create_task(result())
    waited = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=min(POLL_SECONDS, NO_MACHINE_TIMEOUT)))[0]:
            no_machine = no_workers() and resources.fits(await asyncio.to_thread(ray.nodes)) == 0
            waited = waited + POLL_SECONDS if no_machine else 0.0
            if waited >= NO_MACHINE_TIMEOUT:
                raise FormalimgError(
                    f"no machine of the cluster can hold a worker that takes {resources}: start one that can, or ask "
                    "for less with --cpus-per-worker and --gpus-per-worker. What is done is kept"
                )
        status: tuple[str, WorkerFailure | None] = task.result()
        return status
    finally:
        task.cancel()
