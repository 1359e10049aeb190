"""Addresses, as they may be shown and recorded."""

from __future__ import annotations

from urllib.parse import urlsplit


def plain_url(url: str) -> str:
    """A URL without what may be secret in it: user, query, fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
