"""`python -m interstellar` is the program `interstellar`."""

from interstellar.cli.app import main

main()
