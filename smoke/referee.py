"""The referee of a smoke job: a process outside the collectives that knows which rank is where, and so names who is at fault.

It compares every rank's plan before anything is created, lets ranks enter each step together, and ends everyone at the
verdict (verdicts.py). It needs the standard library only.
"""

from __future__ import annotations

import secrets
import socket
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TextIO, Tuple

from connections import Connection, Peer, Server, allow_files
from events import EventWriter
from measurements import BUS_FACTORS, Measurements
from plan import VERSION, Group, Plan, is_number, list_ranks
from protocol import (
    EXITS,
    MAX_PLAN_MESSAGE,
    WELCOME,
    MessageError,
    list_of,
    operations_of,
    optional_text_of,
    ranks_of,
    seconds_or_bytes_of,
    text_of,
    whole_of,
)
from registry import Device, Rank, RankRegistry
from verdicts import Fault, Judge, Machine, Starter, is_group, plan_mismatch

#: How long ranks have to end by themselves after a verdict, in seconds.
GRACE = 4.0

#: Files that a process has open beside those of its ranks: more than a referee and its strangers ever need.
OWN_FILES = 256

#: Files for each rank: its connection, and its output.
RANK_FILES = 2

#: Seconds between two looks for a fault.
PAUSE = 0.05

#: The shortest time between two events of a phase that goes on, in seconds.
PROGRESS = 1.0

#: The most payloads that a rank may report of one sweep.
MAX_SWEEP = 1000


class Done(NamedTuple):
    """What one rank says of a step that it has done."""

    ms: float
    ops: Dict[str, Dict[str, Any]]
    sweep: List[Dict[str, Dict[str, Any]]]
    #: Milliseconds of the check of overlap: in one communicator, and in two.
    times: Optional[List[float]]
    #: Bytes that communicators hold.
    held: Optional[int]


