"""Entry point for `python -m formalimg`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the current folder is data: nothing is imported from it from here on

from formalimg.cli import main

if __name__ == "__main__":  # processes that make items import this file again
    main()
