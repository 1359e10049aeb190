"""How much the tests try: some of it in `make test`, which is run often, and all of it in `make test-local`."""

from __future__ import annotations

import os

_ALL = os.environ.get("FORMALIMG_TESTS") == "all"


def tries(some: int, everything: int) -> int:
    """How many cases to try, or which step to take through them."""
    return everything if _ALL else some
