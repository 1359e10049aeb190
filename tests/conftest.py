"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# As the command line does, and before numpy loads: threads of its own would only be in the way of the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples for everyone; HYPOTHESIS_PROFILE=default goes and looks for new ones.
settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
