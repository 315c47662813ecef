"""What the referee knows of every rank: which step it is at, and since when.

Each rank has a clock of its own. The clock runs while the rank imports torch, is between two steps, or is inside one; it
stops while the rank waits at a gate for others. So the first clock that runs out belongs to a rank at fault.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, Iterable, Iterator, List, Optional

from connections import Connection
from plan import Group, Plan
from protocol import MessageError, optional_text_of, text_of, whole_of

#: Process states of Linux that explain a silence.
STATES = {"T": "stopped", "t": "stopped by a debugger", "D": "waiting in the kernel", "Z": "ended, not yet reaped"}

#: Steps that spares have no part in; ranks enter the first once all spares are gone.
OF_THE_ACTIVE = ("stay", "finish", "leave")

#: Steps that the members of one group take together.
OF_A_GROUP = ("run", "bandwidth", "overlap")


@dataclass(frozen=True)
class Device:
    """What a rank runs on."""

    name: str
    #: Identifies a GPU on its host; None on a CPU.
    unique: Optional[str]
    #: Versions of torch, of the backend and of its library.
    software: str


class Rank:
    """What the referee knows of one rank that has joined.

    `stage` is `joined`, `import`, `between` (after the step at `position`), `gate` (of that step), `inside` (it),
    `leaving` (a spare that has said so) or `left`.
    """

    def __init__(self, number: int, connection: Connection, hello: Dict[str, Any]) -> None:
        """Reads the first message of a rank. Raises MessageError."""
        self.number = number
        self.connection: Optional[Connection] = connection
        self.host = text_of(hello, "host")
        self.node = optional_text_of(hello, "node")
        self.local = whole_of(hello, "local")
        self.pid = whole_of(hello, "pid")
        self.plan_digest = text_of(hello, "plan")
        self.device: Optional[Device] = None
        #: Whether the referee has asked for the rank's plan, or for its stack.
        self.owes_plan = self.owes_stack = False
        self.beat = time.monotonic()
        self.state = ""
        #: The innermost Python frames, once they were asked for and told.
        self.stack: Optional[List[str]] = None
        self.move("joined", 0)

    def move(self, stage: str, position: int) -> None:
        """Notes where the rank is now, as an index into its steps, and restarts its clock."""
        self.stage, self.position, self.since = stage, position, time.monotonic()

    def condition(self) -> str:
        """The state of the process, where that explains a silence; else nothing."""
        why = STATES.get(self.state)
        return " (process %s)" % why if why else ""


class RankRegistry:
    """All ranks of a plan, and the steps that they take together."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ranks: Dict[int, Rank] = {}
        self._active = plan.active()
        self._holders = [plan.holders(place) for place in range(len(plan.sequences))]
        self._came: Dict[str, int] = {}
        self._done: Dict[str, List[Any]] = {}

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
        """How many take a step together: needed for every message of a rank, so it makes no list."""
        group, sequence = self.group_of(step), self.sequence_of(step)
        if group:
            return len(group.ranks)
        if sequence is not None:
            return len(self._holders[sequence])
        return len(self._active) if step in OF_THE_ACTIVE else len(self.ranks)

    def title(self, step: str) -> str:
        """How messages name a step."""
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
            return "the exit of the spares"
        return {"import": "the import of torch", "init": "init_process_group", "finish": "the end", "leave": "the end"}[step]

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

    def step(self, rank: Rank) -> str:
        """The step that a rank is at: in it, at its gate, or just past it."""
        return self._steps[rank.number][rank.position]

    def due(self, rank: Rank) -> str:
        """The step that a rank is in, or at the gate of, or must come to next."""
        steps = self._steps[rank.number]
        return steps[min(rank.position + 1, len(steps) - 1)] if rank.stage == "between" else steps[rank.position]

    def waiting(self, step: str) -> List[int]:
        """Those who wait at the gate of a step."""
        return sorted(rank.number for rank in self if rank.stage == "gate" and self.step(rank) == step)

    def arrive(self, rank: Rank, step: str) -> List[Rank]:
        """Notes a rank at the gate of a step; all members of the step once the last has come, who may enter.

        Raises MessageError where the rank must come to another step.
        """
        if rank.stage != "between" or step != self.due(rank):
            raise MessageError("it came to the gate of %.200r, not of %s" % (step, self.due(rank)))
        rank.move("gate", rank.position + 1)
        self._came[step] = self._came.get(step, 0) + 1
        return self._open(step)

    def depart(self, rank: Rank) -> List[Rank]:
        """Notes that a spare is gone; those who waited for all spares to go, once they are complete."""
        rank.move("left", rank.position)
        return self._open("stay")

    def _open(self, step: str) -> List[Rank]:
        if self._came.get(step, 0) < self._count(step):
            return []
        if step == "stay" and any(self.ranks[spare].stage != "left" for spare in self.plan.spares or ()):
            return []
        members = self.members(step)
        for member in members:
            member.move("inside", member.position)
        return members

    def leave(self, rank: Rank, step: str, message: Any) -> Optional[List[Any]]:
        """Notes that a rank has done a step; what all members said of it, once the last has.

        Raises MessageError where the rank is not in that step.
        """
        if rank.stage != "inside" or step != self.step(rank):
            raise MessageError("it left %.200r while %s in %s" % (step, rank.stage, self.step(rank)))
        rank.move("between", rank.position)
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
        step = self.step(rank)
        group, family = self.group_of(step), self.family_of(step)
        if group:
            return self.plan.operation_limit(step.partition(":")[0])
        return self.plan.creation_limit(family) if family else limits["operation"]

    def late(self, now: float) -> Optional[Rank]:
        """A rank whose clock has run out."""
        for rank in self:
            limit = self.limit(rank)
            if limit is not None and now - rank.since > limit:
                return rank
        return None

    def involved(self, rank: Rank) -> List[Rank]:
        """Those whose stacks tell why a rank is late: itself, and all who are in the same step."""
        return self.inside(self.step(rank)) if rank.stage == "inside" else [rank]

    def inside(self, step: str) -> List[Rank]:
        """Those who are in a step."""
        return [rank for rank in self.members(step) if rank.stage == "inside" and self.step(rank) == step]

    def place(self, number: int) -> str:
        """Where a rank was seen last, with its host."""
        rank = self.ranks.get(number)
        return "never joined" if rank is None else "%s, %s" % (rank.host, self.whereabouts(rank))

    def whereabouts(self, rank: Rank) -> str:
        """Where a rank was seen last: `importing torch`, `in tp group 0 [0, 1]`."""
        words = {
            "joined": "joined",
            "import": "importing torch",
            "between": "on the way to %s",
            "gate": "at the gate of %s",
            "inside": "in %s",
            "leaving": "leaving as a spare",
            "left": "past the end",
        }[rank.stage]
        where = words % self.title(self.due(rank)) if "%s" in words else words
        return where + rank.condition()
