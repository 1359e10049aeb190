"""Print the main line of a run: the files of formalimg between the command and each milestone, in the order of calls.

    python -m tools.trace_run [--stacks]

A file is on the main line if one of its functions is on a call path from `main` to a milestone: items are opened,
images planned, generated and written, judged and verified, verdicts written, the table made and printed. Helpers that
return before anything of that happens are not. `--stacks` also prints the path to each milestone.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import formalimg
from formalimg.cli import main

COMMAND = ("run", "knolling", "--model", "builtin/reader", "--per-level", "1", "--size", "256")
ROOT = Path(formalimg.__file__).parent

MILESTONES = {
    ("benchmarks/loader.py", "open_items"): "items are opened",
    ("runs/plan.py", "plan_images"): "images are planned",
    ("models/", "generate"): "the model is asked for an image",
    ("drawing/", "draw"): "an image is drawn",
    ("runs/store.py", "store_answers"): "the store takes an image",
    ("runs/image_store.py", "write"): "the file of an image is written",
    ("judges/", "judge"): "the judge is given an image",
    ("judges/", "ground"): "objects are found in an image",
    ("logic/verification.py", "verify"): "a formula is verified",
    ("runs/store.py", "record_verdicts"): "the store takes a verdict",
    ("reports/comparison.py", "compare"): "runs are compared",
    ("reports/tables/", "render_terminal"): "the table is made",
    ("cli/", "print_table"): "the table is printed",
}
"""What each function does that ends a call path, by its file or folder and its name."""


def file_of(frame: FrameType) -> str:
    """Return the path of our source file of a frame, below the package; empty for code of others."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


class MainLine:
    """The call paths to the milestones of a run.

    Attributes:
        paths: the functions of ours on the first path to each milestone, outermost first, as (file, function).
    """

    def __init__(self) -> None:
        self.paths: dict[str, list[tuple[str, str]]] = {}
        self._names = {name for _, name in MILESTONES}

    def observe(self, frame: FrameType, event: str, _: object) -> None:
        """Remember the call path if a milestone was called; for `sys.setprofile`."""
        if event != "call" or frame.f_code.co_name not in self._names:
            return
        file = file_of(frame)
        for (place, name), milestone in MILESTONES.items():
            if frame.f_code.co_name == name and file.startswith(place) and milestone not in self.paths:
                self.paths[milestone] = self._path(frame)

    @staticmethod
    def _path(frame: FrameType | None) -> list[tuple[str, str]]:
        path: list[tuple[str, str]] = []
        while frame is not None:
            if file := file_of(frame):
                path.append((file, frame.f_code.co_name))
            frame = frame.f_back
        return path[::-1]

    @property
    def files(self) -> list[str]:
        """The files on all paths, in the order in which a run comes through them."""
        return list(dict.fromkeys(file for path in self.paths.values() for file, _ in path))


def trace() -> MainLine:
    """Run the command in this process and return its main line."""
    line = MainLine()
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["formalimg", *COMMAND, "--runs", folder]
        threading.setprofile(line.observe)
        sys.setprofile(line.observe)
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return line


if __name__ == "__main__":
    stacks = "--stacks" in sys.argv
    found = trace()
    print(f"\n{len(found.files)} files on the main line of `formalimg {' '.join(COMMAND)}`:")
    for number, name in enumerate(found.files, 1):
        print(f"{number:4} {name}")
    for missed in set(MILESTONES.values()) - set(found.paths):
        print(f"not seen: {missed}")
    for milestone, path in found.paths.items() if stacks else ():
        print(f"\n{milestone}:")
        for file, function in path:
            print(f"    {file}: {function}")
