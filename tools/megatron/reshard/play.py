"""Plays a plan: MEGATRON=FOLDER python3 play.py PLAN.json OUT [PHASE...]; FOLDER holds megatron/core.

A phase is `save`, `load`, or the number of a segment of the plan's paths; without any, pairs alone are played. Every
rank is a process, forked after the imports, which take longer than all else. Of a plan for training's own functions
(`"training": true`) each layout and each pair has processes of its own, as many beside each other as RANKS allows.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

# looking for a GPU in the usual way would make it unusable for the forked ranks
ALONE = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
os.environ.update({**ALONE, "RANK": "0", "WORLD_SIZE": "1"})

# of a plan, and of a job of it, in seconds
LIMIT, JOB_LIMIT = float(os.environ.get("LIMIT", "3600")), float(os.environ.get("JOB_LIMIT", "3600"))
RANKS = int(os.environ.get("RANKS", "8"))


class Unit(NamedTuple):
    """What the ranks of one start play: a phase, of one layout or of all of a world."""

    phase: str
    world: int
    plan: dict[str, Any]
    name: str


def units(phase: str, plan: dict[str, Any]) -> list[Unit]:
    layouts: dict[str, Any] = plan["layouts"]
    if plan.get("training") and phase == "save":
        return [
            Unit(phase, layout["world"], {**plan, "layouts": {name: layout}}, f"{phase}-{name}")
            for name, layout in layouts.items()
        ]
    if plan.get("training"):
        return [
            Unit(phase, layouts[pair["to"]]["world"], {**plan, "pairs": [pair]}, f"{phase}-{pair['from']}-{pair['to']}")
            for pair in plan["pairs"]
        ]
    worlds = sorted({layout.get("world", 8) for layout in layouts.values()})
    return [Unit(phase, world, plan, f"{phase}-{world}") for world in worlds]


def start(player: Any, rank: int, unit: Unit, out: Path) -> int:
    """Forks a rank; returns its process."""
    child = os.fork()
    if child:
        return child
    log = os.open(out / f"{unit.name}-{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(unit.world)})
    player.start(rank, unit.world)
    status = 1
    try:
        player.run(unit.phase, unit.plan, out, f"file://{(out / f'rendezvous-{unit.name}').resolve()}")
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)


def play(player: Any, waiting: list[Unit], out: Path) -> bool:
    """Plays units beside each other; whether all of them ended well."""
    until, well = time.monotonic() + LIMIT, True
    running: dict[int, tuple[Unit, float]] = {}
    while waiting or running:
        while waiting and (not running or len(running) + waiting[0].world <= RANKS):
            unit = waiting.pop(0)
            # what a run before this one has left would not let the ranks meet
            (out / f"rendezvous-{unit.name}").unlink(missing_ok=True)
            ends = min(until, time.monotonic() + JOB_LIMIT)
            running.update({start(player, rank, unit, out): (unit, ends) for rank in range(unit.world)})
        ended, status = os.waitpid(-1, os.WNOHANG)
        failed = {running.pop(ended)[0].name} if ended and status else set()
        running.pop(ended, None)
        failed |= {unit.name for unit, ends in running.values() if time.monotonic() > ends}
        for name in failed:
            well = False
            print(f"{name} failed: {out}/{name}-*.log", file=sys.stderr, flush=True)
        for process, (unit, _) in list(running.items()):
            if unit.name in failed:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                del running[process]
        if time.monotonic() > until:
            waiting = []
        time.sleep(0.02)
    return well


def main() -> None:
    plan, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    player = importlib.import_module("fsdp" if plan.get("training") else "pairs")
    well = [play(player, units(phase, plan), out) for phase in sys.argv[3:] or ["save", "load"]]
    sys.exit(not all(well))


if __name__ == "__main__":
    main()
