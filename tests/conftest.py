"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# As the command line does, and before numpy loads: threads of its own would only be in the way of the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples for everyone, and few enough to be run often; HYPOTHESIS_PROFILE=thorough looks for new ones.
settings.register_profile("steady", derandomize=True, max_examples=60)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
