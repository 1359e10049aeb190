"""The viewer: pages for runs, galleries, single images and comparisons."""
