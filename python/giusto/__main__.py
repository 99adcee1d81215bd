"""`python -m giusto` is the command `giusto`."""

from giusto.cli import main

if __name__ == "__main__":
    main()
