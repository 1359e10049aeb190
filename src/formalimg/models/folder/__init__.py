"""Premade images: a folder or an image map used as an image model."""
