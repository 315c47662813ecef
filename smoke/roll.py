"""What the referee knows of every rank: who is at which step, and since when.

Each rank has a clock of its own. It runs while the rank imports torch, is between two steps, or is inside one, and it
stands while the rank waits at a gate for others: so the first clock that runs out is that of a rank that is to blame.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, Dict, Iterable, Iterator, List, Optional

from protocol import Group, Plan

#: Process states of Linux that explain a silence.
STATES = {"T": "stopped", "t": "stopped by a debugger", "D": "waiting in the kernel", "Z": "ended, not yet reaped"}


#: Steps that spares have no part in; ranks enter the first once all spares are gone.
OF_THE_ACTIVE = ("stay", "finish", "leave")

#: Steps that the members of one group take together.
OF_A_GROUP = ("run", "bandwidth", "overlap")


class Rank:
    """What the referee knows of one rank that has joined.

    `stage` is `joined`, `import`, `between` (after `step`), `gate` (of `step`), `inside` (`step`),
    `leaving` (a spare that has said so) or `left`.
    """

    def __init__(self, number: int, connection: Any, hello: Dict[str, Any]) -> None:
        self.number = number
        self.connection: Optional[Any] = connection
        self.host = str(hello.get("host", "?"))
        self.node = hello.get("node")
        self.local = int(hello.get("local") or 0)
        self.pid = int(hello.get("pid", 0))
        self.plan_digest = hello.get("plan")
        self.device: Optional[Dict[str, Any]] = None
        self.beat = time.monotonic()
        self.state = ""
        #: The innermost Python frames, once they were asked for and told.
        self.stack: Optional[List[str]] = None
        self.move("joined", "import")

    def move(self, stage: str, step: str) -> None:
        """The rank is somewhere else: its clock begins anew."""
        self.stage, self.step, self.since = stage, step, time.monotonic()

    def condition(self) -> str:
        """What the kernel says of the process, where that explains something; else nothing."""
        why = STATES.get(self.state)
        return " (process %s)" % why if why else ""


class Roll:
    """All ranks of a plan, and the steps that they take together."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ranks: Dict[int, Rank] = {}
        self._active = plan.active()
        self._holders = [plan.holders(place) for place in range(len(plan.sequences))]
        self._came: Dict[str, int] = {}
        self._done: Dict[str, List[Dict[str, Any]]] = {}

    def __iter__(self) -> Iterator[Rank]:
        return iter(self.ranks.values())

    def complete(self) -> bool:
        """Whether every rank has joined."""
        return len(self.ranks) == self.plan.world_size

    def missing(self) -> List[int]:
        """The ranks that have not joined."""
        return [number for number in range(self.plan.world_size) if number not in self.ranks]

    def connected(self) -> List[Rank]:
        """The ranks whose connection is open."""
        return [rank for rank in self if rank.connection is not None]

    # ---- steps

    def group_of(self, step: str) -> Optional[Group]:
        """The group that a step tries; None for a step of all."""
        kind, _, index = step.partition(":")
        return self.plan.groups[int(index)] if kind in OF_A_GROUP else None

    def family_of(self, step: str) -> Optional[List[Group]]:
        """The family of groups that a step creates; None for another step."""
        kind, _, index = step.partition(":")
        return self.plan.families[int(index)] if kind == "create" else None

    def sequence_of(self, step: str) -> Optional[int]:
        """The place of the sequence that a step gathers; None for another step."""
        kind, _, index = step.partition(":")
        return int(index) if kind == "sequence" else None

    def members(self, step: str) -> List[Rank]:
        """Those who take a step together."""
        group, sequence = self.group_of(step), self.sequence_of(step)
        if group:
            return [self.ranks[number] for number in group.ranks]
        if sequence is not None:
            return [self.ranks[number] for number in self._holders[sequence]]
        return [self.ranks[number] for number in self._active] if step in OF_THE_ACTIVE else list(self)

    def _count(self, step: str) -> int:
        """How many take a step together: asked for with every message of a rank, so no list is made."""
        group, sequence = self.group_of(step), self.sequence_of(step)
        if group:
            return len(group.ranks)
        if sequence is not None:
            return len(self._holders[sequence])
        return len(self._active) if step in OF_THE_ACTIVE else len(self.ranks)

    def title(self, step: str) -> str:
        """How messages call a step."""
        group, family = self.group_of(step), self.family_of(step)
        if group:
            return group.label()
        if family:
            of = "" if family[0].module is None else " of %s" % family[0].module
            return "the creation of the %s groups%s" % (family[0].name, of)
        sequence = self.sequence_of(step)
        if sequence is not None:
            return self.plan.sequences[sequence].label()
        if step in ("spares", "stay"):
            return "the leaving of the spares"
        return {"import": "the import of torch", "init": "init_process_group", "finish": "the end", "leave": "the end"}[step]

    def steps(self, number: int) -> List[str]:
        """The steps of a rank, in order."""
        return self._steps[number]

    @cached_property
    def _steps(self) -> List[List[str]]:
        """The steps of every rank, in one pass over the members of all groups: a world may have many."""
        plan, everyone = self.plan, range(self.plan.world_size)
        creations = ["create:%d" % place for place in range(len(plan.families))]
        steps = [["import", "init", *creations] for _ in everyone]

        def add(step: str, ranks: Iterable[int]) -> None:
            for rank in ranks:
                steps[rank].append(step)

        def add_runs(check: Optional[str]) -> None:
            for group in plan.groups:
                if len(group.ranks) > 1 and group.check == check:
                    add("run:%d" % group.index, group.ranks)

        add_runs(None)
        for group in plan.swept():
            add("bandwidth:%d" % group.index, group.ranks)
        for index in plan.overlap:
            add("overlap:%d" % index, plan.groups[index].ranks)
        for place, holders in enumerate(self._holders):
            add("sequence:%d" % place, holders)
        if plan.spares:
            add("spares", everyone)
            add("stay", everyone)
            add_runs("ntp")
        add("finish", everyone)
        add("leave", everyone)
        return steps

    def due(self, rank: Rank) -> str:
        """The step that a rank is in, or at the gate of, or owes next."""
        if rank.stage != "between":
            return rank.step
        steps = self.steps(rank.number)
        return steps[min(steps.index(rank.step) + 1, len(steps) - 1)]

    def waiting(self, step: str) -> List[int]:
        """Those who wait at the gate of a step."""
        return sorted(rank.number for rank in self if rank.stage == "gate" and rank.step == step)

    def arrive(self, rank: Rank, step: str) -> List[Rank]:
        """A rank is at a gate: gives all members once they are complete, and lets them in."""
        rank.move("gate", step)
        self._came[step] = self._came.get(step, 0) + 1
        return self._open(step)

    def depart(self, rank: Rank) -> List[Rank]:
        """A spare is gone: gives those who waited for all spares to go, once they are complete."""
        rank.move("left", "stay")
        return self._open("stay")

    def _open(self, step: str) -> List[Rank]:
        if self._came.get(step, 0) < self._count(step):
            return []
        if step == "stay" and any(self.ranks[spare].stage != "left" for spare in self.plan.spares):
            return []
        members = self.members(step)
        for member in members:
            member.move("inside", step)
        return members

    def leave(self, rank: Rank, step: str, message: Dict[str, Any]) -> Optional[List[Dict[str, Any]]]:
        """A rank has done a step: gives what all members said of it once they all have."""
        rank.move("between", step)
        done = self._done.setdefault(step, [])
        done.append(message)
        return done if len(done) == self._count(step) else None

    # ---- clocks

    def limit(self, rank: Rank) -> Optional[float]:
        """Seconds that a rank may be where it is; None where it waits for others."""
        limits = self.plan.limits
        if rank.stage == "import":
            return limits["import"]
        if rank.stage in ("between", "leaving"):
            return limits["gate"]
        if rank.stage != "inside":
            return None
        group, family = self.group_of(rank.step), self.family_of(rank.step)
        if group:
            return self.plan.operation_limit(rank.step.partition(":")[0])
        return self.plan.creation_limit(family) if family else limits["operation"]

    def late(self, now: float) -> Optional[Rank]:
        """A rank whose clock has run out."""
        for rank in self:
            limit = self.limit(rank)
            if limit is not None and now - rank.since > limit:
                return rank
        return None

    def involved(self, rank: Rank) -> List[Rank]:
        """Those whose stacks tell why a rank is late: itself, and whoever is in the same step."""
        if rank.stage != "inside":
            return [rank]
        return [other for other in self.members(rank.step) if other.stage == "inside" and other.step == rank.step]

    def place(self, number: int) -> str:
        """Where a rank was seen last, with its host."""
        rank = self.ranks.get(number)
        if rank is None:
            return "never joined"
        words = {
            "joined": "joined",
            "import": "importing torch",
            "between": "on the way to %s",
            "gate": "at the gate of %s",
            "inside": "in %s",
            "leaving": "leaving as a spare",
            "left": "at the end",
        }[rank.stage]
        where = words % self.title(self.due(rank)) if "%s" in words else words
        return "%s, %s%s" % (rank.host, where, rank.condition())
