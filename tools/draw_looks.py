"""Draws what the embedded grounder compares objects with, and writes it to where the package ships it.

For maintainers, after a change of icons, palette or sizes: `python tools/draw_looks.py`
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from formalimg.judges import grounders
from formalimg.judges.grounders.icon_recognition import LOOKS_FILE, draw_looks

if __name__ == "__main__":
    path = Path(grounders.__file__).parent / LOOKS_FILE
    np.savez_compressed(path, **draw_looks()._asdict())
    print(f"{path}: {path.stat().st_size:,} bytes")
