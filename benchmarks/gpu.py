"""Speed on a GPU: our runs against bare loops of diffusers and transformers over the same weights.

The models have realistic sizes and random weights, so nothing has to be downloaded. Bare loops are the obvious
baseline: they return PIL images and store nothing; questions are batched and generated. Our runs do all
that users get: a run folder with PNG files, and parsed answers.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from gpu_chat import measure_chat
from gpu_images import measure_images
from gpu_load import Load

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, help="a file for all numbers, as JSON")
    options.add_argument("--tiny", action="store_true", help="tiny models on the CPU, to see whether it all works")
    options.add_argument("--pictures", type=int, help="images of each measurement (default 48)")
    options.add_argument("--batch", type=int, help="images at once (default 8)")
    options.add_argument("--questions", type=int, help="questions of each measurement (default 256)")
    options.add_argument("--at-once", type=int, help="questions at once (default 32)")
    options.add_argument("--without", choices=["pictures", "chat"], help="leave out one half")
    chosen = options.parse_args()
    tiny = chosen.tiny
    load = Load(
        "cpu" if tiny else "cuda:0",
        tiny,
        chosen.images or (6 if tiny else 48),
        chosen.batch or (2 if tiny else 8),
        2 if tiny else 20,
        64 if tiny else 1024,
        chosen.questions or (12 if tiny else 256),
        chosen.at_once or (4 if tiny else 32),
        8 if tiny else 64,
    )
    found: dict[str, Any] = {"machine": machine(), "load": vars(load)}
    with tempfile.TemporaryDirectory() as place:
        for name, measure in (("pictures", measure_images), ("chat", measure_chat)):
            if chosen.without != name:
                found[name] = measure(load, Path(place))
                if chosen.out:  # what is known so far, should the rest go wrong
                    chosen.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, value in flat(found):
        print(f"{name:<46} {value}")


def machine() -> dict[str, Any]:
    import diffusers
    import torch
    import transformers

    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "processors": os.cpu_count(),
        **{library.__name__: library.__version__ for library in (torch, diffusers, transformers)},
    }


def flat(found: Any, prefix: str = "") -> list[tuple[str, str]]:
    if not isinstance(found, dict):
        return [(prefix, f"{found:.3g}" if isinstance(found, float) else str(found))]
    return [row for key, value in found.items() for row in flat(value, f"{prefix}, {key}" if prefix else key)]


if __name__ == "__main__":
    main()
