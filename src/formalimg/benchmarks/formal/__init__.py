"""FormalImg (Knolling and Natural): instructions as formulas, judged by logic or clause by clause.

In the order of the paper: `spec` (what an item asks for), `synthesis/` (how items are made), `published` (the authors'
files), `judge` and `evaluator` (how images are judged, by default and as published), `tables`,
`figures`, `export`; besides, `texts` (listings and counts) and `authoring/` (items by chat models).
"""
