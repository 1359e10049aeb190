"""Tiny models with random weights, built on the spot: what they make is noise, but all of the real code is run."""

import os

# Before any of the libraries is imported: tests need no hub and must not wait for one; and threads that wait for each
# other cost more than such models do.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
