"""Static export of the viewer: its pages written to a folder, with links between files."""
