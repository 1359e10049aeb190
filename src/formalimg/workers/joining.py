"""Joining a Ray cluster, or starting one on this machine, for as long as a command runs."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from formalimg.errors import FormalimgError
from formalimg.workers.wanted import trouble_of

INSTALL = "pip install 'formalimg[ray]'"

_SECONDS = 10
"""So long may the head of a cluster take to be there."""


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Be part of a cluster; if this program is part of one already, of that.

    Args:
        address: `auto` for the cluster that this machine is part of, HOST:PORT for the one with this head, `local`
            for one that is started on this machine and ends with the block.

    Raises:
        FormalimgError: if Ray is not installed, there is no such cluster, or it does not let us in.
    """
    if find_spec("ray") is None:
        raise FormalimgError(f"the engine ray needs the package ray: {INSTALL}")
    if "://" in address:
        raise FormalimgError(
            f"{address} cannot be joined from outside: use --address auto, on a machine of the cluster"
        )
    # Before Ray is loaded; who has set them otherwise has decided.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address != "local":
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # else it looks for minutes for one that is gone
    import ray

    if ray.is_initialized():
        yield
        return
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        _require_somebody(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:  # of many sorts
        raise FormalimgError(f"{_cannot_join(address)} ({trouble_of(error).told})") from None
    try:
        yield
    finally:
        ray.shutdown()


def _require_somebody(address: str) -> None:
    """Find out quickly whether anybody listens: Ray takes its time.

    Raises:
        OSError: if nobody does.
    """
    host, colon, port = address.rpartition(":")
    if colon:
        with contextlib.closing(socket.create_connection((host, int(port)), timeout=_SECONDS)):
            pass


def _cannot_join(address: str) -> str:
    if address == "local":
        return "no Ray cluster can be started on this machine"
    return (
        f"cannot join the Ray cluster at {address}: `ray start` it, on this machine too, and give this command "
        "the same token (RAY_AUTH_TOKEN_PATH); or use --address local"
    )
