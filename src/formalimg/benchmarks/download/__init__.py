"""Download of published benchmarks: pinned, without credentials, and without running downloaded code."""
