"""The launcher's processes: started in a session of their own, and none left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

from protocol import USAGE

#: Options of prctl(2).
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

#: How long the launcher has to end by itself after SIGTERM, in seconds.
GRACE = 3.0

#: How long the launcher has to end by itself after all ranks have passed, in seconds.
FAREWELL = 10.0


class Launcher:
    """A command that starts ranks, with everything that it starts."""

    def __init__(self, command: List[str], environment: Dict[str, str]) -> None:
        """Starts the command; its output goes to standard error. Raises OSError where it cannot be started."""
        become_subreaper()
        self.process = subprocess.Popen(
            command,
            env=dict(os.environ, **environment),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def status(self) -> Optional[int]:
        """The exit status, or None while the launcher runs."""
        return self.process.poll()

    def wait(self, seconds: float) -> bool:
        """Waits for the launcher to end by itself; whether it has."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> List[int]:
        """Ends the launcher and every process that came from it; the ids of those that cannot be ended."""
        if self.status() is None:
            self.process.terminate()
            self.wait(GRACE)
        if self.status() is None:
            self.process.kill()
            self.process.wait()
        return sweep()


def rank_environment(referee: List[str], token: str) -> Dict[str, str]:
    """What a launcher leaves in the environment of its ranks; `referee` lists the referee's addresses."""
    return {
        "SMOKE_REFEREE": ",".join(referee),
        "SMOKE_TOKEN": token,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "PYTHONUNBUFFERED": "1",
    }


def preside(judge: Any, command: List[str], environment: Dict[str, str]) -> int:
    """Starts the launcher, lets the referee `judge` follow the job to its end, and leaves nothing; the exit status."""
    # a request to end is a verdict like any other: everyone is told, and the stream gets its last line
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: judge.cancel())
    try:
        launcher = Launcher(command, environment)
    except OSError as error:
        sys.stderr.write("smoke job: the launcher cannot be started: %s\n" % error)
        return USAGE

    def clear(passed: bool) -> List[int]:
        if passed:
            launcher.wait(FAREWELL)
        return launcher.stop()

    return int(judge.serve(launcher.status, clear))


def prctl(option: int, value: int) -> None:
    """Sets an attribute of this process; does nothing where the kernel is not Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_subreaper() -> None:
    """Makes orphans among this process's descendants its own children, so that `sweep` finds them."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Asks for SIGTERM when the parent dies, however it dies."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def sweep(seconds: float = 3.0) -> List[int]:
    """Kills every descendant of this process; the ids of those still there after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        reap()
        left = descendants(os.getpid())
        if not left or time.monotonic() > deadline:
            return left
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)


def reap() -> None:
    """Takes the exit statuses of orphans that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
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
