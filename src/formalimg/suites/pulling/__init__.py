"""Bringing the authors' public data here: pinned, without credentials, and without running anything of theirs."""

from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.pull import Pulled, pull
from formalimg.suites.pulling.sources import Source, source, source_names

__all__ = ["PullError", "Pulled", "Source", "pull", "source", "source_names"]
