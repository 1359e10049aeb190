"""Base classes for errors that users can fix."""


class FormalimgError(Exception):
    """An error that the user can fix; the message says what to do next.

    The command line prints it without a traceback and exits with code 2. Any other exception is a bug and keeps its
    traceback.
    """


class OverBudgetError(FormalimgError):
    """The budget was exhausted before the run finished; paid results are stored."""
