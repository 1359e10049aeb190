"""Base classes for errors that users can fix."""


class FormalimgError(Exception):
    """A mistake in what was given to us; the message says what to do next.

    The command line prints it without a traceback and exits with code 2. Anything else that is
    raised is a bug of ours and keeps its traceback.
    """


class OverBudgetError(FormalimgError):
    """The budget was exhausted before the run finished; paid results are stored."""
