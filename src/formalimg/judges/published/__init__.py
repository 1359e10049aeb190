"""Judges that ask and score as the published scripts do: the protocols `published`, `paper` and `official-code`."""
