"""`python -m fathom` is the command `fathom`."""

from fathom.cli import main

main()
