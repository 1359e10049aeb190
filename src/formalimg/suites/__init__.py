"""Suites: benchmarks, their items, and how items are made."""
