"""The processes of a smoke job: started with an environment of their own, and none left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence, Tuple

from events import write_line
from plan import list_ranks
from terminal import printable

#: Options of prctl(2).
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

#: How long processes have to end by themselves after SIGTERM, in seconds.
GRACE = 3.0

#: How long processes have to end by themselves after all ranks have passed, in seconds.
FAREWELL = 10.0

#: Seconds between two looks at processes that are to end.
PAUSE = 0.05

#: A longer line of a rank's output is broken, in bytes.
MAX_OUTPUT_LINE = 4096

#: Variables by which a launcher tells its ranks who they are. Inherited ones belong to another job.
LAUNCHER_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "ROLE_RANK")
LAUNCHER_PREFIXES = ("SMOKE_", "TORCHELASTIC_", "OMPI_COMM_WORLD_", "PMI_")

#: The loopback interface, in every variable by which gloo and NCCL choose the interface that they listen on.
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
LOOPBACK_ONLY = {"GLOO_SOCKET_IFNAME": LOOPBACK, "TP_SOCKET_IFNAME": LOOPBACK, "NCCL_SOCKET_IFNAME": "=" + LOOPBACK}


class Reader(Protocol):
    """Reads files as they fill; the referee's server is one."""

    def watch(self, file: Any, ready: Callable[[], None]) -> None:
        """Calls `ready` whenever a file can be read."""

    def unwatch(self, file: Any) -> None:
        """Looks at a file no more."""

    def read(self, seconds: float) -> None:
        """Reads what has arrived, or arrives within so many seconds."""


class Command:
    """A command that starts all ranks, such as srun, with everything that it starts."""

    ends_together = True

    def __init__(self, command: Sequence[str], environment: Dict[str, str]) -> None:
        """Starts the command; its output goes to standard error. Raises OSError where it cannot be started."""
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - this process has one thread
        )

    def starts(self, _: int) -> bool:
        """Ranks are processes of the command, not of this one."""
        return False

    def fate(self, _: int) -> Optional[str]:
        """Unknown: the command does not say it."""
        return None

    def unable(self, missing: List[int]) -> Optional[Tuple[List[int], str]]:
        """All missing ranks, once the command has ended."""
        status = self._process.poll()
        if status is None:
            return None
        return missing, "The launcher %s before rank(s) %s joined." % (describe_status(status), list_ranks(missing))

    def stop(self, passed: bool) -> List[int]:
        """Ends the command and every process that came from it; the ids of those that cannot be ended."""
        end([self._process], passed, time.sleep)
        return sweep()


