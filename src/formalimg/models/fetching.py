"""Fetching a picture by the address that a provider gave."""

from __future__ import annotations

import asyncio
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from formalimg.models.calls import CallError, Fault

_LARGEST = 256 * 1024 * 1024


async def fetched(address: str, timeout: float) -> bytes:
    """What lies at an address.

    It is fetched without the provider's library, because that would send the key along, and pictures often lie with
    somebody else. The address itself is in no message: whoever has it can fetch the picture.

    Raises:
        CallError: if it does not come, or is too large for a picture.
    """
    if urlsplit(address).scheme not in ("http", "https"):
        raise CallError("wrong", "the address of the picture is none of the web")
    data = await asyncio.to_thread(_read, address, timeout)
    if len(data) > _LARGEST:
        raise CallError("wrong", "what lies at the address of the picture is too large")
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
        raise CallError("unavailable", f"the picture could not be fetched: {type(error).__name__}") from None
    fault: Fault = "unavailable" if status >= 500 or status == 429 else "wrong"
    raise CallError(fault, f"the picture could not be fetched from its address: {status}")
