"""`python -m formalimg`."""

from formalimg.cli import main

if __name__ == "__main__":  # processes that make items import this file again
    main()
