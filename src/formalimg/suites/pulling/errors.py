"""What goes wrong while pulling."""

from formalimg.errors import FormalimgError


class PullError(FormalimgError):
    """Data that could not be brought here, or that was refused; nothing was written."""

    def __init__(self, message: str) -> None:
        # Messages quote names out of archives and answers of servers, which can hold anything.
        shown = "".join(character if character.isprintable() else "·" for character in message)
        super().__init__(shown if len(shown) <= 500 else f"{shown[:250]}…{shown[-250:]}")
