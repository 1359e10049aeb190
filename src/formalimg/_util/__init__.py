"""Shared helpers: atomic writes, file locks, strict JSON, text truncation, PNG encoding, lazy exports, sync wrappers.

Import from the modules, not from here, so that each program loads only what it needs. Nothing here knows about models,
suites or runs; a helper that only one package needs belongs to that package.
"""
