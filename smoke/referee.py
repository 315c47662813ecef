"""The referee of a smoke job: a process outside the collectives that knows who is where, and so can say who is at fault.

It compares every rank's plan before anything is created, lets ranks enter each step together, watches the clock, asks for
stacks when a step is stuck, names the fault, and ends everyone. It needs the standard library only.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from typing import Any, Callable, Dict, List, Optional, TextIO, Tuple

from protocol import EXITS, MAX_LINE, VERSION, Group, Lines, Plan, send, shown

#: How long after a verdict ranks have to end by themselves, in seconds.
GRACE = 4.0

#: How long ranks have to answer with their stacks, in seconds.
STACKS = 2.0

#: How long an error waits for a death elsewhere that explains it, in seconds.
CAUSE = 1.0

#: The share of the moved bytes that crosses the bus, by operation, for n ranks (as nccl-tests counts).
BUS_FACTORS: Dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
}

#: Process states of Linux that explain a silence.
STATES = {"T": "stopped", "D": "waiting in the kernel", "Z": "ended, not yet reaped"}


class Rank:
    """What the referee knows of one rank."""

    def __init__(self, number: int, sock: socket.socket, hello: Dict[str, Any]) -> None:
        self.number = number
        self.sock: Optional[socket.socket] = sock
        self.host = str(hello.get("host", "?"))
        self.address = sock.getpeername()[0]
        self.port = int(hello.get("port", 0))
        self.pid = int(hello.get("pid", 0))
        self.plan_digest = hello.get("plan")
        self.device: Optional[Dict[str, Any]] = None
        self.beat = time.monotonic()
        self.state = ""
        self.at = "importing torch"
        self.error: Optional[Tuple[float, Dict[str, Any]]] = None
        self.finished = False

    def place(self) -> str:
        """Where the rank was seen last, with its host."""
        why = STATES.get(self.state)
        return "%s, %s%s" % (self.host, self.at, "" if why is None else " (process %s)" % why)


class Step:
    """Something that several ranks enter together: a phase of all, the creation of a family, or the run of a group."""

    def __init__(self, name: str, members: List[int], title: str, group: Optional[Group] = None) -> None:
        self.name = name
        self.members = members
        #: How messages call the step.
        self.title = title
        self.group = group
        self.came: Dict[int, float] = {}
        self.entered: Optional[float] = None
        self.left: Dict[int, Dict[str, Any]] = {}

    def missing(self) -> List[int]:
        """Members that have not come to the gate."""
        return [rank for rank in self.members if rank not in self.came]

    def inside(self) -> List[int]:
        """Members that went in and have not come out."""
        return [rank for rank in self.members if rank not in self.left]


class Referee:
    """Follows one run of a plan from the first rank that joins to the verdict."""

    def __init__(self, plan: Plan, out: TextIO, token: str, job: str, bind: str = "127.0.0.1", port: int = 0) -> None:
        self.plan = plan
        self.token = token
        self.job = job
        self.verdict: Optional[str] = None
        self._out = out
        self._began = time.monotonic()
        self._ranks: Dict[int, Rank] = {}
        self._steps: Dict[str, Step] = {}
        self._stuck: Optional[Tuple[Step, float, Dict[int, str]]] = None
        self._selector = selectors.DefaultSelector()
        self._connections: Dict[socket.socket, Tuple[Lines, Optional[int]]] = {}
        self._listener = socket.create_server((bind, port), backlog=min(plan.world_size, 1024))
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.port: int = self._listener.getsockname()[1]

    # ---- the run

    def serve(self, alive: Callable[[], bool] = lambda: True) -> int:
        """Runs to the verdict and gives the exit status.

        `alive` says whether the launcher of the ranks is still there.
        """
        self._emit(
            "start",
            version=VERSION,
            job=self.job,
            world=self.plan.world_size,
            groups=len(self.plan.groups),
            layout=self.plan.name,
            wall=round(time.time(), 3),
            limits=self.plan.limits,
        )
        ended: Optional[float] = None
        while True:
            self._read()
            if self.verdict is None:
                self._watch_clock()
                if self.verdict is None and not alive():
                    self._launcher_gone()
            if self.verdict is not None:
                ended = ended or time.monotonic()
                if not self._open_ranks() or time.monotonic() - ended > GRACE:
                    return self._end()

    def cancel(self) -> None:
        """Ends the run because somebody asked for it."""
        self._fault("cancelled", msg="The job was told to stop.")

    def _end(self) -> int:
        verdict = self.verdict or "rank_lost"
        self._emit("end", ok=verdict == "ok", verdict=verdict, exit=EXITS[verdict], secs=self._seconds())
        for sock in list(self._connections):
            self._forget(sock)
        self._selector.unregister(self._listener)
        self._listener.close()
        return EXITS[verdict]

    def _open_ranks(self) -> List[int]:
        return [number for number, rank in self._ranks.items() if rank.sock is not None]

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    # ---- events

    def _emit(self, event: str, **fields: Any) -> None:
        """Writes one event. Long texts and lists are cut so that a line is never broken."""
        body: Dict[str, Any] = {"ev": event, "t": self._seconds()}
        body.update((key, value) for key, value in fields.items() if value is not None)
        line = json.dumps(body, separators=(",", ":"))
        for key in ("stacks", "where", "msg", "ranks", "waiting", "missing", "suspect", "want", "got", "software"):
            if len(line.encode()) <= MAX_LINE:
                break
            if key in body:
                body[key] = _cut(body[key])
                body["cut"] = True
                line = json.dumps(body, separators=(",", ":"))
        self._out.write(line + "\n")
        self._out.flush()
        sys.stderr.write(_human(event, body) + "\n")
        sys.stderr.flush()

    def _fault(self, code: str, **fields: Any) -> None:
        """Says what went wrong, once: whatever follows is its echo. Then tells everyone to end."""
        if self.verdict is not None:
            return
        self.verdict = code
        self._emit("fault", code=code, exit=EXITS[code], **fields)
        for rank in self._ranks.values():
            self._tell(rank, cmd="abort")

    def _group_fields(self, group: Optional[Group]) -> Dict[str, Any]:
        if group is None:
            return {}
        return {"group": group.index, "kind": group.name, "module": group.module, "idx": group.place, "ranks": group.ranks}

    # ---- messages

    def _read(self) -> None:
        for key, _ in self._selector.select(0.1):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock is self._listener:
                connection, _ = sock.accept()
                connection.settimeout(5)
                self._connections[connection] = (Lines(), None)
                self._selector.register(connection, selectors.EVENT_READ)
            elif sock in self._connections:
                self._receive(sock)

    def _receive(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(1 << 16)
            messages = list(self._connections[sock][0].feed(data)) if data else None
        except (OSError, ValueError):
            messages = None
        if messages is None:
            self._hung_up(sock)
            return
        for message in messages:
            if sock not in self._connections:
                return
            number = self._connections[sock][1]
            if number is None:
                self._hello(sock, message)
            else:
                self._handle(self._ranks[number], message)

    def _hello(self, sock: socket.socket, message: Dict[str, Any]) -> None:
        number = message.get("rank")
        stranger = message.get("cmd") != "hello" or message.get("token") != self.token or not isinstance(number, int)
        if stranger or self.verdict is not None:
            self._forget(sock)
            return
        known = self._ranks.get(number)
        if known is not None:
            self._fault(
                "join_timeout",
                rank=number,
                msg="Two processes say that they are rank %d: %s pid %d and %s pid %s." % (number, known.host, known.pid, message.get("host"), message.get("pid")),
            )
            return
        if message.get("world") != self.plan.world_size or not 0 <= number < self.plan.world_size:
            self._fault(
                "plan_mismatch",
                rank=number,
                msg="Rank %s was started in a world of %s; the layout has %d ranks." % (number, message.get("world"), self.plan.world_size),
            )
            return
        rank = Rank(number, sock, message)
        self._ranks[number] = rank
        self._connections[sock] = (self._connections[sock][0], number)
        self._emit("rank", rank=number, host=rank.host, node=message.get("node"), local=message.get("local"), pid=rank.pid)
        if len(self._ranks) == self.plan.world_size:
            self._all_joined()

    def _handle(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.beat = time.monotonic()
        handler = getattr(self, "_on_" + str(message.get("cmd")), None)
        if handler is not None:
            handler(rank, message)

    def _on_beat(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.state = str(message.get("state", ""))

    def _on_device(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.device = message
        if all(one.device for one in self._ranks.values()) and len(self._ranks) == self.plan.world_size:
            self._all_devices()

    def _on_gate(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = self._step(str(message["step"]))
        step.came[rank.number] = time.monotonic()
        rank.at = "at the gate of " + step.title
        if not step.missing():
            step.entered = time.monotonic()
            for member in step.members:
                self._ranks[member].at = "in " + step.title
                self._tell(self._ranks[member], cmd="go", step=step.name)

    def _on_done(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = self._step(str(message["step"]))
        step.left[rank.number] = message
        rank.at = "after " + step.title
        if not step.inside():
            del self._steps[step.name]
            self._step_done(step)

    def _on_plan(self, rank: Rank, message: Dict[str, Any]) -> None:
        """A rank whose digest differs sends its groups: say the first that is not as the layout has it."""
        want = [[group.name, group.module, group.ranks] for group in self.plan.groups]
        got = message.get("groups", [])
        at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        same = sorted(map(json.dumps, want)) == sorted(map(json.dumps, got))
        group = self.plan.groups[at] if at < len(want) else None
        mine = got[at] if at < len(got) else None
        self._fault(
            "plan_mismatch",
            rank=rank.number,
            want=want[at] if at < len(want) else None,
            got=mine,
            msg="Rank %d on %s would create %s as group %d where the layout has %s: %s."
            % (rank.number, rank.host, mine, at, want[at] if at < len(want) else "none", "the same groups in another order" if same else "another list of groups"),
            **self._group_fields(group),
        )

    def _on_stack(self, rank: Rank, message: Dict[str, Any]) -> None:
        if self._stuck is not None:
            rank.state = str(message.get("state", ""))
            top = STATES.get(rank.state) or next(iter(message.get("stack", [])), "no answer")
            self._stuck[2][rank.number] = str(top)

    def _on_wrong(self, rank: Rank, message: Dict[str, Any]) -> None:
        step = self._step(str(message["step"]))
        self._fault(
            "wrong_data",
            rank=rank.number,
            suspect=message.get("suspect") or None,
            msg="Rank %d on %s, %s: %s" % (rank.number, rank.host, step.title, message.get("msg")),
            **self._group_fields(step.group),
        )

    def _on_check(self, rank: Rank, message: Dict[str, Any]) -> None:
        self._emit("check", **{key: value for key, value in message.items() if key != "cmd"})

    def _on_error(self, rank: Rank, message: Dict[str, Any]) -> None:
        # a peer's death often shows first as its neighbour's error: the cause has a moment to show itself
        rank.error = rank.error or (time.monotonic(), message)

    def _on_bye(self, rank: Rank, message: Dict[str, Any]) -> None:
        rank.finished = True
        if self.verdict is None and all(one.finished for one in self._ranks.values()):
            self.verdict = "ok"

    def _tell(self, rank: Rank, **message: Any) -> None:
        if rank.sock is not None:
            try:
                send(rank.sock, **message)
            except OSError:
                pass  # its end of the line is gone; the selector says so next

    # ---- phases

    def _all_joined(self) -> None:
        self._emit("phase", name="join", ok=True, ms=round(self._seconds() * 1e3))
        odd = [rank for rank in self._ranks.values() if rank.plan_digest != self.plan.digest()]
        if odd:
            self._tell(min(odd, key=lambda rank: rank.number), cmd="plan")
            return
        self._emit("phase", name="plan", ok=True)
        first = self._ranks[0]
        for rank in self._ranks.values():
            self._tell(rank, cmd="start", address=first.address, port=first.port)

    def _all_devices(self) -> None:
        software: Dict[str, List[int]] = {}
        devices: Dict[Tuple[str, str], List[int]] = {}
        for number, rank in sorted(self._ranks.items()):
            device = rank.device or {}
            software.setdefault(str(device.get("software")), []).append(number)
            if device.get("uuid"):
                devices.setdefault((rank.host, str(device["uuid"])), []).append(number)
        for (host, uuid), numbers in devices.items():
            if len(numbers) > 1:
                self._fault("device_clash", ranks=numbers, msg="Ranks %s share one GPU: %s on %s." % (shown(numbers), uuid, host))
                return
        device = self._ranks[0].device or {}
        self._emit(
            "phase",
            name="devices",
            ok=True,
            device=device.get("name"),
            software=sorted(software),
            msg="The ranks run different software." if len(software) > 1 else None,
        )

    def _step(self, name: str) -> Step:
        step = self._steps.get(name)
        if step is None:
            kind, _, index = name.partition(":")
            everyone = list(range(self.plan.world_size))
            if kind == "run":
                group = self.plan.groups[int(index)]
                step = Step(name, group.ranks, group.label(), group)
            elif kind == "create":
                family = self.plan.families[int(index)][0]
                of = "" if family.module is None else " of %s" % family.module
                step = Step(name, everyone, "the creation of the %s groups%s" % (family.name, of))
            else:
                step = Step(name, everyone, name)
            self._steps[name] = step
        return step

    def _step_done(self, step: Step) -> None:
        ms = round(max(float(message.get("ms", 0)) for message in step.left.values()), 3)
        if step.group is not None:
            self._emit("group", ok=True, ms=ms, ops=self._operations(step), **self._group_fields(step.group))
        elif not step.name.startswith("create:"):
            memory = [int(message["bytes"]) for message in step.left.values() if message.get("bytes") is not None]
            self._emit("phase", name=step.name, ok=True, ms=ms, bytes=max(memory) if memory else None)

    def _operations(self, step: Step) -> Dict[str, Dict[str, Any]]:
        """The slowest rank's time for each operation, and the bandwidth that it means."""
        operations: Dict[str, Dict[str, Any]] = {}
        for message in step.left.values():
            for name, (moved, ms) in message.get("ops", {}).items():
                slowest = operations.setdefault(name, {"bytes": moved, "ms": 0.0})
                slowest["ms"] = max(slowest["ms"], round(ms, 4))
        for name, operation in operations.items():
            factor = BUS_FACTORS.get(name, lambda n: 1.0)(len(step.members))
            if operation["ms"] > 0:
                operation["busGBs"] = round(operation["bytes"] * factor / operation["ms"] / 1e6, 3)
        return operations

    # ---- what goes wrong

    def _hung_up(self, sock: socket.socket) -> None:
        number = self._connections[sock][1]
        self._forget(sock)
        if number is None:
            return
        rank = self._ranks[number]
        rank.sock = None
        if rank.finished or self.verdict is not None:
            return
        step = self._next_step(rank)
        message = rank.error[1] if rank.error else None
        what = message.get("msg") if message else "its process ended without a word"
        self._fault(
            "rank_error" if message else "rank_lost",
            rank=number,
            waiting=[other for other in step.came if other != number] if step else None,
            msg="Rank %d on %s: %s. It was %s." % (number, rank.host, str(what).rstrip("."), rank.at),
            **self._group_fields(step.group if step else None),
        )

    def _forget(self, sock: socket.socket) -> None:
        self._connections.pop(sock, None)
        self._selector.unregister(sock)
        sock.close()

    def _next_step(self, rank: Rank) -> Optional[Step]:
        """The step that a rank is in, or else the one that others await it at."""
        here = [step for step in self._steps.values() if rank.number in step.members]
        inside = [step for step in here if rank.number in step.came and rank.number not in step.left]
        return next(iter(inside or here), None)

    def _launcher_gone(self) -> None:
        missing = [number for number in range(self.plan.world_size) if number not in self._ranks]
        self._fault(
            "rank_lost",
            missing=missing or None,
            msg="The launcher ended before the job did%s." % (": rank(s) %s never joined" % shown(missing) if missing else ""),
        )

    def _watch_clock(self) -> None:
        now, limits = time.monotonic(), self.plan.limits
        if self._stuck is not None:
            step, until, stacks = self._stuck
            asked = [number for number in step.members if number in self._ranks]
            if len(stacks) >= len(asked) or now > until:
                self._name_stuck(step, stacks)
            return
        if now - self._began > limits["total"]:
            self._fault("total_timeout", where=self._where(list(self._ranks)), msg="The job took longer than %g s." % limits["total"])
        elif len(self._ranks) < self.plan.world_size:
            if now - self._began > limits["join"]:
                missing = [number for number in range(self.plan.world_size) if number not in self._ranks]
                self._fault("join_timeout", missing=missing, msg="Rank(s) %s did not join within %g s; %d of %d did." % (shown(missing), limits["join"], len(self._ranks), self.plan.world_size))
        else:
            self._watch_errors(now)
            self._watch_steps(now, limits)
            self._watch_beats(now, limits)

    def _watch_errors(self, now: float) -> None:
        errors = [rank for rank in self._ranks.values() if rank.error and now - rank.error[0] > CAUSE]
        if errors:
            first = min(errors, key=lambda rank: rank.error[0] if rank.error else now)
            message = first.error[1] if first.error else {}
            step = self._steps.get(str(message.get("step")))
            self._fault("rank_error", rank=first.number, msg="Rank %d on %s, %s: %s" % (first.number, first.host, first.at, message.get("msg")), **self._group_fields(step.group if step else None))

    def _watch_steps(self, now: float, limits: Dict[str, float]) -> None:
        for step in list(self._steps.values()):
            if not step.came:
                continue
            waited = now - (step.entered or min(step.came.values()))
            gate = limits["import"] if step.name == "init" else limits["gate"]
            if waited > (limits["operation"] if step.entered else gate):
                stuck = self._root(step)
                self._stuck = (stuck, now + STACKS, {})
                for number in stuck.members:
                    if number in self._ranks:
                        self._tell(self._ranks[number], cmd="stack")
                return

    def _root(self, step: Step) -> Step:
        """Follows who waits for whom to the step that is really stuck."""
        seen = {step.name}
        while step.entered is None:
            busy = next((s for s in self._steps.values() if s.name not in seen and set(step.missing()) & set(s.came) - set(s.left)), None)
            if busy is None:
                break
            seen.add(busy.name)
            step = busy
        return step

    def _name_stuck(self, step: Step, stacks: Dict[int, str]) -> None:
        by_stack: Dict[str, List[int]] = {}
        for number in step.members:
            by_stack.setdefault(stacks.get(number, "no answer"), []).append(number)
        told = sorted(by_stack.items(), key=lambda item: -len(item[1]))
        if step.entered is None:
            missing = step.missing()
            self._fault(
                "gate_timeout",
                missing=missing,
                waiting=sorted(step.came),
                where=self._where(missing),
                stacks=told,
                msg="Rank(s) %s did not come to %s; %s." % (shown(missing), step.title, "; ".join("rank %d: %s" % (n, self._ranks[n].place()) for n in missing[:2] if n in self._ranks)),
                **self._group_fields(step.group),
            )
            return
        inside = step.inside()
        odd = self._odd_ones(told, inside)
        self._fault(
            "op_timeout",
            waiting=inside,
            suspect=odd or None,
            where=self._where(odd or inside),
            stacks=told,
            msg="All members entered %s, but rank(s) %s did not come out%s." % (step.title, shown(inside), "; rank(s) %s do something else than the others" % shown(odd) if odd else ""),
            **self._group_fields(step.group),
        )

    @staticmethod
    def _odd_ones(told: List[Tuple[str, List[int]]], inside: List[int]) -> List[int]:
        """The ranks whose stack is not that of a rank waiting inside the library."""
        library = ("distributed_c10d", "c10d_logger", "collectives.py")
        odd = sorted(number for top, numbers in told for number in numbers if not top.startswith(library))
        return [] if len(odd) == len(inside) and len(told) == 1 else odd

    def _where(self, numbers: List[int]) -> Dict[str, str]:
        return {str(number): self._ranks[number].place() if number in self._ranks else "never joined" for number in numbers[:8]}

    def _watch_beats(self, now: float, limits: Dict[str, float]) -> None:
        for rank in self._ranks.values():
            if not rank.finished and rank.sock is not None and now - rank.beat > limits["beat"] and self.verdict is None:
                step = self._next_step(rank)
                self._fault("rank_silent", rank=rank.number, msg="Rank %d gave no sign for %g s: %s." % (rank.number, limits["beat"], rank.place()), **self._group_fields(step.group if step else None))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:200] + "..." if len(value) > 200 else value
    if isinstance(value, dict):
        return dict(list(value.items())[:4])
    if isinstance(value, list):
        return [_cut(item) if isinstance(item, (list, tuple)) else item for item in value[:16]]
    return value


def _human(event: str, body: Dict[str, Any]) -> str:
    """The line for people that goes with an event."""
    if event == "start":
        return "smoke job %(job)s: %(layout)s, %(world)d ranks, %(groups)d process groups" % body
    if event == "rank":
        return "rank %(rank)d joined from %(host)s, pid %(pid)d" % body
    if event == "group":
        speeds = ", ".join("%s %s GB/s" % (name, op.get("busGBs", "?")) for name, op in body.get("ops", {}).items())
        return "ok  %s %s%s %s  %s" % (body["kind"], body["idx"], " of " + body["module"] if "module" in body else "", shown(body["ranks"]), speeds)
    if event == "fault":
        return "FAULT %(code)s: %(msg)s" % body
    if event == "end":
        return "%s after %s s" % ("passed" if body["ok"] else "FAILED: " + body["verdict"], body["secs"])
    details = ", ".join("%s %s" % (key, value) for key, value in body.items() if key not in ("ev", "t", "name", "ok"))
    return "%s %s%s" % (event, body.get("name"), ": " + details if details else "")
