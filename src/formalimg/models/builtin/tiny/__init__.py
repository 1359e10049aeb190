"""The tiny baseline: a learned text-to-image model that runs with numpy alone.

A *planner* turns the prompt into a layout, a *painter* turns the layout into pixels. Both are flow-matching
transformers; `training/` has the code that trains them.
"""
