"""Download of published benchmarks: pinned, without credentials, and without running anything of theirs."""
