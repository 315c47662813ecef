"""Who is at fault: the signs that ranks give, the clocks that run out, and the fault that explains them."""

from __future__ import annotations

import time
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from plan import Group, Plan, list_ranks
from registry import STATES, Rank, RankRegistry

#: How long ranks have to answer with their stacks, in seconds.
STACKS = 2.0

#: How long the first sign of a fault waits for others that explain it, in seconds.
CAUSE = 1.0

#: How long a launcher may take to end after one of its ranks has failed, in seconds.
LAUNCHER = 5.0

#: Files of the innermost frame of a rank that merely waits for others: in torch, or where the job calls it.
LIBRARY = ("distributed_c10d", "c10d_logger", "collectives.py", "__init__.py")


class Fault(NamedTuple):
    """A verdict other than success, with the fields of its event."""

    code: str
    fields: Dict[str, Any]


class Starter(Protocol):
    """What started the ranks, all of them or those of this machine."""

    #: Whether all its ranks are ended when one of them fails, so that the first to be missed need not be the cause.
    ends_together: bool

    def starts(self, rank: int) -> bool:
        """Whether it started this rank itself, and so will know how it ended."""

    def fate(self, rank: int) -> Optional[str]:
        """How a rank's process ended, such as `was killed (signal 9)`; None while that is unknown."""

    def unable(self, missing: List[int]) -> Optional[Tuple[List[int], str]]:
        """Those of the missing ranks that can no longer come, and why; None where all still may."""

    def stop(self, passed: bool) -> List[int]:
        """Ends everything that it started; the ids of processes that would not end."""


class Machine:
    """A machine whose ranks the referee has not started itself."""

    def __init__(self, host: str, ranks: List[int]) -> None:
        self.host = host
        self.ranks = ranks
        #: How ranks ended, such as `exited with status 1`.
        self.fates: Dict[int, str] = {}


