"""A real HTTP server on this machine that speaks as the providers of models do, and fails as they do on request."""

from tests.support.loopback.dialects import Asked, Dialect, Route, Wish
from tests.support.loopback.faults import EVERYWHERE, Fault, Faults, at_random, never, scripted
from tests.support.loopback.http import Request, Response
from tests.support.loopback.server import Loopback

__all__ = [
    "EVERYWHERE",
    "Asked",
    "Dialect",
    "Fault",
    "Faults",
    "Loopback",
    "Request",
    "Response",
    "Route",
    "Wish",
    "at_random",
    "never",
    "scripted",
]
