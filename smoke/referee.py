"""The referee of a smoke job: a process outside the collectives that knows who is where, and so can say who is at fault.

It compares every rank's plan before anything is created, lets ranks enter each step together, watches the clocks, asks
for stacks when a step is stuck, names the fault, and ends everyone. It needs the standard library only.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import resource
import selectors
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, TextIO, Tuple

from events import EventWriter
from protocol import CHECKS, EXITS, VERSION, WELCOME, Group, Lines, Plan, send, shown
from roll import STATES, Rank, Roll

#: How long ranks have to end by themselves after a verdict, in seconds.
GRACE = 4.0

#: How long ranks have to answer with their stacks, in seconds.
STACKS = 2.0

#: How long the first sign of a fault waits for others that explain it, in seconds.
CAUSE = 1.0

#: How long a launcher may take to end after one of its ranks has failed, in seconds.
LAUNCHER = 5.0

#: How long a stranger may stay without a hello, in seconds.
HELLO = 10.0

#: Files that a process has open beside the lines to its ranks: more than a referee and a launcher ever need.
OWN_FILES = 256

#: Seconds between two looks for a fault.
PAUSE = 0.05

#: The shortest time between two events of a phase that goes on, in seconds.
PROGRESS = 1.0

#: The share of the moved bytes that crosses the bus, by operation, for n ranks (as nccl-tests counts).
BUS_FACTORS: Dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "send_recv": lambda n: 1.0,
}

#: Why a check had nothing to do.
NOTHING = {
    "bandwidth": "No group has more than one rank.",
    "ntp": "The layout has no nonuniform TP that removes ranks.",
    "sequence": "The plan has no token positions: the layout has no `sequence` with `seq_length`, or packs nonuniform TP.",
    "all_gather_overlap": "No data-parallel group (dp_cp) has more than one rank.",
}

#: Where the innermost frame of a rank lies while it merely waits for others: in torch, or where the job calls it.
LIBRARY = ("distributed_c10d", "c10d_logger", "collectives.py", "__init__.py")

#: A sign of a fault: when, from whom, and what they said.
Sign = Tuple[float, Rank, Dict[str, Any]]


class Machine:
    """A machine whose launcher the referee has not started itself: its ranks, and how its launcher ended."""

    def __init__(self, hello: Dict[str, Any]) -> None:
        self.host = str(hello.get("host", "?"))
        self.ranks = [int(number) for number in hello.get("ranks", [])]
        self.fate: Optional[str] = None


class Connection:
    """A socket, and the rank or the machine that it turned out to belong to."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.lines = Lines()
        self.rank: Optional[Rank] = None
        self.machine: Optional[Machine] = None
        self.since = time.monotonic()


