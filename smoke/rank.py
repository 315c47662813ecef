"""One rank of a smoke job, as torchrun or srun starts it.

A helper process, forked before torch is imported, owns the line to the referee: it beats and obeys even while the rank
is stuck in native code with the interpreter lock held.
"""

from __future__ import annotations

import datetime
import faulthandler
import os
import select
import signal
import socket
import sys
import tempfile
import time
from dataclasses import replace
from typing import Any, Dict, List, Optional

from protocol import Lines, Plan, send

#: Seconds between two signs of life.
BEAT = 2.0

#: How long a rank tries to reach the referee, in seconds.
CONNECT = 30.0

#: Exit status of a rank that failed; the referee's verdict is the job's.
FAILED = 13

#: The process groups' own limit lies beyond every limit of the referee, which names faults better.
BACKSTOP = 120.0


def environment_number(*names: str) -> Optional[int]:
    """The first of the named variables that holds a number."""
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


class Identity:
    """Who this rank is, as the launcher says: torchrun, srun, or mpirun."""

    def __init__(self) -> None:
        rank = environment_number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
        world = environment_number("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
        if rank is None or world is None:
            raise SystemExit("smoke job: no rank in the environment; start this with torchrun, srun or mpirun")
        self.rank = rank
        self.world = world
        self.local = environment_number("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK") or 0
        self.node = os.environ.get("SLURMD_NODENAME")
        #: torchrun hosts the store of the process groups itself.
        self.has_store = "TORCHELASTIC_RUN_ID" in os.environ


class Line:
    """This rank's line to the referee, through the helper process."""

    def __init__(self, referee: str) -> None:
        self._sock, other = socket.socketpair()
        stacks = tempfile.TemporaryFile()
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
        if os.fork() == 0:
            self._sock.close()
            status = 1
            try:
                Helper(referee, other, stacks.fileno()).run()
                status = 0
            finally:
                os._exit(status)
        other.close()
        self._lines = Lines()
        self._waiting: List[Dict[str, Any]] = []

    def say(self, **message: Any) -> None:
        """Tells the referee something."""
        send(self._sock, **message)

    def hear(self) -> Dict[str, Any]:
        """The referee's next message. A rank without a referee has nothing left to do and ends."""
        while not self._waiting:
            data = self._sock.recv(1 << 16)
            if not data:
                os._exit(FAILED)
            self._waiting += self._lines.feed(data)
        return self._waiting.pop(0)

    def gate(self, step: str) -> None:
        """Waits until all members of a step have come."""
        self.say(cmd="gate", step=step)
        while True:
            message = self.hear()
            if message.get("cmd") == "go" and message.get("step") == step:
                return


class Helper:
    """The helper process of one rank."""

    def __init__(self, referee: str, rank: socket.socket, stacks: int) -> None:
        self._referee = referee
        self._rank = rank
        self._stacks = stacks
        self._pid = os.getppid()

    def run(self) -> None:
        """Carries messages both ways until either end is gone; then the rank ends too."""
        # the launcher's pipes must not stay open through this process, and it outlives the rank by a moment
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        line = self._connect()
        if line is None:
            self._end_rank()
            return
        messages = Lines()
        beat = 0.0
        while True:
            ready, _, _ = select.select([line, self._rank], [], [], BEAT / 2)
            if self._rank in ready:
                data = self._rank.recv(1 << 16)
                if not data:
                    return  # the rank ended: the line closes with this process, and the referee knows at once
                line.sendall(data)
            if line in ready:
                data = line.recv(1 << 16)
                if not data:
                    self._end_rank()
                    return
                for message in messages.feed(data):
                    if message.get("cmd") == "abort":
                        self._end_rank()
                        return
                    if message.get("cmd") == "stack":
                        send(line, cmd="stack", stack=self._stack(), state=self._state())
                    else:
                        send(self._rank, **message)
            if time.monotonic() - beat > BEAT:
                beat = time.monotonic()
                send(line, cmd="beat", state=self._state())

    def _connect(self) -> Optional[socket.socket]:
        host, _, port = self._referee.rpartition(":")
        until = time.monotonic() + CONNECT
        while time.monotonic() < until:
            try:
                line = socket.create_connection((host, int(port)), 5)
                line.settimeout(None)
                return line
            except OSError:
                time.sleep(0.2)
        return None

    def _end_rank(self) -> None:
        """Asks, then makes, the rank end; a stopped one is woken so that it can."""
        for number, patience in ((signal.SIGTERM, 0.5), (signal.SIGCONT, 0.3), (signal.SIGKILL, 0.0)):
            try:
                os.kill(self._pid, number)
            except ProcessLookupError:
                return
            if select.select([self._rank], [], [], patience)[0]:
                try:
                    if not self._rank.recv(1 << 16):
                        return
                except OSError:
                    return

    def _stack(self) -> List[str]:
        """The rank's Python frames, the innermost first; the signal handler writes them even while the lock is held."""
        began = os.fstat(self._stacks).st_size
        os.kill(self._pid, signal.SIGUSR1)
        time.sleep(0.4)
        frames = []
        for text in os.pread(self._stacks, 1 << 16, began).decode(errors="replace").splitlines():
            parts = text.strip().split('"')
            if text.strip().startswith("File") and len(parts) == 3:
                number, _, function = parts[2].replace(", line ", "").partition(" in ")
                frames.append("%s:%s %s" % (os.path.basename(parts[1]), number, function))
        return frames[:4]

    def _state(self) -> str:
        try:
            with open("/proc/%d/stat" % self._pid, encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return ""


def free_port() -> int:
    """A port on this machine that nobody listens on at the moment."""
    with socket.socket() as sock:
        sock.bind(("", 0))
        port: int = sock.getsockname()[1]
        return port


def run_rank(plan: Plan, referee: str, token: str) -> int:
    """Runs one rank of the plan to its end and gives its exit status."""
    identity = Identity()
    plan = spoilt(plan, identity.rank)
    line = Line(referee)
    # before torch is imported: "did not start" and "cannot import torch" are two different faults
    line.say(
        cmd="hello",
        token=token,
        rank=identity.rank,
        world=identity.world,
        local=identity.local,
        node=identity.node,
        host=socket.gethostname(),
        pid=os.getpid(),
        port=free_port(),
        plan=plan.digest(),
    )
    message = line.hear()
    if message.get("cmd") == "plan":
        line.say(cmd="plan", groups=[[group.name, group.module, group.ranks] for group in plan.groups])
        line.hear()
        return FAILED
    os.environ.update(RANK=str(identity.rank), WORLD_SIZE=str(identity.world), LOCAL_RANK=str(identity.local))
    if not identity.has_store:
        os.environ.update(MASTER_ADDR=str(message["address"]), MASTER_PORT=str(message["port"]))
    run = Run(plan, identity, line)
    try:
        run.whole()
    except Exception as error:  # noqa: BLE001 - whatever it is, the referee must hear of it
        text = str(error).strip().splitlines()
        line.say(cmd="error", step=run.step, msg=("%s: %s" % (type(error).__name__, text[0] if text else ""))[:400])
        line.hear()
        return FAILED
    return 0


class Run:
    """The steps of one rank, each behind the referee's gate."""

    def __init__(self, plan: Plan, identity: Identity, line: Line) -> None:
        self._plan = plan
        self._identity = identity
        self._line = line
        self._handles: List[Any] = []
        self.step = "import"

    def whole(self) -> None:
        """All steps in their order."""
        import torch  # the slow part of a start, after the rank has said that it is there

        backend = self._choose_backend(torch)
        device = self._device(torch, backend)
        self._say_device(torch, backend, device)
        self._enter("init")
        began = time.perf_counter()
        limit = datetime.timedelta(seconds=self._plan.limits["operation"] + BACKSTOP)
        torch.distributed.init_process_group(backend, timeout=limit)
        self._done("init", began)
        self._create(torch, limit)
        self._run_groups(device)
        self._enter("finish")
        # communicators that were never used have cost nothing; the others show in what the device has left
        used = torch.cuda.mem_get_info(device) if device.type == "cuda" else None
        held = torch.cuda.memory_reserved(device) if device.type == "cuda" else 0
        self._done("finish", time.perf_counter(), bytes=used[1] - used[0] - held if used else None)
        self._line.say(cmd="bye")
        if device.type == "cuda":
            torch.distributed.destroy_process_group()

    def _choose_backend(self, torch: Any) -> str:
        if self._plan.backend != "auto":
            return self._plan.backend
        return "nccl" if torch.cuda.is_available() and torch.cuda.device_count() > self._identity.local else "gloo"

    def _device(self, torch: Any, backend: str) -> Any:
        if backend != "nccl":
            torch.set_num_threads(1)
            return torch.device("cpu")
        if torch.cuda.device_count() <= self._identity.local:
            raise RuntimeError("local rank %d has no GPU: this host has %d" % (self._identity.local, torch.cuda.device_count()))
        device = torch.device("cuda", self._identity.local)
        torch.cuda.set_device(device)
        return device

    def _say_device(self, torch: Any, backend: str, device: Any) -> None:
        software = ["torch " + torch.__version__, backend]
        name, uuid = "CPU", None
        if device.type == "cuda":
            properties = torch.cuda.get_device_properties(device)
            software.append("NCCL " + ".".join(str(part) for part in torch.cuda.nccl.version()))
            name = properties.name
            uuid = str(getattr(properties, "uuid", "")) or None
        self._line.say(cmd="device", name=name, uuid=uuid, software=" ".join(software))

    def _enter(self, step: str) -> None:
        self.step = step
        self._line.gate(step)

    def _done(self, step: str, began: float, **more: Any) -> None:
        self._line.say(cmd="done", step=step, ms=round((time.perf_counter() - began) * 1e3, 3), **more)

    def _create(self, torch: Any, limit: datetime.timedelta) -> None:
        """Every rank makes every group, also those it is not in: that is how torch keeps them in step."""
        for place, family in enumerate(self._plan.families):
            step = "create:%d" % place
            self._enter(step)
            began = time.perf_counter()
            for group in family:
                trip("create", group.index, self._identity.rank)
                self._handles.append(torch.distributed.new_group(group.ranks, timeout=limit))
            self._done(step, began)

    def _run_groups(self, device: Any) -> None:
        from collectives import Checker, WrongData

        for group in self._plan.groups:
            if self._identity.rank not in group.ranks:
                continue
            step = "run:%d" % group.index
            trip("gate", group.index, self._identity.rank)
            self._enter(step)
            spoil = trip("run", group.index, self._identity.rank)
            began = time.perf_counter()
            checker = Checker(group, self._handles[group.index], self._identity.rank, device, self._plan.payload_bytes, self._plan.iterations, spoil)
            try:
                checker.membership()
                operations = checker.collectives() if "collectives" in self._plan.checks else {}
            except WrongData as wrong:
                self._line.say(cmd="wrong", step=step, suspect=wrong.suspect, msg=str(wrong))
                self._line.hear()
                raise
            self._done(step, began, ops=operations)


def spoilt(plan: Plan, rank: int) -> Plan:
    """The plan as a rank has it into which the tests inject another one (`swap` or `members` at `plan:GROUP`)."""
    who, _, what = os.environ.get("SMOKE_FAULT", "").partition(":")
    kind, _, where = what.partition("@plan:")
    if who != str(rank) or kind not in ("swap", "members"):
        return plan
    groups, at = list(plan.groups), int(where)
    if kind == "swap":
        groups[at], groups[at + 1] = groups[at + 1], groups[at]
    else:
        groups[at] = replace(groups[at], ranks=groups[at].ranks[:-1])
    return replace(plan, groups=groups)


def trip(place: str, group: int, rank: int) -> bool:
    """The faults that the tests of this job inject: SMOKE_FAULT=RANK:KIND@PLACE:GROUP. True where data is to be spoilt."""
    wanted = os.environ.get("SMOKE_FAULT", "")
    if not wanted:
        return False
    who, _, what = wanted.partition(":")
    kind, _, where = what.partition("@")
    if int(who) != rank or where != "%s:%d" % (place, group):
        return False
    sys.stderr.write("rank %d: injected fault %s\n" % (rank, kind))
    sys.stderr.flush()
    if kind == "exit":
        os._exit(7)
    if kind == "hang":
        time.sleep(1e6)
    if kind in ("kill", "stop"):
        os.kill(os.getpid(), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
    if kind == "raise":
        raise RuntimeError("injected")
    return kind == "data"
