"""Download of published benchmarks: pinned, without credentials, and without running anything of theirs."""

from formalimg.suites.download.pull import PullResult, pull
from formalimg.suites.download.source import BenchmarkSource, PullError, source, source_names

__all__ = ["BenchmarkSource", "PullError", "PullResult", "pull", "source", "source_names"]