class Judge:
    """Collects the signs of a fault and decides what they mean."""

    def __init__(self, plan: Plan, registry: RankRegistry, starter: Starter, machines: List[Machine]) -> None:
        """Starts the clocks; `starter` has started the ranks of this machine, and `machines` lists the others as they come."""
        self._plan = plan
        self._registry = registry
        self._starter = starter
        self._began = time.monotonic()
        self._first_unable: Optional[float] = None
        self._machines = machines
        # what may be the signs of one fault, by kind: when, and from whom
        self._lost: List[Tuple[float, Rank]] = []
        self._wrong: List[Tuple[float, Rank, List[int], str]] = []
        self._errors: List[Tuple[float, Rank, str]] = []
        self._inquiry: Optional[Tuple[Rank, List[Rank], float]] = None

    # ---- signs

    def lost(self, rank: Rank) -> None:
        """A rank's connection has closed before its end."""
        self._lost.append((time.monotonic(), rank))

    def wrong(self, rank: Rank, suspect: List[int], message: str) -> None:
        """A rank received wrong data; `suspect` lists whose."""
        self._wrong.append((time.monotonic(), rank, suspect, message))

    def error(self, rank: Rank, message: str) -> None:
        """A rank failed with an error."""
        self._errors.append((time.monotonic(), rank, message))

    # ---- verdicts

    def look(self) -> Optional[Fault]:
        """The fault, if there is one by now: signs of one come first, then clocks. Looks at every rank."""
        now = time.monotonic()
        for judge in (self._judge_signs, self._judge_stuck, self._judge_beats, self._judge_join, self._judge_total):
            fault = judge(now)
            if fault is not None:
                return fault
        return None

    def fault_of(self, code: str, rank: Rank, **fields: Any) -> Fault:
        """A fault for which one rank is named, with the group that it is at."""
        return Fault(code, {"rank": rank.number, "host": rank.host, **fields, **self.at(rank)})

    def at(self, rank: Rank) -> Dict[str, Any]:
        """The fields that name the group (or the family of groups) that a rank is at."""
        step = self._registry.due(rank)
        group, family = self._registry.group_of(step), self._registry.family_of(step)
        if group:
            return group_fields(group)
        sequence = self._registry.sequence_of(step)
        if sequence is not None:
            return {"kind": "cp", "module": self._plan.sequences[sequence].module}
        return {"kind": family[0].name, "module": family[0].module} if family else {}

    def _judge_signs(self, now: float) -> Optional[Fault]:
        """The first sign is often not the cause: a death shows as its neighbours' errors before its connection closes."""
        if self._lost:
            return self._judge_lost(now)
        if self._wrong:
            return self._wrong_data() if now - self._wrong[0][0] > CAUSE else None
        if self._errors and now - self._errors[0][0] > self._stale():
            return self._judge_error(now)
        return None

    def _stale(self) -> float:
        """A rank whose helper has not beaten for so long is behind by several beats. Seconds."""
        return self._plan.limits["beat"] / 3

    def _judge_lost(self, now: float) -> Optional[Fault]:
        """A launcher that fails ends all its ranks: then the cause is a rank that never joined."""
        since, rank = self._lost[0]
        if self._registry.missing():
            fault = self._unable(now)
            if fault is not None or now - since < (LAUNCHER if self._starter.ends_together else CAUSE):
                return fault
        fate = self._fate(rank.number)
        if fate is None and self._starter.starts(rank.number) and now - since < CAUSE:
            return None
        return self._rank_lost(rank, fate or "ended, or lost its connection")

    def _fate(self, rank: int) -> Optional[str]:
        """How a rank ended, where that is known."""
        known = (machine.fates.get(rank) for machine in self._machines)
        return self._starter.fate(rank) or next((fate for fate in known if fate is not None), None)

    def _rank_lost(self, rank: Rank, fate: str) -> Fault:
        step = self._registry.due(rank)
        group = self._registry.group_of(step)
        waiting = group.ranks if group and rank.stage == "inside" else self._registry.waiting(step)
        return self.fault_of(
            "rank_lost",
            rank,
            waiting=[other for other in waiting if other != rank.number] or None,
            msg="Rank %d on %s %s. It was %s." % (rank.number, rank.host, fate, self._registry.whereabouts(rank)),
        )

    def _wrong_data(self) -> Fault:
        """All members see a wrong sum; those that know whose part was wrong say so."""
        _, rank, _, message = next((sign for sign in self._wrong if sign[2]), self._wrong[0])
        suspect = sorted({number for _, _, numbers, _ in self._wrong for number in numbers})
        blamed = "Rank(s) %s sent wrong data" % list_ranks(suspect) if suspect else "Wrong data of an unknown rank"
        return Fault(
            "wrong_data",
            {
                "suspect": suspect or None,
                "host": self._registry.ranks[suspect[0]].host if suspect else None,
                "waiting": sorted(reporter.number for _, reporter, _, _ in self._wrong),
                "msg": "%s in %s: rank %d saw that %s." % (blamed, self._registry.title(self._registry.step(rank)), rank.number, message),
                **self.at(rank),
            },
        )

    def _judge_error(self, now: float) -> Fault:
        """The first error, unless some machine fell silent before it."""
        _, rank, message = self._errors[0]
        silent = [other for other in self._registry if other.stage != "left" and now - other.beat > self._stale()]
        if silent:
            return self._silent(silent[0], now, " Then rank %d saw: %s" % (rank.number, message))
        title = self._registry.title(self._registry.due(rank))
        return self.fault_of("rank_error", rank, msg="Rank %d on %s, %s: %s" % (rank.number, rank.host, title, message))

    def _silent(self, rank: Rank, now: float, echo: str) -> Fault:
        place = self._registry.place(rank.number)
        return self.fault_of("rank_silent", rank, msg="Rank %d gave no sign for %.0f s: %s.%s" % (rank.number, now - rank.beat, place, echo))

    def _judge_stuck(self, now: float) -> Optional[Fault]:
        """When a clock has run out, asks for stacks; once they are in, says who is stuck and where."""
        if self._inquiry is None:
            late = self._registry.late(now)
            if late is not None:
                asked = self._registry.involved(late)
                self._ask_for_stacks(asked)
                self._inquiry = (late, asked, now + STACKS)
            return None
        late, asked, until = self._inquiry
        if now <= until and any(rank.owes_stack for rank in asked):
            return None
        return self._stuck_inside(late) if late.stage == "inside" else self._absent(late)

    @staticmethod
    def _ask_for_stacks(ranks: List[Rank]) -> None:
        for rank in ranks:
            if rank.connection is not None:
                rank.owes_stack = True
                rank.connection.send(cmd="stack")

    def _absent(self, rank: Rank) -> Fault:
        """A rank that does not come to a gate, or does not get through importing torch."""
        step, place = self._registry.due(rank), self._registry.place(rank.number)
        limit = self._registry.limit(rank) or 0
        return Fault(
            "gate_timeout",
            {
                "missing": [rank.number],
                "host": rank.host,
                "waiting": self._registry.waiting(step),
                "where": {str(rank.number): place},
                "stacks": stacks([rank]),
                "msg": "Rank %d did not come to %s within %g s: %s." % (rank.number, self._registry.title(step), limit, place),
                **self.at(rank),
            },
        )

    def _stuck_inside(self, late: Rank) -> Fault:
        """A step that all members entered, and not all left."""
        step = self._registry.step(late)
        inside = self._registry.inside(step)
        odd = odd_ones(inside)
        numbers, blamed = sorted(rank.number for rank in inside), [rank.number for rank in odd]
        other = "; rank(s) %s hold the others up" % list_ranks(blamed) if odd else ""
        shown, limit = list_ranks(numbers), self._registry.limit(late) or 0
        return Fault(
            "op_timeout",
            {
                "suspect": blamed or None,
                "host": odd[0].host if odd else None,
                "waiting": [number for number in numbers if number not in blamed],
                "where": {str(rank.number): self._registry.place(rank.number) for rank in (odd or inside)[:8]},
                "stacks": stacks(inside),
                "msg": "All members entered %s, but rank(s) %s did not come out within %g s%s." % (self._registry.title(step), shown, limit, other),
                **self.at(late),
            },
        )

    def _judge_beats(self, now: float) -> Optional[Fault]:
        for rank in self._registry:
            if rank.stage != "left" and rank.connection is not None and now - rank.beat > self._plan.limits["beat"]:
                return self._silent(rank, now, "")
        return None

    # ---- ranks that do not join

    def _judge_join(self, now: float) -> Optional[Fault]:
        missing, limit = self._registry.missing(), self._plan.limits["join"]
        if not missing:
            return None
        fault = self._unable(now)
        if fault is not None or now - self._began <= limit:
            return fault
        count = (self._plan.world_size - len(missing), self._plan.world_size)
        text = "Rank(s) %s did not join within %g s; %d of %d did.%s" % (list_ranks(missing), limit, *count, self._started_on(missing))
        return Fault("join_timeout", {"missing": missing, "msg": text})

    def _unable(self, now: float) -> Optional[Fault]:
        """Ranks that can no longer join. Those that fail for one reason do so together, so the first is given a moment."""
        fault = self._cannot_join()
        if fault is None:
            return None
        self._first_unable = self._first_unable or now
        return fault if now - self._first_unable > CAUSE else None

    def _cannot_join(self) -> Optional[Fault]:
        missing = self._registry.missing()
        unable = self._starter.unable(missing)
        if unable is not None:
            return Fault("join_timeout", {"missing": unable[0], "msg": unable[1]})
        for machine in self._machines:
            lost = [number for number in machine.ranks if number in missing and number in machine.fates]
            if lost:
                text = "Rank(s) %s on %s %s before joining." % (list_ranks(lost), machine.host, machine.fates[lost[0]])
                return Fault("join_timeout", {"missing": lost, "host": machine.host, "msg": text})
        return None

    def _started_on(self, missing: List[int]) -> str:
        """On which machines missing ranks were started, where that is known."""
        mine = [(one.host, [number for number in one.ranks if number in missing]) for one in self._machines]
        hosts = ["%s on %s" % (list_ranks(ranks), host) for host, ranks in mine if ranks]
        return " Started: %s." % ", ".join(hosts[:4]) if hosts else ""

    def _judge_total(self, now: float) -> Optional[Fault]:
        limit = self._plan.limits["total"]
        if now - self._began <= limit:
            return None
        busy = [rank.number for rank in self._registry if rank.stage not in ("gate", "left")]
        where = {str(number): self._registry.place(number) for number in busy[:8]}
        return Fault("total_timeout", {"where": where, "msg": "The job took longer than %g s." % limit})


