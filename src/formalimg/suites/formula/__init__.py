"""FormalImg (Knolling and Natural): instructions as formulas, their synthesis, their English, and published files."""
