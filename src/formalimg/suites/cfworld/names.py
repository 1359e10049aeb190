"""What CF-World and its probes are called."""

from __future__ import annotations

CF_WORLD = "cf-world"
CF_WORLD_RULES = "cf-world-rules"
CF_WORLD_ATTRIBUTES = "cf-world-attributes"
CF_WORLD_DENOMINALISED = "cf-world-denominalised"

CF_WORLD_SUITES = (CF_WORLD, CF_WORLD_RULES, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED)
"""The benchmark itself, and its probes."""

TAGGED_BY_FIELD = (CF_WORLD, CF_WORLD_DENOMINALISED)
"""Those whose tags are fields of knowledge. The tags of changed rules say how they are changed."""
