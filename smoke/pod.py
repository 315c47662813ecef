"""One of several pods that run a smoke job together: each starts its own ranks, and the first runs the referee too.

No pod waits for a rendezvous of launchers, so the referee knows every pod that came and can name those that did not.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from connections import LOOPBACK_ADDRESS, listen_beyond, listen_within
from events import write_line
from plan import Plan, PlanError
from processes import LocalRanks, become_subreaper, rank_environment
from protocol import send
from rank import introduce
from supervisor import handle_signals, run_folder, supervise
from terminal import printable

#: Seconds between two attempts to reach the referee, and between two lines about it.
RETRY = 1.0
REPORT = 15.0

#: How long a pod stays after its ranks until the referee has judged: a pod that ends at once may end the others. Seconds.
PATIENCE = 30.0

#: Exit status of a pod that was told to end.
CANCELLED = 143


def run_pod(plan: Plan, options: argparse.Namespace) -> int:
    """Runs the part of the pod `options.index`, and gives its exit status: that of the job is the first pod's. Raises PlanError, OSError."""
    token = os.environ.get("SMOKE_TOKEN", "")
    if not token:
        raise PlanError("SMOKE_TOKEN is not set: anybody could join the job")
    with run_folder(os.path.abspath(options.plan), is_own=False) as folder:
        if options.index == 0:
            return run_first(plan, options, token, folder)
        companion = Companion(plan, options, token, folder)
        handle_signals(companion.cancel)
        return companion.run()


def run_first(plan: Plan, options: argparse.Namespace, token: str, folder: str) -> int:
    """The first pod: the referee, and the first ranks, which reach it on the loopback."""
    from referee import Referee

    ranks = ranks_of_pod(plan.world_size, options.ranks_per_pod, 0)
    alone = len(ranks) == plan.world_size
    store = os.path.join(folder, "store") if alone else None
    listener = listen_within(folder) if alone else listen_beyond("0.0.0.0", options.port)
    referee = Referee(plan, sys.stdout, token, options.job, listener, store)
    environment = rank_environment(referee.server.places([LOOPBACK_ADDRESS]), token, loopback=alone)
    plan_file = os.path.abspath(options.plan)
    return supervise(referee, lambda: LocalRanks(plan_file, ranks, plan.world_size, environment, folder, referee.server))


def ranks_of_pod(world: int, per_pod: int, index: int) -> List[int]:
    """The global ranks of a pod."""
    return list(range(index * per_pod, min(world, (index + 1) * per_pod)))


class Companion:
    """A pod beside the first one."""

    def __init__(self, plan: Plan, options: argparse.Namespace, token: str, folder: str) -> None:
        self._plan_file = os.path.abspath(options.plan)
        self._world = plan.world_size
        self._address = (str(options.referee), int(options.port))
        self._token = token
        self._folder = folder
        self._ranks = ranks_of_pod(plan.world_size, options.ranks_per_pod, options.index)
        self._selector = selectors.DefaultSelector()
        self._reported: Dict[int, str] = {}
        self._cancelled = False
        self._judged = False

    def cancel(self) -> None:
        """Ends the pod's ranks, at the next look: safe in a signal handler."""
        self._cancelled = True

    def run(self) -> int:
        """Waits for the referee, runs the ranks to their end, and stays until the referee has judged. Raises OSError."""
        connection = self._find_referee()
        if connection is None:
            return CANCELLED
        become_subreaper()
        environment = rank_environment(["%s:%d" % self._address], self._token, loopback=False)
        ranks = LocalRanks(self._plan_file, self._ranks, self._world, environment, self._folder, self)
        while not self._cancelled and not self._judged and len(self._reported) < len(self._ranks):
            self.read(0.2)
            self._report(connection, ranks)
        self._await_verdict(connection)
        ranks.stop(passed=False)
        return CANCELLED if self._cancelled else 0

    # ---- the output of ranks

    def watch(self, file: Any, ready: Callable[[], None]) -> None:
        """Calls `ready` whenever a file can be read."""
        self._selector.register(file, selectors.EVENT_READ, ready)

    def unwatch(self, file: Any) -> None:
        """Looks at a file no more."""
        self._selector.unregister(file)

    def read(self, seconds: float) -> None:
        """Reads what ranks write within so many seconds."""
        if not self._selector.get_map():
            time.sleep(seconds)
            return
        for key, _ in self._selector.select(seconds):
            key.data()

    # ---- the referee

    def _find_referee(self) -> Optional[socket.socket]:
        """A connection on which the referee knows this pod, whenever its own pod comes; what prevents it goes to the log."""
        hello = {"cmd": "machine", "token": self._token, "host": socket.gethostname(), "ranks": self._ranks}
        reported = 0.0
        while not self._cancelled:
            try:
                return introduce(self._address, hello)
            except OSError as error:
                if time.monotonic() - reported > REPORT:
                    reported = time.monotonic()
                    write_line(sys.stderr, printable("smoke job: waiting for the first pod, %s:%d: %s" % (*self._address, error)))
            time.sleep(RETRY)
        return None

    def _report(self, connection: socket.socket, ranks: LocalRanks) -> None:
        """Tells the referee of every rank that has ended."""
        for rank, fate in ranks.fates().items():
            if rank not in self._reported:
                self._reported[rank] = fate
                try:
                    send(connection, ended=rank, how=fate)
                except OSError:
                    # the referee is gone; the ranks' helpers notice as well, and end them
                    self._judged = True

    def _await_verdict(self, connection: socket.socket) -> None:
        """The referee sends nothing any more: its end closes the connection."""
        connection.settimeout(1.0)
        until = time.monotonic() + PATIENCE
        while not self._cancelled and not self._judged and time.monotonic() < until:
            try:
                if not connection.recv(1):
                    return
            except socket.timeout:
                continue
            except OSError:
                return
