"""Plays a plan: MEGATRON=FOLDER python3 play.py PLAN.json OUT [PHASE...]; FOLDER holds megatron/core.

A phase is `save`, `load`, or the number of a segment of the plan's paths; without any, pairs alone are played. Every
rank is a process, forked after the imports, which take longer than all else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

os.environ.update({"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "RANK": "0", "WORLD_SIZE": "1"})

import pairs

LIMIT = float(os.environ.get("LIMIT", "3600"))


def start(rank: int, world: int, phase: str, plan: Path, out: Path) -> int:
    """Forks a rank; returns its process."""
    child = os.fork()
    if child:
        return child
    log = os.open(out / f"{phase}-{world}-{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(world)})
    pairs.RANK, pairs.WORLD = rank, world
    status = 1
    try:
        pairs.run(phase, json.loads(plan.read_text()), out)
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)


def main() -> None:
    plan, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    worlds = sorted({layout.get("world", 8) for layout in json.loads(plan.read_text())["layouts"].values()})
    until, failed = time.monotonic() + LIMIT, False
    for phase in sys.argv[3:] or ["save", "load"]:
        for world in worlds:
            # what a run before this one has left would not let the ranks meet
            (out / f"rendezvous-{phase}-{world}").unlink(missing_ok=True)
            ranks = {start(rank, world, phase, plan, out) for rank in range(world)}
            while ranks:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if ended:
                    ranks.discard(ended)
                if status or time.monotonic() > until:
                    failed = True
                    print(f"{phase} with {world} ranks failed: {out}/{phase}-{world}-*.log", file=sys.stderr)
                    for rank in ranks:
                        os.kill(rank, signal.SIGKILL)
                        os.waitpid(rank, 0)
                    ranks = set()
                time.sleep(0.02)
    sys.exit(failed)


if __name__ == "__main__":
    main()
