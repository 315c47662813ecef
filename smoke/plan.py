"""The plan of a smoke job: what the engine wrote for it. The job knows nothing about layouts beyond it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

#: Version of the plan that this job reads (schemas/smoke-plan.schema.json).
VERSION = 1

#: A plan is never read beyond this size, in bytes after decompression.
MAX_PLAN_BYTES = 512 << 20

#: Beyond every number that means something; also keeps infinities and NaN out.
LARGEST_NUMBER = 1e300

#: A link that moves less than this many bytes a second counts as stuck.
SLOWEST_LINK = 100e6

#: Seconds that creating one group may add to the limit of creating its family.
SLOWEST_CREATION = 1.0

#: Payloads of the check `bandwidth`, in bytes, where the plan names none.
SWEEP = [1 << 20, 16 << 20, 64 << 20]

#: Seconds that each phase may take, where the plan says nothing else.
LIMITS = {"join": 30.0, "import": 120.0, "gate": 15.0, "operation": 20.0, "beat": 15.0, "total": 300.0}


@dataclass(frozen=True)
class Group:
    """One process group of the plan: its index in the order of creation, its family, and its global ranks."""

    index: int
    name: str
    module: Optional[str]
    #: The index of the group in its family.
    place: int
    ranks: List[int]
    #: The check that the group is made for; None for a group of the layout.
    check: Optional[str] = None

    def label(self) -> str:
        """How messages name the group: `tp group 1 of language [6, 7]`."""
        of = "" if self.module is None else " of %s" % self.module
        return "%s group %d%s %s" % (self.name, self.place, of, list_ranks(self.ranks))


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
        """How messages name the sequence."""
        of = "" if self.module is None else " of %s" % self.module
        return "the sequence of %d tokens%s" % (self.length, of)


@dataclass(frozen=True)
class Plan:
    """What the engine wrote for the job."""

    name: str
    world_size: int
    #: `nccl`, `gloo`, or `auto`: NCCL where torch sees a GPU.
    backend: str
    groups: List[Group]
    families: List[List[Group]]
    checks: List[str]
    payload_bytes: int
    sweep_bytes: List[int]
    iterations: int
    #: Seconds, by phase.
    limits: Dict[str, float]
    #: For `all_gather_overlap`: the index of a group, with that of another one of the same ranks.
    overlap: Dict[int, int]
    sequences: List[Sequence]
    #: Ranks that leave after the groups are made; `None` without nonuniform TP, empty where only active ranks are launched.
    spares: Optional[List[int]]

    def digest(self) -> str:
        """A short digest of the groups in their order, and of all settings that ranks must agree on."""
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

    Raises PlanError where the file is not a plan of this version, or is inconsistent.
    """
    try:
        data = json.loads(_read(path))
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise PlanError("cannot read the plan %s: %s" % (path, error)) from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise PlanError("the plan %s is not of version %d" % (path, VERSION))
    try:
        return _plan(data)
    except PlanError as error:
        raise PlanError("the plan %s cannot be used: %s" % (path, error)) from error


