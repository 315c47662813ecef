"""What the referee, the ranks and the launcher of a smoke job agree on: the plan, the exit codes and the framing."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

#: Version of the plan and of the event stream.
VERSION = 1

#: What the referee answers to a rank that it takes in.
WELCOME = b"\n"

#: A link that moves less than this many bytes a second counts as stuck.
SLOWEST_LINK = 100e6

#: Seconds that creating one group may add to the limit of creating its family.
SLOWEST_CREATION = 1.0

#: No line of the event stream is longer, in bytes: srun breaks longer ones.
MAX_LINE = 1023

#: The exit status of the job for each verdict.
EXITS = {
    "ok": 0,
    "join_timeout": 10,
    "plan_mismatch": 11,
    "rank_lost": 12,
    "rank_error": 13,
    "gate_timeout": 14,
    "op_timeout": 15,
    "wrong_data": 16,
    "rank_silent": 17,
    "device_clash": 18,
    "total_timeout": 19,
    "cancelled": 143,
}

#: The checks that this version of the job has.
CHECKS = ("groups", "collectives", "bandwidth", "all_gather_overlap", "sequence", "ntp")

#: Payloads of the check `bandwidth`, in bytes, where the plan names none.
SWEEP = [1 << 20, 16 << 20, 64 << 20]

#: Exit status for arguments or a plan that cannot be used.
USAGE = 64

#: Seconds that each phase may take, where the plan says nothing else.
LIMITS = {"join": 30.0, "import": 120.0, "gate": 15.0, "operation": 20.0, "beat": 15.0, "total": 300.0}


@dataclass(frozen=True)
class Group:
    """One process group of the plan: its place in the order of creation, its family, and its global ranks."""

    index: int
    name: str
    module: Optional[str]
    place: int
    ranks: List[int]
    #: The check that the group is made for; None for a group of the layout.
    check: Optional[str] = None

    def label(self) -> str:
        """How messages call the group: `tp group 1 of language [6, 7]`."""
        of = "" if self.module is None else " of %s" % self.module
        return "%s group %d%s %s" % (self.name, self.place, of, shown(self.ranks))


@dataclass(frozen=True)
class Share:
    """The token positions that one rank of a replica holds, as half-open ranges in the order in which it holds them."""

    cp_rank: int
    tp_rank: int
    ranges: List[List[int]]


@dataclass(frozen=True)
class Sequence:
    """How one module spreads a sequence of `length` tokens; `gather` names the groups that join it again, in order."""

    module: Optional[str]
    length: int
    gather: List[str]
    shares: List[Share]

    def label(self) -> str:
        """How messages call the sequence."""
        of = "" if self.module is None else " of %s" % self.module
        return "the sequence of %d tokens%s" % (self.length, of)


@dataclass(frozen=True)
class Plan:
    """What the engine wrote for the job. The job decides nothing about layouts beyond it."""

    name: str
    world_size: int
    backend: str
    groups: List[Group]
    families: List[List[Group]]
    checks: List[str]
    payload_bytes: int
    sweep_bytes: List[int]
    iterations: int
    limits: Dict[str, float]
    #: For `all_gather_overlap`: groups, each with another one of the same ranks.
    overlap: Dict[int, int]
    sequences: List[Sequence]
    #: Ranks that leave after the groups are made; `None` without nonuniform TP, empty where only active ranks are launched.
    spares: Optional[List[int]]

    def digest(self) -> str:
        """A short digest of the groups in their order, and of all that ranks must agree on: others must not go on."""
        groups = [[g.name, g.module, g.ranks] for g in self.groups]
        settings = [self.payload_bytes, self.sweep_bytes, self.iterations, sorted(self.overlap.items()), self.spares]
        settings += [[one.module, one.length, one.gather, [share.ranges for share in one.shares]] for one in self.sequences]
        return digest([groups, self.world_size, self.backend, self.checks, settings])

    def operation_limit(self, kind: str = "run") -> float:
        """Seconds that a step of one group may take: at least the plan's limit, more for many bytes."""
        moved = sum(self.sweep_bytes) if kind == "bandwidth" else self.payload_bytes
        return self.limits["operation"] + 3 * moved * (self.iterations + 2) / SLOWEST_LINK

    def group_with(self, name: str, module: Optional[str], rank: int) -> Optional[Group]:
        """The layout's group of a name that a rank is in."""
        fits = (group for group in self.groups if (group.name, group.module, group.check) == (name, module, None))
        return next((group for group in fits if rank in group.ranks), None)

    def active(self) -> List[int]:
        """The ranks that stay to the end."""
        leaving = set(self.spares or ())
        return [rank for rank in range(self.world_size) if rank not in leaving]

    def holders(self, place: int) -> List[int]:
        """The ranks that hold parts of the sequence at `place`: all of its module."""
        module = self.sequences[place].module
        return sorted({rank for group in self.groups if (group.name, group.module) == ("tp", module) for rank in group.ranks})

    def swept(self) -> List[Group]:
        """The groups whose bandwidth is measured at every payload: of each family the first that moves anything."""
        if "bandwidth" not in self.checks:
            return []
        moving = ([group for group in family if len(group.ranks) > 1 and group.check is None] for family in self.families)
        return [groups[0] for groups in moving if groups]

    def creation_limit(self, family: List[Group]) -> float:
        """Seconds that creating the groups of a family may take."""
        return self.limits["operation"] + SLOWEST_CREATION * len(family)


