"""Text readers: the strings that an image shows, with their boxes."""
