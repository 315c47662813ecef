"""One rank of a smoke job, as the referee, srun or mpirun starts it.

A helper process, forked before torch is imported, owns the connection to the referee: it beats and obeys even while the
rank is stuck in native code with the interpreter lock held.
"""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, List, Optional, Tuple, Type, Union

from plan import Group, Plan, Sequence
from processes import wake_with_parent
from protocol import WELCOME, MessageReader, send

#: Seconds between two signs of life.
BEAT = 1.0

#: How long a rank has to end when it is asked to, in seconds; then it is killed.
GRACE = 0.5

#: Exit status of a rank that failed; the referee's verdict is the job's.
FAILED = 13

#: The process groups' own limit lies beyond every limit of the referee, which names faults better. Seconds.
BACKSTOP = 120.0


def environment_number(*names: str) -> Optional[int]:
    """The first of the named variables that holds a number."""
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


class Identity:
    """Who this rank is, as its launcher says (the referee or a pod, srun, or mpirun), and where its referee is."""

    def __init__(self) -> None:
        rank = environment_number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
        world = environment_number("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
        if rank is None or world is None:
            raise SystemExit("smoke job: no rank in the environment; the referee, srun or mpirun starts this")
        self.rank = rank
        self.world = world
        self.local = environment_number("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK") or 0
        self.node = os.environ.get("SLURMD_NODENAME") or os.environ.get("SMOKE_NODE")
        self.token = os.environ.get("SMOKE_TOKEN", "")
        self.referee = places(os.environ.get("SMOKE_REFEREE", ""))
        if not self.referee:
            raise SystemExit("smoke job: SMOKE_REFEREE is not set; the referee or its launcher starts ranks")


#: Where the referee is: the path of a socket of this machine, or a host and a port.
Place = Union[str, Tuple[str, int]]


def places(text: str) -> List[Place]:
    """The places of `/folder/referee`, or of `host:port,host:port`."""
    if text.startswith("/"):
        return [text]
    parts = [one.rpartition(":") for one in text.split(",") if one]
    return [(host, int(port)) for host, _, port in parts]


def open_connection(place: Place) -> socket.socket:
    """A connection that waits five seconds for an answer. Raises OSError."""
    if not isinstance(place, str):
        return socket.create_connection(place, 5)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(5)
        connection.connect(place)
    except OSError:
        connection.close()
        raise
    return connection


class RefereeLink:
    """This rank's connection to the referee, through the helper process."""

    def __init__(self, referee: List[Place], hello: Dict[str, Any], patience: float) -> None:
        self._sock, other = socket.socketpair()
        stacks = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the rank lives
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
        pid = os.getpid()
        if os.fork() == 0:
            # not killed with the rank, whose last message it may not have passed on yet
            wake_with_parent()
            self._sock.close()
            try:
                Helper(pid, other, stacks.fileno()).run(referee, hello, patience)
            finally:
                os._exit(0)
        other.close()
        self._reader = MessageReader()
        self._waiting: List[Dict[str, Any]] = []

    def send(self, **message: Any) -> None:
        """Tells the referee something."""
        try:
            send(self._sock, **message)
        except OSError:
            self._alone()

    def receive(self) -> Dict[str, Any]:
        """The referee's next message. Without a referee the rank ends."""
        while not self._waiting:
            data = self._sock.recv(1 << 16)
            if not data:
                self._alone()
            self._waiting += self._reader.feed(data)
        return self._waiting.pop(0)

    def gate(self, step: str) -> Dict[str, Any]:
        """Waits until all members of a step have come; the referee's message."""
        self.send(cmd="gate", step=step)
        while True:
            message = self.receive()
            if message.get("cmd") == "go" and message.get("step") == step:
                return message

    def await_verdict(self) -> None:
        """Stays, with all connections open, until the referee has judged: to leave first would look like a cause."""
        while True:
            self.receive()

    @staticmethod
    def _alone() -> None:
        sys.stderr.write("smoke job: the referee is gone\n")
        sys.stderr.flush()
        os._exit(FAILED)


class Helper:
    """The helper process of one rank."""

    def __init__(self, pid: int, rank: socket.socket, stacks: int) -> None:
        self._pid = pid
        self._rank = rank
        self._stacks = stacks

    def run(self, referee: List[Place], hello: Dict[str, Any], patience: float) -> None:
        """Carries messages both ways until the rank is gone; without a referee the rank is ended."""
        # the rank's pipes must not stay open through this process, which outlives the rank by a moment
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        connection = connect(referee, hello, patience)
        try:
            ended = connection is not None and self._carry(connection)
        except OSError:
            ended = False
        if not ended:
            self._end_rank()

    def _carry(self, connection: socket.socket) -> bool:
        """True once the rank has ended; False once the referee is gone, or wants the rank to end."""
        messages = MessageReader()
        beat = 0.0
        while True:
            if time.monotonic() - beat >= BEAT:
                beat = time.monotonic()
                send(connection, cmd="beat", state=self._state())
            ready, _, _ = select.select([connection, self._rank], [], [], BEAT)
            if self._rank in ready:
                data = self._message()
                if not data:
                    return True  # the connection closes with this process, and the referee knows at once
                connection.sendall(data)
            if connection in ready:
                data = connection.recv(1 << 16)
                if not data or not all(self._obey(message, connection) for message in messages.feed(data)):
                    return False

    def _obey(self, message: Dict[str, Any], connection: socket.socket) -> bool:
        """Takes a message of the referee: answers it here, or passes it on. False where it wants the rank to end."""
        if message.get("cmd") == "abort":
            return False
        if message.get("cmd") == "stack":
            send(connection, cmd="stack", stack=self._stack(), state=self._state())
        else:
            send(self._rank, **message)
        return True

    def _message(self) -> bytes:
        """What the rank says, to the end of a message, so that no beat comes between; nothing once the rank has ended."""
        data = self._rank.recv(1 << 16)
        while data and not data.endswith(b"\n"):
            more = self._rank.recv(1 << 16)
            if not more:
                return b""
            data += more
        return data

    def _end_rank(self) -> None:
        """Asks the rank to end, and after a moment kills it, which also ends a stopped process."""
        for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 0.0)):
            try:
                os.kill(self._pid, number)
            except ProcessLookupError:
                return
            until = time.monotonic() + patience
            while time.monotonic() < until and select.select([self._rank], [], [], patience)[0]:
                if not self._rank.recv(1 << 16):
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