class PlanError(ValueError):
    """The plan cannot be used; the message says why."""


def load_plan(path: str) -> Plan:
    """Reads a plan written by the engine; one whose name ends in .gz is compressed.

    Raises PlanError where the file is not a plan of this version or names ranks outside the world.
    """
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            data = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise PlanError("cannot read the plan %s: %s" % (path, error)) from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise PlanError("the plan %s is not of version %d" % (path, VERSION))
    try:
        return _plan(data)
    except (KeyError, TypeError) as error:
        raise PlanError("the plan %s lacks %s" % (path, error)) from error


def _plan(data: Dict[str, Any]) -> Plan:
    world = int(data["world_size"])
    families: List[List[Group]] = []
    groups: List[Group] = []
    for family in data["groups"]:
        members = []
        for place, ranks in enumerate(family["ranks"]):
            if not ranks or len(set(ranks)) != len(ranks) or not all(0 <= rank < world for rank in ranks):
                raise PlanError("group %s has ranks %s in a world of %d" % (family["name"], ranks, world))
            members.append(Group(len(groups) + len(members), family["name"], family.get("module"), place, list(ranks), family.get("check")))
        groups += members
        families.append(members)
    return Plan(
        name=str(data.get("name", "layout")),
        world_size=world,
        backend=str(data.get("backend", "auto")),
        groups=groups,
        families=families,
        checks=list(data.get("checks", ["groups", "collectives"])),
        payload_bytes=int(data.get("payload_bytes") or 1 << 20),
        sweep_bytes=[int(size) for size in data.get("sweep_bytes", SWEEP)],
        iterations=int(data.get("iterations", 5)),
        limits={**LIMITS, **{key: float(value) for key, value in data.get("limits", {}).items()}},
        overlap={int(pair["group"]): int(pair["other"]) for pair in data.get("overlap", [])},
        sequences=[_sequence(one) for one in data.get("sequence", [])],
        spares=sorted(data["spares"]) if "spares" in data else None,
    )


def _sequence(data: Dict[str, Any]) -> Sequence:
    shares = [Share(int(one["cp_rank"]), int(one["tp_rank"]), one["ranges"]) for one in data["shares"]]
    return Sequence(data["module"], int(data["length"]), list(data["gather"]), shares)


def digest(value: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]


def shown(ranks: List[int], most: int = 8) -> str:
    """A list of ranks, cut where it is long."""
    text = ", ".join(str(rank) for rank in ranks[:most])
    return "[%s%s]" % (text, ", ... %d in all" % len(ranks) if len(ranks) > most else "")


def send(sock: socket.socket, **message: Any) -> None:
    """Sends one message as a line of JSON."""
    sock.sendall((json.dumps(message, separators=(",", ":")) + "\n").encode())


class Lines:
    """Cuts a stream of bytes into messages, one JSON value a line; what is no JSON is passed over."""

    def __init__(self, most: int = 64 << 20) -> None:
        self._rest = b""
        self._most = most

    def feed(self, data: bytes) -> Iterator[Dict[str, Any]]:
        """The messages that these bytes complete. Raises ValueError where a line grows beyond reason."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > self._most:
            raise ValueError("a line of more than %d bytes" % self._most)
        for line in whole:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                yield message
