"""Edit distance of two strings."""

from __future__ import annotations


def edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance between two strings, using Myers' bit-parallel algorithm."""
    if not first:
        return len(second)
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    positions: dict[str, int] = {}
    for index, character in enumerate(first):
        positions[character] = positions.get(character, 0) | 1 << index
    distance, plus, minus = len(first), full, 0
    for character in second:
        equal = positions.get(character, 0)
        vertical = equal | minus
        horizontal = (((equal & plus) + plus) ^ plus) | equal
        up = minus | (full & ~(horizontal | plus))
        down = plus & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1) | 1, down << 1
        plus = (down | ~(vertical | up)) & full
        minus = up & vertical & full
    return distance
