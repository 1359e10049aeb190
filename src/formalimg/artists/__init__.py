"""Artists: image models inside the package, that need no weights. They mark the floor, the middle and the ceiling."""

from formalimg.artists.opening import ARTISTS, open_artist

__all__ = ["ARTISTS", "open_artist"]
