"""What the ranks measured, as events: of each group the slowest member's times, and of each check its outcome."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from events import EventWriter
from plan import Group, Plan
from protocol import CHECKS
from verdicts import group_fields

#: The share of the moved bytes that crosses the bus, by operation, for n ranks (as nccl-tests counts).
BUS_FACTORS: Dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "send_recv": lambda n: 1.0,
}

#: The shortest time that is believed, in milliseconds.
SHORTEST = 1e-6

#: Why a check had nothing to do.
NOTHING = {
    "bandwidth": "No group has more than one rank.",
    "ntp": "The layout has no nonuniform TP that removes ranks.",
    "sequence": "The plan has no token positions: the layout has no `sequence` with `seq_length`, or packs nonuniform TP.",
    "all_gather_overlap": "No data-parallel group (dp_cp) has more than one rank.",
}

#: What one rank measured: milliseconds and bytes (or why it was skipped), by operation.
Timings = Dict[str, Dict[str, Any]]


class Measurements:
    """Writes the events of groups and checks that passed, and of checks that were skipped."""

    def __init__(self, plan: Plan, events: EventWriter) -> None:
        self._plan = plan
        self._events = events
        self._reported: Set[str] = set()
        self._replaced = 0

    def group_passed(self, group: Group, ms: Sequence[float], timed: Sequence[Timings]) -> None:
        """All members of a group have tried it."""
        if group.check == "ntp":
            self._replaced += 1
            return
        fields = group_fields(group)
        self._events.emit("group", ok=True, ms=round(max(ms), 3), ops=slowest(timed, len(group.ranks)), **fields)

    def swept(self, group: Group, sweeps: Sequence[Sequence[Timings]]) -> None:
        """All members of a group have measured it at every payload."""
        for timed in zip(*sweeps):
            self._passed("bandwidth", ops=slowest(timed, len(group.ranks)), **group_fields(group))

    def overlapped(self, group: Group, times: Sequence[Optional[List[float]]]) -> None:
        """All members of a group have timed all_gather beside reduce_scatter: in one communicator, and in two. Milliseconds."""
        measured = [pair for pair in times if pair is not None]
        if len(measured) < len(times):
            self._skip("all_gather_overlap", "Not measured: gloo runs collectives on the CPU, where none overlaps another.", group)
            return
        one, two = (round(max(column), 4) for column in zip(*measured))
        ratio = round(one / max(two, SHORTEST), 3)
        message = "all_gather beside reduce_scatter in %s: %g ms in one communicator, %g ms in two: %g times as fast"
        self._passed("all_gather_overlap", ratio=ratio, msg=message % (group.label(), one, two, ratio), **group_fields(group))

    def gathered(self, place: int) -> None:
        """All holders of the sequence at `place` have joined it."""
        sequence = self._plan.sequences[place]
        message = "%s, gathered over %s: every position exactly once" % (sequence.label(), " and ".join(sequence.gather))
        self._passed("sequence", msg=message)

    def finish(self) -> None:
        """Reports nonuniform TP, and every check that had nothing to do or that this version does not have."""
        spares = self._plan.spares
        if spares:
            counts = (len(spares), self._replaced)
            self._passed("ntp", msg="spares that left: %d; replacement groups that passed without them: %d" % counts)
        elif spares is not None:
            self._passed("ntp", msg="only the active ranks were launched, so no rank had to leave; their groups passed")
        for name in self._plan.checks:
            if name not in CHECKS:
                self._skip(name, "This version of the job does not have it.")
            elif name in NOTHING and name not in self._reported:
                self._skip(name, NOTHING[name])

    def _passed(self, check: str, **fields: Any) -> None:
        self._reported.add(check)
        self._events.emit("check", name=check, ok=True, **fields)

    def _skip(self, check: str, why: str, group: Optional[Group] = None) -> None:
        self._reported.add(check)
        self._events.emit("check", name=check, ok=False, skipped=why, **(group_fields(group) if group else {}))


def slowest(timed: Sequence[Timings], size: int) -> Dict[str, Dict[str, Any]]:
    """The slowest member's time for each operation of a group of so many ranks, and the bandwidth that it means."""
    result: Dict[str, Dict[str, Any]] = {}
    for name, first in timed[0].items():
        if "skipped" in first:
            result[name] = first
            continue
        ms = max(one[name]["ms"] for one in timed if "ms" in one.get(name, {}))
        bandwidth = first["bytes"] * BUS_FACTORS[name](size) / max(ms, SHORTEST) / 1e6
        result[name] = {"bytes": first["bytes"], "ms": round(ms, 4), "busGBs": round(bandwidth, 3)}
    return result