class Referee:
    """Follows one run of a plan from the first rank that joins to the verdict."""

    def __init__(self, plan: Plan, out: TextIO, token: str, job: str, listener: socket.socket, store_file: Optional[str] = None) -> None:
        """Takes over a socket that listens for ranks.

        `store_file` is where ranks of one machine meet; without one they meet at a TCP store that a rank hosts.
        """
        self._plan = plan
        self._job = job
        self._store_file = store_file
        self._events = EventWriter(out)
        self._measurements = Measurements(plan, self._events)
        self._registry = RankRegistry(plan)
        self._judge: Optional[Judge] = None
        self._machines: List[Machine] = []
        self._verdict: Optional[str] = None
        self._cancelled: Optional[str] = None
        self._store: Dict[str, Any] = {}
        self._phase_began = self._progressed = time.monotonic()
        self._looked = 0.0
        allow_files(plan.world_size * RANK_FILES + OWN_FILES)
        self.server = Server(listener, token, self._admit)

    # ---- the run

    def serve(self, starter: Starter) -> int:
        """Runs to the verdict, ends everything that `starter` has started, and gives the exit status."""
        self._judge = Judge(self._plan, self._registry, starter, self._machines)
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
            self.server.read(0.1)
            self._look(self._judge)
        verdict = self._verdict
        if verdict != "ok":
            self._tell(self._registry.connected(), cmd="abort")
        until = time.monotonic() + GRACE
        while self._registry.connected() and time.monotonic() < until:
            self.server.read(0.1)
        left = starter.stop(verdict == "ok")
        self._emit("end", ok=verdict == "ok", verdict=verdict, exit=EXITS[verdict], secs=self._events.seconds(), left=left or None)
        return EXITS[verdict]

    def cancel(self, why: str = "The job was told to stop.") -> None:
        """Ends the run, at its next look for a fault: safe in a signal handler."""
        self._cancelled = self._cancelled or why

    def _look(self, judge: Judge) -> None:
        """Looks for a fault, but not after every message: every rank is looked at."""
        if self._events.closed:
            self.cancel("The reader of the events is gone.")
        if self._cancelled is not None:
            self._fault(Fault("cancelled", {"msg": self._cancelled}))
        if self.server.failure is not None and self._registry.missing():
            missing, count = self._registry.missing(), len(self._registry.ranks)
            self._fault(Fault("join_timeout", {"missing": missing, "msg": "No more than %d ranks can connect: %s." % (count, self.server.failure)}))
        if self._verdict is None and time.monotonic() > self._looked + PAUSE:
            self._fault(judge.look())
            self._looked = time.monotonic()

    def _emit(self, event: str, **fields: Any) -> None:
        self._events.emit(event, **fields)

    def _phase(self, name: str, **fields: Any) -> None:
        """The end of a phase, with its milliseconds."""
        now = time.monotonic()
        self._emit("phase", name=name, ok=True, ms=round((now - self._phase_began) * 1e3, 1), **fields)
        self._phase_began = self._progressed = now

    def _fault(self, fault: Optional[Fault]) -> None:
        """Reports what went wrong, once: whatever follows is a consequence."""
        if fault is not None and self._verdict is None:
            self._verdict = fault.code
            self._emit("fault", code=fault.code, exit=EXITS[fault.code], **fault.fields)

    # ---- connections

    def _admit(self, connection: Connection, hello: Dict[str, Any]) -> Optional[Peer]:
        """The rank or the machine that a connection belongs to, by its first message. Raises MessageError."""
        if hello.get("cmd") == "machine":
            machine = Machine(text_of(hello, "host"), ranks_of(hello, "ranks", self._plan.world_size))
            self._machines.append(machine)
            connection.send_raw(WELCOME)
            return MachinePeer(machine)
        if hello.get("cmd") != "hello" or self._verdict is not None:
            return None
        number, world = whole_of(hello, "rank"), whole_of(hello, "world")
        rank = Rank(number, connection, hello)
        fault = self._misplaced(rank, world)
        if fault is not None:
            self._fault(fault)
            return None
        self._registry.ranks[number] = rank
        connection.send_raw(WELCOME)
        self._emit("rank", rank=number, host=rank.host, node=rank.node, local=rank.local, pid=rank.pid)
        if self._registry.complete():
            self._all_joined()
        return RankPeer(self, rank)

    def _misplaced(self, rank: Rank, world: int) -> Optional[Fault]:
        """A process with the run's token that cannot be the rank that it claims to be."""
        known = self._registry.ranks.get(rank.number)
        if known is not None:
            text = "Two processes claim to be rank %d: %s pid %d and %s pid %d." % (rank.number, known.host, known.pid, rank.host, rank.pid)
            return Fault("join_timeout", {"rank": rank.number, "host": known.host, "msg": text})
        if world != self._plan.world_size or rank.number >= world:
            text = "Rank %d was started in a world of %d; the layout has %d ranks." % (rank.number, world, self._plan.world_size)
            return Fault("plan_mismatch", {"rank": rank.number, "host": rank.host, "msg": text})
        return None

    def disconnected(self, rank: Rank) -> None:
        """A rank's connection has closed."""
        rank.connection = None
        if rank.stage == "leaving":
            self._tell(self._registry.depart(rank), cmd="go", step="stay")
        elif rank.stage != "left" and self._judge is not None:
            self._judge.lost(rank)

    def malformed(self, rank: Rank, error: MessageError) -> None:
        """A rank has sent what a rank never sends."""
        text = "Rank %d on %s sent a message that no rank sends: %s." % (rank.number, rank.host, error)
        self._fault(Fault("rank_error", {"rank": rank.number, "host": rank.host, "msg": text}))

    def _tell(self, ranks: List[Rank], **message: Any) -> None:
        for rank in ranks:
            if rank.connection is not None:
                rank.connection.send(**message)

    # ---- messages of ranks

    def handle(self, rank: Rank, message: Dict[str, Any]) -> None:
        """Takes a message of a rank. Raises MessageError."""
        rank.beat = time.monotonic()
        handlers: Dict[str, Callable[[Rank, Dict[str, Any]], None]] = {
            "beat": self._on_beat,
            "bye": self._on_bye,
            "device": self._on_device,
            "done": self._on_done,
            "error": self._on_error,
            "gate": self._on_gate,
            "plan": self._on_plan,
            "stack": self._on_stack,
            "store": self._on_store,
            "wrong": self._on_wrong,
        }
        handler = handlers.get(text_of(message, "cmd"))
        if handler is None:
            raise MessageError("`cmd` is unknown")
        if self._verdict is None:
            handler(rank, message)

    def _on_beat(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.state = text_of(message, "state")

    def _on_stack(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.state = text_of(message, "state")
        rank.stack = [frame[:200] for frame in list_of(message, "stack", lambda frame: isinstance(frame, str), 8)]
        rank.owes_stack = False

    def _on_wrong(self, rank: Rank, message: Dict[str, Any]) -> None:
        if self._judge is not None:
            self._judge.wrong(rank, ranks_of(message, "suspect", self._plan.world_size), text_of(message, "msg"))

    def _on_error(self, rank: Rank, message: Dict[str, Any]) -> None:
        if self._judge is not None:
            self._judge.error(rank, text_of(message, "msg"))

    def _on_bye(self, rank: Rank, _: Dict[str, Any]) -> None:
        if rank.number in (self._plan.spares or []) and self._registry.due(rank) == "stay":
            rank.move("leaving", rank.position + 1)
            return
        if self._registry.step(rank) != "leave" or rank.stage != "inside":
            raise MessageError("it left before the end")
        rank.move("left", rank.position)
        if all(one.stage == "left" for one in self._registry) and self._verdict is None:
            self._verdict = "ok"

    # ---- steps

    def _all_joined(self) -> None:
        self._phase("join")
        digest = self._plan.digest()
        odd = [rank for rank in self._registry if rank.plan_digest != digest]
        if odd:
            first = min(odd, key=lambda rank: rank.number)
            first.owes_plan = True
            if first.connection is not None:
                first.connection.reader.most = MAX_PLAN_MESSAGE
            self._tell([first], cmd="plan")
            return
        self._phase("plan")
        for rank in self._registry:
            rank.move("import", 0)
        host = self._registry.ranks[self._plan.active()[0]]
        file = {"file": self._store_file} if self._store_file is not None else {}
        self._tell([rank for rank in self._registry if rank is not host], cmd="start", **file)
        self._tell([host], cmd="start", **(file or {"bind": self._address_of(host)}))

    def _on_plan(self, rank: Rank, message: Dict[str, Any]) -> None:
        """A rank whose digest differs sends its groups."""
        if not rank.owes_plan:
            raise MessageError("it sent a plan that nobody asked for")
        self._fault(plan_mismatch(self._plan, rank, list_of(message, "groups", is_group, sys.maxsize)))

    def _on_device(self, rank: Rank, message: Dict[str, Any]) -> None:
        if rank.stage != "import":
            raise MessageError("it named its device at the wrong time")
        rank.device = Device(text_of(message, "name"), optional_text_of(message, "unique"), text_of(message, "software"))
        rank.move("between", 0)
        if all(one.device for one in self._registry):
            self._all_devices()

    def _all_devices(self) -> None:
        software: Dict[str, List[int]] = {}
        devices: Dict[Tuple[str, str], List[int]] = {}
        for number, rank in sorted(self._registry.ranks.items()):
            if rank.device is not None:
                software.setdefault(rank.device.software, []).append(number)
                if rank.device.unique is not None:
                    devices.setdefault((rank.host, rank.device.unique), []).append(number)
        for (host, unique), numbers in devices.items():
            if len(numbers) > 1:
                text = "Ranks %s share one GPU: %s on %s." % (list_ranks(numbers), unique, host)
                self._fault(Fault("device_clash", {"host": host, "suspect": numbers, "msg": text}))
                return
        device = self._registry.ranks[0].device
        mixed = "; ".join("%s: %s" % (version, list_ranks(numbers)) for version, numbers in software.items())
        self._phase(
            "devices",
            device=device.name if device else None,
            software=sorted(software),
            msg="The ranks run different software: %s" % mixed if len(software) > 1 else None,
        )

    def _on_store(self, rank: Rank, message: Dict[str, Any]) -> None:
        """The rank that hosts the store says where; the others learn it with a prefix that no stranger can guess."""
        if self._store_file is not None or rank.number != self._plan.active()[0] or self._store:
            raise MessageError("it hosts a store that nobody asked for")
        port = whole_of(message, "port", 1 << 16)
        self._store = {"address": self._address_of(rank), "port": port, "prefix": secrets.token_hex(16)}

    def _address_of(self, rank: Rank) -> str:
        """A rank's address as all others can reach it: not the loopback, where ranks of other hosts are there."""
        connections = [one.connection for one in self._registry if one.connection]
        far = [connection for connection in connections if not connection.address.startswith("127.")]
        own = rank.connection.address if rank.connection else "127.0.0.1"
        # a rank on the loopback shares the referee's host, whose address the others have already found
        return far[0].own_address if own.startswith("127.") and far else own

    def _on_gate(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = text_of(message, "step")
        ready = self._registry.arrive(rank, step)
        self._tell(ready, cmd="go", step=step, **(self._store if step == "init" else {}))

    def _on_done(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = text_of(message, "step")
        done = self._registry.leave(rank, step, self._read_done(message))
        if done is None:
            return
        group, family = self._registry.group_of(step), self._registry.family_of(step)
        sequence = self._registry.sequence_of(step)
        if group:
            self._tried(step, group, done)
        elif sequence is not None:
            self._measurements.gathered(sequence)
        elif family:
            self._created(family[-1].index + 1)
        elif step == "finish":
            self._measurements.finish()
            memory = [one.held for one in done if one.held is not None]
            self._phase("finish", bytes=max(memory) if memory else None)
        elif step not in ("spares", "stay"):
            self._phase(step)

    @staticmethod
    def _read_done(message: Dict[str, Any]) -> Done:
        """Raises MessageError."""
        times = list_of(message, "times", lambda value: is_number(value) and value >= 0, 2)
        if len(times) == 1:
            raise MessageError("`times` holds one time")
        return Done(
            ms=seconds_or_bytes_of(message, "ms"),
            ops=operations_of(message.get("ops", {}), BUS_FACTORS),
            sweep=[operations_of(one, BUS_FACTORS) for one in list_of(message, "sweep", lambda value: isinstance(value, dict), MAX_SWEEP)],
            times=times or None,
            held=int(seconds_or_bytes_of(message, "bytes")) if message.get("bytes") is not None else None,
        )

    def _tried(self, step: str, group: Group, done: List[Done]) -> None:
        """All members of a group have passed a step of it."""
        first = done[0]
        if any(set(one.ops) != set(first.ops) or len(one.sweep) != len(first.sweep) for one in done):
            raise MessageError("it measured other operations than the members before it")
        if step.startswith("bandwidth:"):
            self._measurements.swept(group, [one.sweep for one in done])
        elif step.startswith("overlap:"):
            self._measurements.overlapped(group, [one.times for one in done])
        else:
            self._measurements.group_passed(group, [one.ms for one in done], [one.ops for one in done])

    def _created(self, count: int) -> None:
        """Creating many groups takes a while: reports progress, but not too often."""
        every = len(self._plan.groups)
        if count == every:
            self._phase("create", done=count, of=every)
        elif time.monotonic() - self._progressed > PROGRESS:
            self._progressed = time.monotonic()
            self._emit("phase", name="create", ok=True, done=count, of=every)


class RankPeer:
    """A rank at the other end of a connection."""

    def __init__(self, referee: Referee, rank: Rank) -> None:
        self._referee = referee
        self._rank = rank

    def receive(self, message: Dict[str, Any]) -> None:
        """Takes a message. Raises MessageError."""
        self._referee.handle(self._rank, message)

    def malformed(self, error: MessageError) -> None:
        """The rank is at fault."""
        self._referee.malformed(self._rank, error)

    def lost(self) -> None:
        """The rank has ended, or its helper has."""
        self._referee.disconnected(self._rank)


class MachinePeer:
    """A pod beside the first one, which says how its ranks ended."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def receive(self, message: Dict[str, Any]) -> None:
        """Takes a message. Raises MessageError."""
        rank = whole_of(message, "ended")
        if rank in self._machine.ranks:
            self._machine.fates[rank] = text_of(message, "how")

    def malformed(self, error: MessageError) -> None:
        """Its connection closes, which says enough."""

    def lost(self) -> None:
        """The pod has ended: nobody will start its ranks now."""
        for rank in self._machine.ranks:
            self._machine.fates.setdefault(rank, "were lost with the pod")
