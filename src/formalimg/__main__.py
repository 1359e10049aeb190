"""`python -m formalimg`."""

from formalimg.cli import main

main()