class Referee:
    """Follows one run of a plan from the first rank that joins to the verdict."""

    def __init__(self, plan: Plan, out: TextIO, token: str, job: str, bind: str, tether: Optional[TextIO] = None, port: int = 0) -> None:
        """Listens on the address `bind`, at a port of the system's choice unless told. The end of the pipe `tether` cancels the run."""
        self._plan = plan
        self._token = token
        self._job = job
        self._events = EventWriter(out)
        self._roll = Roll(plan)
        self._verdict: Optional[str] = None
        self._told: Set[str] = set()
        self._replaced = 0
        self._strangers: List[Connection] = []
        self._machines: List[Machine] = []
        self._store: Dict[str, Any] = {}
        self._phase_began = self._progressed = time.monotonic()
        self._judged = 0.0
        # what may be the signs of one fault, by kind
        self._lost: List[Sign] = []
        self._wrong: List[Sign] = []
        self._errors: List[Sign] = []
        self._inquiry: Optional[Tuple[Rank, List[Rank], float]] = None
        self._launcher: Callable[[], Optional[int]] = lambda: None
        allow_files(plan.world_size + OWN_FILES)
        self._selector = selectors.DefaultSelector()
        listener = socket.create_server((bind, port), backlog=1024)
        self._selector.register(listener, selectors.EVENT_READ, lambda: self._accept(listener))
        if tether is not None:
            self._selector.register(tether, selectors.EVENT_READ, lambda: self._pull(tether))
        self.port: int = listener.getsockname()[1]

    # ---- the run

    def serve(self, launcher: Callable[[], Optional[int]], clear: Callable[[bool], List[int]]) -> int:
        """Runs to the verdict and gives the exit status.

        `launcher` gives the exit status of the launcher of the ranks, or None while it runs. `clear` ends everything that
        is left of it, given whether the run passed, and gives the ids of processes that would not end.
        """
        self._launcher = launcher
        self._emit(
            "start",
            version=VERSION,
            job=self._job,
            world=self._plan.world_size,
            groups=len(self._plan.groups),
            layout=self._plan.name,
            wall=round(time.time(), 3),
            limits=self._plan.limits,
        )
        while self._verdict is None:
            self._read()
            self._judge()
        verdict = self._verdict
        if verdict != "ok":
            self._tell(self._roll.connected(), cmd="abort")
        until = time.monotonic() + GRACE
        while self._roll.connected() and time.monotonic() < until:
            self._read()
        left = clear(verdict == "ok")
        self._emit("end", ok=verdict == "ok", verdict=verdict, exit=EXITS[verdict], secs=self._events.seconds(), left=left or None)
        return EXITS[verdict]

    def cancel(self, why: str = "The job was told to stop.") -> None:
        """Ends the run because somebody asked for it."""
        self._fault("cancelled", msg=why)

    def _emit(self, event: str, **fields: Any) -> None:
        self._events.emit(event, **fields)

    def _phase(self, name: str, **fields: Any) -> None:
        """The end of a phase, with its milliseconds."""
        now = time.monotonic()
        self._emit("phase", name=name, ok=True, ms=round((now - self._phase_began) * 1e3, 1), **fields)
        self._phase_began = self._progressed = now

    def _fault(self, code: str, **fields: Any) -> None:
        """Says what went wrong, once: whatever follows is its echo."""
        if self._verdict is None:
            self._verdict = code
            self._emit("fault", code=code, exit=EXITS[code], **fields)

    def _fault_of(self, code: str, rank: Rank, **fields: Any) -> None:
        """A fault that one rank is named for, with the group that it is at."""
        self._fault(code, rank=rank.number, host=rank.host, **fields, **self._at(rank))

    def _at(self, rank: Rank) -> Dict[str, Any]:
        """The fields that name the group (or the family of groups) that a rank is at."""
        step = self._roll.due(rank)
        group, family = self._roll.group_of(step), self._roll.family_of(step)
        if group:
            return group_fields(group)
        sequence = self._roll.sequence_of(step)
        if sequence is not None:
            return {"kind": "cp", "module": self._plan.sequences[sequence].module}
        return {"kind": family[0].name, "module": family[0].module} if family else {}

    # ---- messages

    def _read(self) -> None:
        for key, _ in self._selector.select(0.1):
            if key.fileobj in self._selector.get_map():
                key.data()

    def _pull(self, tether: TextIO) -> None:
        if not os.read(tether.fileno(), 4096):
            self._selector.unregister(tether)
            self.cancel("Whoever started the job is gone.")

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:
            missing = self._roll.missing()
            self._fault("join_timeout", missing=missing, msg="The referee takes in no more ranks after %d: %s." % (len(self._roll.ranks), error))
            return
        sock.settimeout(5)
        connection = Connection(sock)
        self._strangers.append(connection)
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._receive(connection))

    def _receive(self, connection: Connection) -> None:
        try:
            data = connection.sock.recv(1 << 16)
            messages = list(connection.lines.feed(data)) if data else None
        except (OSError, ValueError):
            messages = None
        if messages is None:
            self._hang_up(connection)
            return
        for message in messages:
            if connection.machine is not None:
                self._on_machine(connection.machine, message)
            elif connection.rank is None:
                self._hello(connection, message)
            elif self._verdict is None:
                self._handle(connection.rank, message)

    def _hang_up(self, connection: Connection) -> None:
        self._selector.unregister(connection.sock)
        connection.sock.close()
        rank = connection.rank
        if rank is None:
            if connection.machine is None:
                self._strangers.remove(connection)
            elif connection.machine.fate is None:
                connection.machine.fate = "was lost"
            return
        rank.connection = None
        if rank.stage == "leaving":
            self._tell(self._roll.depart(rank), cmd="go", step="stay")
        elif rank.stage != "left":
            self._lost.append((time.monotonic(), rank, {}))

    def _hello(self, connection: Connection, message: Dict[str, Any]) -> None:
        number = message.get("rank")
        known_token = hmac.compare_digest(str(message.get("token")), self._token)
        if known_token and message.get("cmd") == "machine":
            connection.machine = Machine(message)
            self._machines.append(connection.machine)
            self._strangers.remove(connection)
            return
        genuine = known_token and message.get("cmd") == "hello"
        if not genuine or not isinstance(number, int) or self._verdict is not None:
            self._hang_up(connection)
            return
        known = self._roll.ranks.get(number)
        if known is not None:
            self._fault(
                "join_timeout",
                rank=number,
                host=known.host,
                msg="Two processes say that they are rank %d: %s pid %d and %s pid %s." % (number, known.host, known.pid, message.get("host"), message.get("pid")),
            )
            return
        if message.get("world") != self._plan.world_size or not 0 <= number < self._plan.world_size:
            self._fault(
                "plan_mismatch",
                rank=number,
                host=str(message.get("host")),
                msg="Rank %s was started in a world of %s; the layout has %d ranks." % (number, message.get("world"), self._plan.world_size),
            )
            return
        rank = Rank(number, connection, message)
        self._roll.ranks[number] = rank
        connection.rank = rank
        self._strangers.remove(connection)
        connection.sock.sendall(WELCOME)
        self._emit("rank", rank=number, host=rank.host, node=rank.node, local=rank.local, pid=rank.pid)
        if self._roll.complete():
            self._all_joined()

    def _on_machine(self, machine: Machine, message: Dict[str, Any]) -> None:
        if message.get("cmd") == "ended":
            machine.fate = "ended with status %s" % message.get("status")

    def _handle(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.beat = time.monotonic()
        handler = getattr(self, "_on_" + str(message.get("cmd")), None)
        if handler is not None:
            handler(rank, message)

    def _tell(self, ranks: List[Rank], **message: Any) -> None:
        for rank in ranks:
            if rank.connection is not None:
                try:
                    send(rank.connection.sock, **message)
                except OSError:
                    pass  # its end of the line is gone; the selector says so next

    # ---- steps

    def _all_joined(self) -> None:
        self._phase("join")
        digest = self._plan.digest()
        odd = [rank for rank in self._roll if rank.plan_digest != digest]
        if odd:
            self._tell([min(odd, key=lambda rank: rank.number)], cmd="plan")
            return
        self._phase("plan")
        for rank in self._roll:
            rank.move("import", "import")
        self._tell(list(self._roll), cmd="start")

    def _on_plan(self, rank: Rank, message: Dict[str, Any]) -> None:
        """A rank whose digest differs sends its groups: say the first that is not as the layout has it."""
        want = [[group.name, group.module, group.ranks] for group in self._plan.groups]
        got = message.get("groups", [])
        if want == got:
            self._fault("plan_mismatch", rank=rank.number, host=rank.host, msg="Rank %d on %s has the same groups, but other settings of the job." % (rank.number, rank.host))
            return
        at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        same = sorted(map(json.dumps, want)) == sorted(map(json.dumps, got))
        theirs = got[at] if at < len(got) else None
        ours = want[at] if at < len(want) else None
        self._fault(
            "plan_mismatch",
            rank=rank.number,
            host=rank.host,
            want=ours,
            got=theirs,
            msg="Rank %d on %s would create %s as group %d where the layout has %s: %s."
            % (rank.number, rank.host, said(theirs), at, said(ours), "the same groups in another order" if same else "another list of groups"),
            **(group_fields(self._plan.groups[at]) if ours else {}),
        )

    def _on_beat(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.state = str(message.get("state", ""))

    def _on_device(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.device = message
        rank.move("between", "import")
        if all(one.device for one in self._roll):
            self._all_devices()

    def _all_devices(self) -> None:
        software: Dict[str, List[int]] = {}
        devices: Dict[Tuple[str, str], List[int]] = {}
        for number, rank in sorted(self._roll.ranks.items()):
            device = rank.device or {}
            software.setdefault(str(device.get("software")), []).append(number)
            if device.get("unique"):
                devices.setdefault((rank.host, str(device["unique"])), []).append(number)
        for (host, unique), numbers in devices.items():
            if len(numbers) > 1:
                self._fault("device_clash", host=host, suspect=numbers, msg="Ranks %s share one GPU: %s on %s." % (shown(numbers), unique, host))
                return
        device = self._roll.ranks[0].device or {}
        mixed = "; ".join("%s: %s" % (version, shown(numbers)) for version, numbers in software.items())
        self._phase(
            "devices",
            device=device.get("name"),
            software=sorted(software),
            msg="The ranks run different software: %s" % mixed if len(software) > 1 else None,
        )

    def _on_store(self, rank: Rank, message: Dict[str, Any]) -> None:
        self._store = {"address": self._address_of(rank), "port": message["port"]}

    def _address_of(self, rank: Rank) -> str:
        """A rank's address as all others can reach it: not the loopback, where ranks of other hosts are there."""
        addresses = {other.connection.sock.getpeername()[0]: other.connection for other in self._roll if other.connection}
        far = [connection for address, connection in addresses.items() if not address.startswith("127.")]
        own = rank.connection.sock.getpeername()[0] if rank.connection else "127.0.0.1"
        # a rank on the loopback shares the referee's host, whose address the others have already found
        return far[0].sock.getsockname()[0] if own.startswith("127.") and far else own

    def _on_gate(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = str(message["step"])
        self._tell(self._roll.arrive(rank, step), cmd="go", step=step, **(self._store if step == "init" else {}))

    def _on_done(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = str(message["step"])
        done = self._roll.leave(rank, step, message)
        if done is None:
            return
        group, family = self._roll.group_of(step), self._roll.family_of(step)
        if group:
            self._tried(step, group, done)
        elif self._roll.sequence_of(step) is not None:
            self._passed("sequence", msg="%s, gathered over %s: every position exactly once" % self._gathered(step))
        elif family:
            self._created(family[-1].index + 1)
        elif step == "finish":
            self._reduced()
            memory = [one["bytes"] for one in done if one.get("bytes") is not None]
            self._phase("finish", bytes=max(memory) if memory else None)
            for name in self._plan.checks:
                if name not in CHECKS:
                    self._skip(name, "This version of the job does not have it.")
                elif name in NOTHING and name not in self._told:
                    self._skip(name, NOTHING[name])
        elif step not in ("spares", "stay"):
            self._phase(step)

    def _reduced(self) -> None:
        """Says what nonuniform TP came to."""
        spares = self._plan.spares
        if spares:
            counts = (len(spares), self._replaced)
            self._passed("ntp", msg="spares that left: %d; replacement groups that passed without them: %d" % counts)
        elif spares is not None:
            self._passed("ntp", msg="only the active ranks were launched, so nobody had to leave; their groups passed")

    def _gathered(self, step: str) -> Tuple[str, str]:
        sequence = self._plan.sequences[self._roll.sequence_of(step) or 0]
        return sequence.label(), " and ".join(sequence.gather)

    def _tried(self, step: str, group: Group, done: List[Dict[str, Any]]) -> None:
        """All members of a group have passed a step of it."""
        size = len(group.ranks)
        if step.startswith("bandwidth:"):
            for sweep in zip(*(one["sweep"] for one in done)):
                self._passed("bandwidth", ops=operations(sweep, size), **group_fields(group))
        elif group.check == "ntp":
            self._replaced += 1
        elif step.startswith("overlap:"):
            self._overlapped(group, done)
        else:
            ms = round(max(one["ms"] for one in done), 3)
            self._emit("group", ok=True, ms=ms, ops=operations([one["ops"] for one in done], size), **group_fields(group))

    def _overlapped(self, group: Group, done: List[Dict[str, Any]]) -> None:
        """The slowest member's times in one communicator and in two."""
        times = [one["times"] for one in done]
        if None in times:
            self._skip("all_gather_overlap", "Not measured: gloo runs collectives on the CPU, where none overlaps another.", group)
            return
        one, two = (round(max(column), 4) for column in zip(*times))
        ratio = round(one / two, 3)
        self._passed(
            "all_gather_overlap",
            ratio=ratio,
            msg="all_gather beside reduce_scatter in %s: %g ms in one communicator, %g ms in two: %g times as fast" % (group.label(), one, two, ratio),
            **group_fields(group),
        )

    def _passed(self, check: str, **fields: Any) -> None:
        self._told.add(check)
        self._emit("check", name=check, ok=True, **fields)

    def _skip(self, check: str, why: str, group: Optional[Group] = None) -> None:
        self._told.add(check)
        self._emit("check", name=check, ok=False, skipped=why, **(group_fields(group) if group else {}))

    def _created(self, count: int) -> None:
        """Creating many groups takes a while: say how far it is, but not too often."""
        every = len(self._plan.groups)
        if count == every:
            self._phase("create", done=count, of=every)
        elif time.monotonic() - self._progressed > PROGRESS:
            self._progressed = time.monotonic()
            self._emit("phase", name="create", ok=True, done=count, of=every)

    def _on_bye(self, rank: Rank, _: Dict[str, Any]) -> None:
        if rank.number in (self._plan.spares or []):
            rank.move("leaving", "stay")
            return
        rank.move("left", "leave")
        if all(one.stage == "left" for one in self._roll) and self._verdict is None:
            self._verdict = "ok"

    def _on_stack(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.state = str(message.get("state", ""))
        rank.stack = [str(frame) for frame in message.get("stack", [])]

    def _on_wrong(self, rank: Rank, message: Dict[str, Any]) -> None:
        self._wrong.append((time.monotonic(), rank, message))

    def _on_error(self, rank: Rank, message: Dict[str, Any]) -> None:
        self._errors.append((time.monotonic(), rank, message))

    # ---- what goes wrong

    def _judge(self) -> None:
        """Looks for a fault: signs of one first, then clocks. Every rank is looked at, so not after every message."""
        now = time.monotonic()
        if now < self._judged + PAUSE:
            return
        for stranger in [one for one in self._strangers if now - one.since > HELLO]:
            self._hang_up(stranger)
        for judge in (self._judge_signs, self._judge_stuck, self._judge_beats, self._judge_join, self._judge_total):
            if self._verdict is None:
                judge(now)
        self._judged = time.monotonic()

    def _judge_signs(self, now: float) -> None:
        """The first sign is often not the cause: a death shows as its neighbours' errors before its line closes."""
        if self._lost:
            self._judge_lost(now)
        elif self._wrong:
            if now - self._wrong[0][0] > CAUSE:
                self._judge_wrong()
        elif self._errors and now - self._errors[0][0] > self._stale():
            self._judge_error(now)

    def _stale(self) -> float:
        """A rank whose helper has not beaten for so long is behind by several beats. Seconds."""
        return self._plan.limits["beat"] / 3

    def _judge_lost(self, now: float) -> None:
        """A launcher that fails ends all its ranks: then the cause is a rank that never joined."""
        since, rank, _ = self._lost[0]
        if self._roll.missing():
            if self._launcher() is None and now - since < LAUNCHER:
                return
            if self._launcher() is not None:
                self._launcher_ended()
                return
        step = self._roll.due(rank)
        group = self._roll.group_of(step)
        waiting = group.ranks if group and rank.stage == "inside" else self._roll.waiting(step)
        self._fault_of(
            "rank_lost",
            rank,
            waiting=[other for other in waiting if other != rank.number] or None,
            msg="Rank %d on %s ended without a word. It was %s." % (rank.number, rank.host, self._roll.place(rank.number).partition(", ")[2]),
        )

    def _judge_wrong(self) -> None:
        """Everyone sees a wrong sum; whoever knows whose part was wrong says so."""
        _, rank, message = next((sign for sign in self._wrong if sign[2].get("suspect")), self._wrong[0])
        suspect = sorted({number for _, _, one in self._wrong for number in one.get("suspect") or []})
        blamed = "Rank(s) %s sent wrong data" % shown(suspect) if suspect else "Wrong data, and no telling whose"
        self._fault(
            "wrong_data",
            suspect=suspect or None,
            host=self._roll.ranks[suspect[0]].host if suspect else None,
            waiting=sorted(reporter.number for _, reporter, _ in self._wrong),
            msg="%s in %s: rank %d saw that %s." % (blamed, self._roll.title(rank.step), rank.number, message.get("msg")),
            **self._at(rank),
        )

    def _judge_error(self, now: float) -> None:
        """The first error, unless some machine fell silent before it."""
        _, rank, message = self._errors[0]
        silent = [other for other in self._roll if other.stage != "left" and now - other.beat > self._stale()]
        if silent:
            self._silent(silent[0], now, " Then rank %d saw: %s" % (rank.number, message.get("msg")))
            return
        self._fault_of("rank_error", rank, msg="Rank %d on %s, %s: %s" % (rank.number, rank.host, self._roll.title(self._roll.due(rank)), message.get("msg")))

    def _silent(self, rank: Rank, now: float, echo: str) -> None:
        self._fault_of("rank_silent", rank, msg="Rank %d gave no sign for %.0f s: %s.%s" % (rank.number, now - rank.beat, self._roll.place(rank.number), echo))

    def _judge_stuck(self, now: float) -> None:
        """When a clock has run out, asks for stacks; once they are in, says who is stuck and where."""
        if self._inquiry is None:
            late = self._roll.late(now)
            if late is not None:
                asked = self._roll.involved(late)
                for rank in asked:
                    rank.stack = None
                self._tell(asked, cmd="stack")
                self._inquiry = (late, asked, now + STACKS)
            return
        late, asked, until = self._inquiry
        if now > until or all(rank.stack is not None for rank in asked):
            if late.stage == "inside":
                self._name_inside(late, asked)
            else:
                self._name_absent(late)

    def _name_absent(self, rank: Rank) -> None:
        """A rank that does not come to a gate, or does not get through importing torch."""
        step = self._roll.due(rank)
        self._fault(
            "gate_timeout",
            missing=[rank.number],
            host=rank.host,
            waiting=self._roll.waiting(step),
            where={str(rank.number): self._roll.place(rank.number)},
            stacks=stacks([rank]),
            msg="Rank %d did not come to %s within %g s: %s." % (rank.number, self._roll.title(step), self._roll.limit(rank) or 0, self._roll.place(rank.number)),
            **self._at(rank),
        )

    def _name_inside(self, late: Rank, asked: List[Rank]) -> None:
        """A step that all members entered, and not all left."""
        inside = [rank for rank in asked if rank.stage == "inside" and rank.step == late.step]
        odd = odd_ones(inside)
        named = odd or inside
        numbers = sorted(rank.number for rank in inside)
        other = "; rank(s) %s hold the others up" % shown([rank.number for rank in odd]) if odd else ""
        self._fault(
            "op_timeout",
            suspect=[rank.number for rank in odd] or None,
            host=odd[0].host if odd else None,
            waiting=[number for number in numbers if number not in [rank.number for rank in odd]],
            where={str(rank.number): self._roll.place(rank.number) for rank in named[:8]},
            stacks=stacks(inside),
            msg="All members entered %s, but rank(s) %s did not come out within %g s%s." % (self._roll.title(late.step), shown(numbers), self._roll.limit(late) or 0, other),
            **self._at(late),
        )

    def _judge_beats(self, now: float) -> None:
        for rank in self._roll:
            if rank.stage != "left" and rank.connection is not None and now - rank.beat > self._plan.limits["beat"]:
                self._silent(rank, now, "")
                return

    def _judge_join(self, _: float) -> None:
        missing, limit = self._roll.missing(), self._plan.limits["join"]
        if not missing:
            return
        ended = next((one for one in self._machines if one.fate is not None and set(one.ranks) & set(missing)), None)
        if self._launcher() is not None:
            self._launcher_ended()
        elif ended is not None:
            self._machine_ended(ended, missing)
        elif self._events.seconds() > limit:
            came = self._plan.world_size - len(missing)
            self._fault(
                "join_timeout",
                missing=missing,
                msg="Rank(s) %s did not join within %g s; %d of %d did.%s" % (shown(missing), limit, came, self._plan.world_size, self._whereabouts(missing)),
            )

    def _whereabouts(self, missing: List[int]) -> str:
        """On which machines missing ranks were started, where that is known."""
        hosts = ["%s on %s" % (shown(mine), one.host) for one in self._machines for mine in [[number for number in one.ranks if number in missing]] if mine]
        return " Started: %s." % ", ".join(hosts[:4]) if hosts else ""

    def _machine_ended(self, machine: Machine, missing: List[int]) -> None:
        lost = [number for number in machine.ranks if number in missing]
        self._fault(
            "join_timeout",
            missing=lost,
            host=machine.host,
            msg="The launcher on %s %s before rank(s) %s joined." % (machine.host, machine.fate, shown(lost)),
        )

    def _launcher_ended(self) -> None:
        missing = self._roll.missing()
        self._fault("join_timeout", missing=missing, msg="The launcher ended with status %s before rank(s) %s joined." % (self._launcher(), shown(missing)))

    def _judge_total(self, _: float) -> None:
        limit = self._plan.limits["total"]
        if self._events.seconds() > limit:
            busy = [rank.number for rank in self._roll if rank.stage not in ("gate", "left")]
            self._fault("total_timeout", where={str(number): self._roll.place(number) for number in busy[:8]}, msg="The job took longer than %g s." % limit)


def allow_files(count: int) -> None:
    """Lets this process have so many files open at once, as far as the system allows: every rank is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def group_fields(group: Group) -> Dict[str, Any]:
    """The fields that name a group in an event."""
    return {"group": group.index, "kind": group.name, "module": group.module, "idx": group.place, "ranks": group.ranks}


def said(group: Optional[Sequence[Any]]) -> str:
    """How messages call a group of another plan, given as name, module and ranks."""
    if group is None:
        return "none"
    name, module, ranks = group
    return "%s%s %s" % (name, "" if module is None else " of %s" % module, shown(ranks))


def operations(timed: Sequence[Dict[str, Any]], size: int) -> Dict[str, Dict[str, Any]]:
    """The slowest member's time for each operation of a group, and the bandwidth that it means."""
    result: Dict[str, Dict[str, Any]] = {}
    for name, first in timed[0].items():
        if "skipped" in first:
            result[name] = first
            continue
        ms = max(one[name]["ms"] for one in timed)
        bandwidth = first["bytes"] * BUS_FACTORS[name](size) / ms / 1e6
        result[name] = {"bytes": first["bytes"], "ms": round(ms, 4), "busGBs": round(bandwidth, 3)}
    return result


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
        top = STATES.get(rank.state) or next(iter(rank.stack or []), "no answer")
        where.setdefault(top, []).append(rank.number)
    return sorted(where.items(), key=lambda item: -len(item[1]))


def own_addresses() -> List[str]:
    """How other machines may reach this one: by its name, and by the addresses of the name and of the default route."""
    names = [socket.gethostname()]
    try:
        names += [str(info[4][0]) for info in socket.getaddrinfo(names[0], None, socket.AF_INET, socket.SOCK_STREAM)]
    except OSError:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # connecting a datagram socket sends nothing: the kernel only chooses the route
            probe.connect(("192.0.2.1", 9))
            names.append(probe.getsockname()[0])
        except OSError:
            pass
    # on another machine the loopback is that machine, where a stranger may listen: it is named only where there is nothing else
    far = [name for name in names[1:] if not name.startswith("127.")]
    return list(dict.fromkeys([names[0], *(far or ["127.0.0.1"])]))
