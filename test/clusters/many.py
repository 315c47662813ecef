"""A launcher: `many.py WORLD SCRIPT ARGUMENTS...` runs a script as so many ranks, and ends when all of them have.

It imports torch once and forks, so that a test does not wait for as many imports as there are ranks.
"""

import os
import runpy
import sys

import torch.distributed  # noqa: F401


def be_rank(number, world):
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(world))
    sys.argv = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


def main():
    world = int(sys.argv[1])
    ranks = []
    for number in range(world):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                be_rank(number, world)
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                os._exit(status)
        ranks.append(pid)
    return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in ranks)


if __name__ == "__main__":
    sys.exit(main())
