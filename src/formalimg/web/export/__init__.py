"""The viewer as a static site: the pages of its application, written to a folder with links between files."""
