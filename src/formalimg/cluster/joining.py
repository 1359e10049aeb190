"""Joining a Ray cluster, or starting one on this machine, for as long as a command runs."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from formalimg.cluster.wanted import trouble_of
from formalimg.errors import FormalimgError

INSTALL = "pip install 'formalimg[ray]'"

_SECONDS = 10
"""So long may the head of a cluster take to be there."""

_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of HTTP/2, which Ray speaks, begins: the preface, and settings that are those by default."""

_SETTINGS = 4
"""The sort of what an HTTP/2 server says first: it is the fourth byte of it."""


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
    if address not in ("auto", "local") and not re.fullmatch(r"[^\s:]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}", address):
        raise FormalimgError(f"{address!r} is no address of a Ray cluster: use auto, local or HOST:PORT")
    # Before Ray is loaded; who has set them otherwise has decided.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")  # else what it says of dead workers is coloured, also in log files
    if address != "local":
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # else it looks for minutes for one that is gone
    import ray

    if ray.is_initialized():
        yield
        return
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        require_somebody(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:  # of many sorts
        raise FormalimgError(f"{_cannot_join(address)} ({trouble_of(error).told})") from None
    try:
        yield
    finally:
        ray.shutdown()


def require_somebody(address: str) -> None:
    """Find out quickly whether a cluster may be there: Ray takes more than a minute for it.

    Raises:
        OSError: if nobody listens, or somebody else.
    """
    host, colon, port = address.rpartition(":")
    if not colon:
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS", "0") == "1":
            return
        connection.sendall(_HELLO)
        connection.settimeout(_SECONDS)
        answer = connection.recv(4, socket.MSG_WAITALL)
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise ConnectionError("somebody listens there, and it is no Ray: give the port of `ray start --head --port`")


def _cannot_join(address: str) -> str:
    if address == "local":
        return "no Ray cluster can be started on this machine"
    return (
        f"cannot join the Ray cluster at {address}: `ray start` it, on this machine too, and give this command "
        "its token (RAY_AUTH_MODE=token, with ~/.ray/auth_token); or use --address local"
    )
