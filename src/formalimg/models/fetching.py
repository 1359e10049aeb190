"""Fetching an image by the address that a provider gave."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from formalimg.models.calls import CallError, Fault

_LARGEST = 256 * 1024 * 1024
_WAITS = (0.5, 2.0)
"""Seconds before it is tried again: the image is paid for, and to have it made again would cost another one."""


async def fetched(address: str, timeout: float, waits: Sequence[float] = _WAITS) -> bytes:
    """What lies at an address; if it does not come, it is tried again after each of the waits.

    It is fetched without the provider's library, because that would send the key along, and images often lie with
    somebody else. The address itself is in no message: whoever has it can fetch the image.

    Raises:
        CallError: if it does not come, or is too large for an image.
    """
    if urlsplit(address).scheme not in ("http", "https"):
        raise CallError("wrong", "the address of the image is none of the web")
    try:
        data = await asyncio.to_thread(_read, address, timeout)
    except CallError:
        if not waits:
            raise
        await asyncio.sleep(waits[0])
        return await fetched(address, timeout, waits[1:])
    if len(data) > _LARGEST:
        raise CallError("wrong", "what lies at the address of the image is too large")
    return data


def _read(address: str, timeout: float) -> bytes:
    try:
        with urlopen(address, timeout=timeout) as answer:
            data: bytes = answer.read(_LARGEST + 1)
            return data
    except HTTPError as error:
        status = error.code
        error.close()
    except (OSError, HTTPException, ValueError) as error:
        raise CallError("unavailable", f"the image could not be fetched: {type(error).__name__}") from None
    fault: Fault = "unavailable" if status >= 500 or status == 429 else "wrong"
    raise CallError(fault, f"the image could not be fetched from its address: {status}")
