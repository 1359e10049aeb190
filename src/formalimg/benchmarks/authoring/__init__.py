"""Authoring: items written by a chat model, accepted only if they pass every check."""
