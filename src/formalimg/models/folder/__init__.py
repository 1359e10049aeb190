"""Premade images: a folder or a map of files in place of an image model."""
