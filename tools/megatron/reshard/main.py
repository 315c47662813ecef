"""Starts `pairs.py`: the processes that write a checkpoint import this file again, and must not become ranks."""

if __name__ == "__main__":
    from pairs import main

    main()
