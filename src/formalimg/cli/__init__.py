"""The command line, with one module per command that wraps the library.

Exit codes of every command: 0 success, or the formula holds; 1 problems found, it does not hold, or nothing was made or
scored; 2 wrong usage or unreadable input; 130 interrupted or over budget.

This module and what it imports stay tiny, so that Ctrl-C is handled from the first milliseconds on.
"""

import sys

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from formalimg.cli.commands import COMMANDS, app

__all__ = ["COMMANDS", "app", "main"]

__getattr__, __dir__ = lazy_exports(__name__)

STOPPED = "stopped; nothing is half-written, and the same command starts again"
"""What a command prints that was interrupted, unless it knows better."""


def main() -> None:
    """Run the command line. User errors print a message and exit with code 2. Bugs show a traceback."""
    try:
        from formalimg.cli.application import run_application

        run_application()
    except KeyboardInterrupt:
        if sys.stderr:
            sys.stderr.write(f"{STOPPED}\n")
        _end_process(130)
        sys.exit(130)
    except SystemExit as ending:
        _end_process(ending.code)
        raise


def _end_process(code: object) -> None:
    """Exit immediately if a stopped command has left local model work running."""
    pools = sys.modules.get("formalimg.models.local.device_pool")
    if pools is None or not pools.has_work_under_way():
        return
    import os

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody may be there to read it
            continue
    os._exit(code if isinstance(code, int) else 1)
