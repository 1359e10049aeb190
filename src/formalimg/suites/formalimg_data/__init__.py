"""FormalImg's items on disk: the published folders, and our own lines of JSON."""
