"""Authoring: items written by a chat model, of which only those that pass every check are kept."""