def group_fields(group: Group) -> Dict[str, Any]:
    """The fields that name a group in an event."""
    return {"group": group.index, "kind": group.name, "module": group.module, "idx": group.place, "ranks": group.ranks}


def plan_mismatch(plan: Plan, rank: Rank, got: List[List[Any]]) -> Fault:
    """What differs between the plan and the groups that a rank has: the first that is not as the layout has it."""
    want = [[group.name, group.module, group.ranks] for group in plan.groups]
    who = "Rank %d on %s" % (rank.number, rank.host)
    if want == got:
        return Fault("plan_mismatch", {"rank": rank.number, "host": rank.host, "msg": "%s has the same groups, but other settings of the job." % who})
    at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
    ours = want[at] if at < len(want) else None
    theirs = got[at] if at < len(got) else None
    same = sorted(map(repr, want)) == sorted(map(repr, got))
    how = "the same groups in another order" if same else "another list of groups"
    text = "%s would create %s as group %d where the layout has %s: %s." % (who, describe(theirs), at, describe(ours), how)
    fields = {"rank": rank.number, "host": rank.host, "want": ours, "got": theirs, "msg": text}
    return Fault("plan_mismatch", {**fields, **(group_fields(plan.groups[at]) if ours else {})})


def describe(group: Optional[Sequence[Any]]) -> str:
    """How messages name a group that is given as name, module and ranks."""
    if group is None:
        return "none"
    name, module, ranks = group
    return "%.200s%s %s" % (name, "" if module is None else " of %.200s" % module, list_ranks(ranks))


def is_group(value: Any) -> bool:
    """Whether a value of a message is a group as `describe` reads it."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    name, module, ranks = value
    return isinstance(name, str) and isinstance(module, (str, type(None))) and isinstance(ranks, list) and all(type(rank) is int for rank in ranks)


def odd_ones(inside: List[Rank]) -> List[Rank]:
    """Those who hold the others up: a stopped process, else one that does not answer, else one outside the library."""
    stopped = [rank for rank in inside if rank.state in STATES]
    mute = [rank for rank in inside if not rank.stack]
    elsewhere = [rank for rank in inside if rank.stack and not rank.stack[0].startswith(LIBRARY)]
    for odd in (stopped, mute, elsewhere):
        if odd:
            return odd if len(odd) < len(inside) else []
    return []


def stacks(ranks: List[Rank]) -> List[Tuple[str, List[int]]]:
    """The innermost frames with the ranks that are there, the most frequent first."""
    where: Dict[str, List[int]] = {}
    for rank in ranks:
        frames = rank.stack or ["no answer"]
        top = STATES.get(rank.state, frames[0])
        where.setdefault(top, []).append(rank.number)
    return sorted(where.items(), key=lambda item: -len(item[1]))