def connect(referee: List[Place], hello: Dict[str, Any], patience: float) -> Optional[socket.socket]:
    """A connection on which the referee has welcomed this rank, at whichever of its addresses is reached first."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for place in referee:
            with contextlib.suppress(OSError):
                connection = introduce(place, hello)
                connection.settimeout(None)
                return connection
        time.sleep(0.2)
    return None


def introduce(place: Place, hello: Dict[str, Any]) -> socket.socket:
    """A connection on which the referee has answered: strangers in a crowd may push one out before its token is read. Raises OSError."""
    connection = open_connection(place)
    try:
        send(connection, **hello)
        if connection.recv(len(WELCOME)) == WELCOME:
            return connection
    except OSError:
        connection.close()
        raise
    connection.close()
    raise ConnectionError("the referee has closed the connection")


def run_rank(plan: Plan, kind: "Type[Run]") -> int:
    """Runs one rank of the plan to its end and gives its exit status; `kind` is the class that runs the steps."""
    # one stream, so that lines stay in their order
    os.dup2(1, 2)
    identity = Identity()
    hello = {
        "cmd": "hello",
        "token": identity.token,
        "rank": identity.rank,
        "world": identity.world,
        "local": identity.local,
        "node": identity.node,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "plan": plan.digest(),
    }
    # before torch is imported: "did not start" and "cannot import torch" are two different faults
    link = RefereeLink(identity.referee, hello, plan.limits["join"])
    start = link.receive()
    if start.get("cmd") == "plan":
        link.send(cmd="plan", groups=[[group.name, group.module, group.ranks] for group in plan.groups])
        link.await_verdict()
    run = kind(plan, identity, link, start)
    try:
        run.run()
    except Exception as error:
        # whatever it is, the referee must learn of it
        traceback.print_exc()
        link.send(step=run.step, **run.report(error))
        link.await_verdict()
    return 0


class Run:
    """The steps of one rank, each behind the referee's gate."""

    def __init__(self, plan: Plan, identity: Identity, link: RefereeLink, start: Dict[str, Any]) -> None:
        """`start` is the referee's message that starts the run: it says where the ranks' store is."""
        self._plan = plan
        self._identity = identity
        self._link = link
        self._start = start
        self._handles: List[Any] = []
        self.step = "import"

    def run(self) -> None:
        """All steps in their order."""
        import torch  # the slow part of a start, after the rank has said that it is there
        import torch.distributed

        self._torch = torch
        backend = self._choose_backend()
        self._device = self._choose_device(backend)
        self._say_device(backend)
        free = self._free_memory()
        self._initialize(backend)
        for place, family in enumerate(self._plan.families):
            self._create(place, family)
        self._run_groups(None)
        self._measure_bandwidth()
        self._measure_overlap()
        self._gather_sequences()
        if self._plan.spares:
            self._pass("spares")
            if self._identity.rank in self._plan.spares:
                # as in training: the process ends by itself, and closes nothing that others share
                self._link.send(cmd="bye")
                return
            self._pass("stay")
            self._run_groups("ntp")
        self._finish(free)

    def _gather_sequences(self) -> None:
        """Joins the parts of every sequence of which this rank holds one."""
        for place, sequence in enumerate(self._plan.sequences):
            if self._identity.rank in self._plan.holders(place):
                self._enter("sequence:%d" % place)
                began = time.perf_counter()
                self._gather(sequence)
                self._done(self.step, began)

    def _finish(self, free: Optional[int]) -> None:
        """Closes the groups and leaves; `free` is the GPU's free memory before there were any, in bytes."""
        torch = self._torch
        self._enter("finish")
        # communicators that were never used have cost nothing; the others show in what the device has lost
        held = free - self._free_memory() - torch.cuda.memory_reserved(self._device) if free is not None else None
        began = time.perf_counter()
        if not self._plan.spares:
            # NCCL closes a communicator together with all its members
            torch.distributed.destroy_process_group()
        self._done("finish", began, bytes=held)
        # its host keeps the store until everyone has closed its groups
        self._link.gate("leave")
        self._link.send(cmd="bye")

    def report(self, error: Exception) -> Dict[str, Any]:
        """What the referee is told of an error."""
        from collectives import WrongDataError

        if isinstance(error, WrongDataError):
            return {"cmd": "wrong", "suspect": error.suspect, "msg": str(error)}
        first = (str(error).strip().splitlines() or [""])[0]
        return {"cmd": "error", "msg": ("%s: %s" % (type(error).__name__, first))[:400]}

    def _choose_backend(self) -> str:
        if self._plan.backend != "auto":
            return self._plan.backend
        return "nccl" if self._torch.cuda.is_available() else "gloo"

    def _choose_device(self, backend: str) -> Any:
        torch = self._torch
        if backend != "nccl":
            torch.set_num_threads(1)
            return torch.device("cpu")
        # a launcher may show each rank one GPU of its own
        count, local = torch.cuda.device_count(), self._identity.local
        index = 0 if count == 1 else local
        if index >= count:
            raise RuntimeError("local rank %d has no GPU: torch sees %d on this host" % (local, count))
        device = torch.device("cuda", index)
        torch.cuda.set_device(device)
        return device

    def _say_device(self, backend: str) -> None:
        torch = self._torch
        software = ["torch " + torch.__version__, backend]
        name, unique = "CPU", None
        if self._device.type == "cuda":
            properties = torch.cuda.get_device_properties(self._device)
            software.append("NCCL " + ".".join(str(part) for part in torch.cuda.nccl.version()))
            name = properties.name
            unique = pci_bus(properties) or str(getattr(properties, "uuid", "")) or None
        self._link.send(cmd="device", name=name, unique=unique, software=" ".join(software))

    def _free_memory(self) -> Any:
        """Free bytes of the GPU; None on a CPU."""
        return self._torch.cuda.mem_get_info(self._device)[0] if self._device.type == "cuda" else None

    def _initialize(self, backend: str) -> None:
        """The default group, over the store that the referee names: a file on one machine, else one that a rank hosts."""
        dist, world, rank = self._torch.distributed, self._plan.world_size, self._identity.rank
        limit = self._backstop()
        store = None
        if "bind" in self._start:
            store = self._host_store(self._start["bind"], limit)
            self._link.send(cmd="store", port=store.port)
        go = self._enter("init")
        began = time.perf_counter()
        if "file" in self._start:
            store = dist.FileStore(self._start["file"], world)
            store.set_timeout(limit)
        else:
            # keys that no stranger can guess: the store itself asks nobody who they are
            store = dist.PrefixStore(go["prefix"], store or dist.TCPStore(go["address"], go["port"], world, False, limit))
        dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=limit)
        self._done("init", began)

    def _host_store(self, address: str, limit: datetime.timedelta) -> Any:
        """A store that listens at one address of this machine; at all of them where torch or the network leaves no choice."""
        dist, world = self._torch.distributed, self._plan.world_size
        try:
            listener = socket.create_server((address, 0), backlog=world)
        except OSError:
            # the others know this machine by an address that is not its own
            return dist.TCPStore("127.0.0.1", 0, world, True, limit, wait_for_workers=False)
        with listener:
            port = listener.getsockname()[1]
            try:
                store = dist.TCPStore(address, port, world, True, limit, wait_for_workers=False, master_listen_fd=listener.fileno())
            except TypeError:
                # torch 1.13 cannot take over a socket
                return dist.TCPStore("127.0.0.1", 0, world, True, limit, wait_for_workers=False)
            listener.detach()
            return store

    def _backstop(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=max(self._plan.operation_limit(kind) for kind in ("run", "bandwidth")) + BACKSTOP)

    def _enter(self, step: str) -> Dict[str, Any]:
        message = self._link.gate(step)
        self.step = step
        return message

    def _done(self, step: str, began: float, **more: Any) -> None:
        self._link.send(cmd="done", step=step, ms=round((time.perf_counter() - began) * 1e3, 3), **more)

    def _pass(self, step: str) -> None:
        """A step at which ranks only meet."""
        self._enter(step)
        self._done(step, time.perf_counter())

    def _create(self, place: int, family: List[Group]) -> None:
        """Every rank makes every group, also those it is not in: that is how torch keeps them in step."""
        self._enter("create:%d" % place)
        began = time.perf_counter()
        for group in family:
            self._handles.append(self.create_group(group))
        self._done(self.step, began)

    def create_group(self, group: Group) -> Any:
        """Makes one group, connected lazily as in training."""
        return self._torch.distributed.new_group(group.ranks, timeout=self._backstop())

    def _run_groups(self, check: Optional[str]) -> None:
        """The groups of a check that this rank is in; a single rank has nobody to talk to, and moves nothing."""
        for group in self._plan.groups:
            if group.check == check and len(group.ranks) > 1 and self._identity.rank in group.ranks:
                self.come(group)
                self._enter("run:%d" % group.index)
                began = time.perf_counter()
                self._done(self.step, began, ops=self.try_group(group))

    def come(self, group: Group) -> None:
        """What happens between two groups: nothing."""

    def try_group(self, group: Group) -> Dict[str, Dict[str, Any]]:
        """Proves who is in a group and, where the plan asks for it, what its collectives give and take."""
        checker = self.checker(group, self._plan.payload_bytes)
        checker.membership()
        timings: Dict[str, Dict[str, Any]] = checker.run_all() if "collectives" in self._plan.checks else {}
        return timings

    def _measure_bandwidth(self) -> None:
        """The same collectives at several payloads, one group of a kind after another."""
        for group in self._plan.swept():
            if self._identity.rank in group.ranks:
                self._enter("bandwidth:%d" % group.index)
                began = time.perf_counter()
                self._done(self.step, began, sweep=[self.checker(group, size).run_all() for size in self._plan.sweep_bytes])

    def _measure_overlap(self) -> None:
        """An all_gather beside a reduce_scatter, in one communicator and in two."""
        for index, other in self._plan.overlap.items():
            group = self._plan.groups[index]
            if self._identity.rank in group.ranks:
                self._enter("overlap:%d" % index)
                began = time.perf_counter()
                cuda = self._device.type == "cuda"
                checker = self.checker(group, self._plan.payload_bytes)
                self._done(self.step, began, times=checker.overlap(self._handles[other]) if cuda else None)

    def _gather(self, sequence: Sequence) -> None:
        """Fills the token positions that this rank owns, and joins everyone's as training joins activations."""
        from collectives import gather_positions, need_each_position_once

        groups = {name: self._plan.group_with(name, sequence.module, self._identity.rank) for name in ("tp", "cp")}
        place = {name: sorted(group.ranks).index(self._identity.rank) if group else 0 for name, group in groups.items()}
        owned = {(share.cp_rank, share.tp_rank): share.ranges for share in sequence.shares}
        held = self.positions(owned[place["cp"], place["tp"]])
        # what every place of a group holds; a group gathered first is part of what the next one joins
        parts = {key: positions_of(ranges) for key, ranges in owned.items()}
        for name in sequence.gather:
            group = groups[name]
            if group is None:
                continue
            if name == "tp":
                size = len(group.ranks)
                want = [parts[place["cp"], other] for other in range(size)]
                parts = {(cp, tp): [one for part in range(size) for one in parts[cp, part]] for cp, tp in parts}
            else:
                want = [parts[other, place["tp"]] for other in range(len(group.ranks))]
            held = gather_positions(group, self._handles[group.index], held, want, self._device)
        need_each_position_once(held, sequence.length)

    def positions(self, ranges: List[List[int]]) -> List[int]:
        """The token positions that this rank says it holds."""
        return positions_of(ranges)

    def checker(self, group: Group, payload_bytes: int) -> Any:
        """The collectives of one group, at a payload."""
        from collectives import Checker

        handle, rank = self._handles[group.index], self._identity.rank
        return Checker(group, handle, rank, self._device, payload_bytes, self._plan.iterations)


def positions_of(ranges: List[List[int]]) -> List[int]:
    """The token positions in some half-open ranges."""
    return [position for start, end in ranges for position in range(start, end)]


def pci_bus(properties: Any) -> Optional[str]:
    """The PCI bus id of a GPU, where torch tells it."""
    if not hasattr(properties, "pci_bus_id"):
        return None
    return "%04x:%02x:%02x" % (properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id)