class LocalRanks:
    """Ranks that this process starts on its own machine."""

    ends_together = False

    def __init__(self, plan: str, ranks: Sequence[int], world: int, environment: Dict[str, str], folder: str, reader: Reader) -> None:
        """Starts the ranks in a private folder, where no file of a stranger can be imported. Raises OSError."""
        self._reader = reader
        self._processes: Dict[int, subprocess.Popen[bytes]] = {}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "smoke_job.py")
        try:
            for local, rank in enumerate(ranks):
                place = {"RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(len(ranks))}
                process = subprocess.Popen(
                    [sys.executable, script, "rank", "--plan", plan],
                    env={**environment, **place},
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=die_with_parent,  # noqa: PLW1509 - this process has one thread
                )
                self._processes[rank] = process
                Output(rank, process.stdout, reader)
        except OSError:
            self.stop(passed=False)
            raise

    def starts(self, rank: int) -> bool:
        """Whether the rank is one of this machine."""
        return rank in self._processes

    def fate(self, rank: int) -> Optional[str]:
        """How a rank's process ended; None while it runs, and for ranks of other machines."""
        process = self._processes.get(rank)
        status = process.poll() if process is not None else None
        return None if status is None else describe_status(status)

    def fates(self) -> Dict[int, str]:
        """How the ranks that have ended did so."""
        known = {rank: self.fate(rank) for rank in self._processes}
        return {rank: fate for rank, fate in known.items() if fate is not None}

    def unable(self, missing: List[int]) -> Optional[Tuple[List[int], str]]:
        """The missing ranks whose processes have ended."""
        fates = self.fates()
        ended = [rank for rank in missing if rank in fates]
        if not ended:
            return None
        return ended, "Rank(s) %s %s before joining." % (list_ranks(ended), fates[ended[0]])

    def stop(self, passed: bool) -> List[int]:
        """Ends the ranks and every process that came from them; the ids of those that cannot be ended."""
        end(list(self._processes.values()), passed, self._reader.read)
        left = sweep()
        # the last words
        self._reader.read(0)
        return left


class Output:
    """What a rank writes for people: goes to standard error line by line, each with the rank's number."""

    def __init__(self, rank: int, pipe: Any, reader: Reader) -> None:
        self._prefix = "[rank %d] " % rank
        self._pipe = pipe
        self._reader = reader
        self._rest = b""
        os.set_blocking(pipe.fileno(), False)
        reader.watch(pipe, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._pipe.fileno(), 1 << 16)
        except BlockingIOError:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_OUTPUT_LINE or not data:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            for at in range(0, len(line), MAX_OUTPUT_LINE):
                piece = line[at : at + MAX_OUTPUT_LINE].decode(errors="replace").rstrip("\r")
                write_line(sys.stderr, self._prefix + printable(piece))
        if not data:
            self._reader.unwatch(self._pipe)
            self._pipe.close()


def own_environment(keep: Sequence[str] = ()) -> Dict[str, str]:
    """This process's environment without what another job or a caller has left there for ranks."""
    return {name: value for name, value in os.environ.items() if name in keep or not (name in LAUNCHER_VARIABLES or name.startswith(LAUNCHER_PREFIXES))}


def rank_environment(referee: List[str], token: str, loopback: bool) -> Dict[str, str]:
    """The environment of ranks; `referee` lists the referee's places, `loopback` keeps everything on this machine."""
    environment = {
        **own_environment(keep=["SMOKE_NODE"]),
        "SMOKE_REFEREE": ",".join(referee),
        "SMOKE_TOKEN": token,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "PYTHONUNBUFFERED": "1",
        # Python 3.11 and later: nothing is imported from the directory of a script or a module
        "PYTHONSAFEPATH": "1",
    }
    if loopback:
        # an address of the first process, which would have it listen there
        environment.pop("NCCL_COMM_ID", None)
        environment.update(LOOPBACK_ONLY)
    return environment


def describe_status(status: int) -> str:
    """How a process ended, by its exit status as subprocess gives it."""
    return "was killed (%s)" % signal_name(-status) if status < 0 else "ended with status %d" % status


def signal_name(number: int) -> str:
    """A signal by its number and name: `signal 9, SIGKILL`; real-time signals have no name."""
    try:
        return "signal %d, %s" % (number, signal.Signals(number).name)
    except ValueError:
        return "signal %d" % number


def end(processes: Sequence[subprocess.Popen[bytes]], passed: bool, pause: Callable[[float], None]) -> None:
    """Waits for processes to end: by themselves if they have passed, then after SIGTERM, then after SIGKILL."""
    if passed:
        wait(processes, FAREWELL, pause)
    for process in processes:
        if process.poll() is None:
            process.terminate()
    wait(processes, GRACE, pause)
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


def wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float, pause: Callable[[float], None]) -> None:
    """Waits until all processes have ended, but no longer than so many seconds; `pause` passes some of them usefully."""
    until = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < until:
        pause(PAUSE)


def prctl(option: int, value: int) -> None:
    """Sets an attribute of this process; does nothing where the kernel is not Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_subreaper() -> None:
    """Makes orphans among this process's descendants its own children, so that `sweep` finds them."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Asks for SIGTERM when the parent dies, however it dies: a launcher has ranks on other machines to end."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def die_with_parent() -> None:
    """Asks for SIGKILL when the parent dies, however it dies: it ends a stopped process, too."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wake_with_parent() -> None:
    """Asks for SIGCONT when the parent dies: a stopped process goes on, tells what it still has to tell, and ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def sweep(seconds: float = 3.0) -> List[int]:
    """Kills every descendant of this process; the ids of those still there after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        reap()
        left = descendants(os.getpid())
        if not left or time.monotonic() > deadline:
            return left
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def reap() -> None:
    """Collects the exit statuses of orphans that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def descendants(ancestor: int) -> List[int]:
    """The processes that descend from another, by /proc; none where there is no /proc."""
    children: Dict[Optional[int], List[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit():
            children.setdefault(parent(int(name)), []).append(int(name))
    found: List[int] = []
    queue = [ancestor]
    while queue:
        for pid in children.get(queue.pop(), []):
            found.append(pid)
            queue.append(pid)
    return sorted(found)


def parent(pid: int) -> Optional[int]:
    """The parent of a process, or None when it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return None
