"""Taking a port, with a mistake told in words."""

from __future__ import annotations

import errno
import socket

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at this address.

    Args:
        host: the address, one of this machine's.
        port: the port; 0 for any that is free.

    Raises:
        FormalimgError: if nothing can listen there.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError) as error:
        raise FormalimgError(
            f"{truncate(host, 60, 30)} is no address of this machine: choose another --host"
        ) from error
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        other = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise FormalimgError(
            f"cannot listen on {host} port {port} ({error.strerror}): choose another {other}"
        ) from error
    # Connections take it over. asyncio does it for sockets of its own only, and without it the second half of an answer
    # may wait for 40 ms until the client has confirmed the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
