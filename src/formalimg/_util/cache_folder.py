"""The user's cache directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CACHE_VARIABLE = "FORMALIMG_CACHE"  # Environment variable that names the cache folder


def cache_folder() -> Path:
    """Return the cache directory: `FORMALIMG_CACHE`, or `formalimg` in the platform's user cache directory."""
    variable = os.environ.get(CACHE_VARIABLE)
    if variable:
        return Path(variable)
    home = Path.home()
    match sys.platform:
        case "darwin":
            return home / "Library" / "Caches" / "formalimg"
        case "win32":
            return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "formalimg" / "Cache"
        case _:
            return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "formalimg"
