"""Download of published benchmarks: pinned, without credentials, and without running anything of theirs."""

from formalimg.suites.download.pull import Pulled, pull
from formalimg.suites.download.source import PullError, Source, source, source_names

__all__ = ["PullError", "Pulled", "Source", "pull", "source", "source_names"]
