"""Connection to a Ray cluster, existing or local, and calculation of its capacity for workers."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

from formalimg._util.installing import install_line
from formalimg._util.processes import temporary_environment
from formalimg.errors import FormalimgError
from formalimg.runs.messages import error_text

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
            raise FormalimgError(f"{self.gpus} GPUs cannot be given to a worker: a part of one, or whole ones")

    def __str__(self) -> str:
        return f"{self.cpus:g} CPU{'s' * (self.cpus != 1)} and {self.gpus:g} GPU{'s' * (self.gpus != 1)}"

    def fits(self, nodes: Sequence[Mapping[str, Any]]) -> int | None:
        """Return the number of workers that fit on the idle live machines, or None if unlimited."""
        if not self.cpus and not self.gpus:
            return None
        return sum(self._fits_on(node["Resources"]) for node in nodes if node["Alive"])

    def _fits_on(self, resources: Mapping[str, float]) -> int:
        amounts = [(self.cpus, resources.get("CPU", 0)), (self.gpus, resources.get("GPU", 0))]
        if self.gpus and self.gpus < 1:  # parts are parts of one GPU each
            amounts[1] = (1, resources.get("GPU", 0) * int(1 / self.gpus))
        return min(int(available / needed) for needed, available in amounts if needed)


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

    By itself Ray listens on all interfaces, and makes a token that all users of the machine can read; a program that
    has loaded Ray before keeps the token of its user, which is made so that only they can read it.
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
        raise ConnectionError("something listens there, and it is not Ray: give the port of `ray start --head --port`")


def _cannot_join(address: str) -> str:
    if address == "local":
        return "no Ray cluster can be started on this machine"
    return (
        f"cannot join the Ray cluster at {address}: `ray start` it, on this machine too, and give this command "
        "its token (RAY_AUTH_MODE=token, with ~/.ray/auth_token); or use --address local"
    )
