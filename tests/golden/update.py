"""Write the golden files anew: `python -m tests.golden.update [--runs]`.

Without `--runs`, run folders and studies that an earlier version stored stay as they are: that they can still be used
is what the tests are for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """Run all golden tests while they write what they would compare."""
    os.environ["FORMALIMG_UPDATE_GOLDEN"] = "runs" if "--runs" in sys.argv[1:] else "data"
    import pytest

    modules = (Path(__file__).with_name(f"test_golden_{name}.py") for name in ("runs", "reports", "formats"))
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *map(str, modules)]))


if __name__ == "__main__":
    sys.exit(main())