def _read(path: str) -> bytes:
    """The bytes of a regular file, decompressed. Raises OSError or ValueError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file")
        data = (gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file).read(MAX_PLAN_BYTES + 1)
    if len(data) > MAX_PLAN_BYTES:
        raise ValueError("more than %d bytes" % MAX_PLAN_BYTES)
    return data


def _plan(data: Dict[str, Any]) -> Plan:
    world = whole(data, "world_size", least=1)
    families = _families(items(data, "groups"), world)
    groups = [group for family in families for group in family]
    spares = whole_numbers(data, "spares", below=world) if "spares" in data else None
    if spares is not None and len(set(spares)) == world:
        raise PlanError("every rank is a spare")
    return Plan(
        name=text(data, "name", "layout"),
        world_size=world,
        backend=text(data, "backend", "auto"),
        groups=groups,
        families=families,
        checks=texts(data, "checks") if "checks" in data else ["groups", "collectives"],
        payload_bytes=whole(data, "payload_bytes", least=1, default=1 << 20),
        sweep_bytes=whole_numbers(data, "sweep_bytes", least=1) if "sweep_bytes" in data else SWEEP,
        iterations=whole(data, "iterations", least=1, default=5),
        limits={**LIMITS, **_limits(data.get("limits", {}))},
        overlap=_overlap(data, groups),
        sequences=[_sequence(one, families) for one in items(data, "sequence", [])],
        spares=sorted(set(spares)) if spares is not None else None,
    )


def _families(data: List[Any], world: int) -> List[List[Group]]:
    families: List[List[Group]] = []
    count = 0
    for one in data:
        family = table(one, "a family of groups")
        name, module, check = text(family, "name"), optional_text(family, "module"), optional_text(family, "check")
        members = []
        for place, ranks in enumerate(items(family, "ranks")):
            if not _are_ranks(ranks, world):
                raise PlanError("group %s has ranks %.200s in a world of %d" % (name, ranks, world))
            members.append(Group(count + place, name, module, place, ranks, check))
        count += len(members)
        if members:
            families.append(members)
    return families


def _are_ranks(value: Any, world: int) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(type(rank) is int and 0 <= rank < world for rank in value) and len(set(value)) == len(value)


def _limits(value: Any) -> Dict[str, float]:
    limits = table(value, "limits")
    for name, seconds in limits.items():
        if not is_number(seconds) or seconds < 0:
            raise PlanError("the limit %s is %.200r" % (name, seconds))
    return {name: float(seconds) for name, seconds in limits.items()}


def _overlap(data: Dict[str, Any], groups: List[Group]) -> Dict[int, int]:
    pairs = [table(one, "a pair of `overlap`") for one in items(data, "overlap", [])]
    return {whole(pair, "group", below=len(groups)): whole(pair, "other", below=len(groups)) for pair in pairs}


def _sequence(value: Any, families: List[List[Group]]) -> Sequence:
    data = table(value, "a sequence")
    length = whole(data, "length")
    sequence = Sequence(
        module=optional_text(data, "module"),
        length=length,
        gather=texts(data, "gather"),
        shares=[_share(one, length) for one in items(data, "shares")],
    )
    owned = {(share.cp_rank, share.tp_rank) for share in sequence.shares}
    if set(sequence.gather) - {"tp", "cp"}:
        raise PlanError("a sequence is gathered over %s; only tp and cp can be" % ", ".join(sequence.gather)[:200])
    size = {name: _size(families, name, sequence.module) for name in ("tp", "cp")}
    if not owned >= {(cp, tp) for cp in range(size["cp"]) for tp in range(size["tp"])}:
        raise PlanError("the shares of %s are not those of tp %d x cp %d" % (sequence.label(), size["tp"], size["cp"]))
    return sequence


def _size(families: List[List[Group]], name: str, module: Optional[str]) -> int:
    """The most ranks of a module's group of a name."""
    sizes = [len(group.ranks) for family in families for group in family if (group.name, group.module, group.check) == (name, module, None)]
    return max(sizes, default=1)


def _share(value: Any, length: int) -> Share:
    data = table(value, "a share of a sequence")
    ranges = items(data, "ranges")
    for one in ranges:
        if not isinstance(one, list) or [type(end) for end in one] != [int, int] or not 0 <= one[0] <= one[1] <= length:
            raise PlanError("a range of a sequence is %.200r" % (one,))
    return Share(whole(data, "cp_rank"), whole(data, "tp_rank"), ranges)


# ---- values of JSON, checked


def table(value: Any, what: str) -> Dict[str, Any]:
    """A value that must be an object. Raises PlanError."""
    if not isinstance(value, dict):
        raise PlanError("%s is no object" % what)
    return value


def items(data: Dict[str, Any], key: str, default: Optional[List[Any]] = None) -> List[Any]:
    """A field that must be a list. Raises PlanError."""
    value = data.get(key, default)
    if not isinstance(value, list):
        raise PlanError("`%s` is no list" % key)
    return value


def text(data: Dict[str, Any], key: str, default: Optional[str] = None) -> str:
    """A field that must be a text. Raises PlanError."""
    value = data.get(key, default)
    if not isinstance(value, str):
        raise PlanError("`%s` is no text" % key)
    return value


def optional_text(data: Dict[str, Any], key: str) -> Optional[str]:
    """A field that must be a text where there is one. Raises PlanError."""
    return None if data.get(key) is None else text(data, key)


def texts(data: Dict[str, Any], key: str) -> List[str]:
    """A field that must be a list of texts. Raises PlanError."""
    values = items(data, key)
    if not all(isinstance(value, str) for value in values):
        raise PlanError("`%s` holds more than texts" % key)
    return values


def whole(data: Dict[str, Any], key: str, least: int = 0, below: Optional[int] = None, default: Optional[int] = None) -> int:
    """A field that must be a whole number within bounds. Raises PlanError."""
    value = data.get(key, default)
    if type(value) is not int or value < least or (below is not None and value >= below):
        raise PlanError("`%s` is %.200r" % (key, value))
    return value


def whole_numbers(data: Dict[str, Any], key: str, least: int = 0, below: Optional[int] = None) -> List[int]:
    """A field that must be a list of whole numbers within bounds. Raises PlanError."""
    values = items(data, key)
    if not all(type(value) is int and value >= least and (below is None or value < below) for value in values):
        raise PlanError("`%s` is %.200r" % (key, values))
    return values


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no boolean."""
    return type(value) in (int, float) and abs(value) < LARGEST_NUMBER


def digest(value: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]


def list_ranks(ranks: List[int], most: int = 8) -> str:
    """A list of ranks, cut where it is long."""
    shown = ", ".join(str(rank) for rank in ranks[:most])
    return "[%s%s]" % (shown, ", ... %d in all" % len(ranks) if len(ranks) > most else "")
