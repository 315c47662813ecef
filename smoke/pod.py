"""One of several like pods that run a smoke job together: each starts its own ranks, and the first is the referee's too.

No pod waits for a rendezvous of launchers, so that the referee hears of every pod that came and can say which did not.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import tempfile
import time
from typing import Dict, List, Optional

from launcher import Launcher, preside, rank_environment
from protocol import Plan, send

#: Seconds between two looks for the referee, and between two words about it.
RETRY = 1.0
WORD = 15.0

#: How long a pod stays after its ranks until the referee has judged: a pod that ends at once may end the others. Seconds.
PATIENCE = 30.0


def run_pod(plan: Plan, options: argparse.Namespace) -> int:
    """Runs the part of the pod `options.index`, and gives its exit status: that of the job is the first pod's."""
    token = os.environ.get("SMOKE_TOKEN", "")
    ranks = ranks_of(plan.world_size, options.ranks_per_pod, options.index)
    command = launcher_command(options.plan, len(ranks))
    if options.index == 0:
        return run_first(plan, options, command, token)
    address = "%s:%d" % (options.referee, options.port)
    environment = {**rank_environment([address], token), **place_of(plan, ranks)}
    return Companion(options.referee, options.port, token, ranks).run(command, environment)


def run_first(plan: Plan, options: argparse.Namespace, command: List[str], token: str) -> int:
    """The first pod: the referee, and the first ranks, which find it on the loopback."""
    from referee import Referee

    judge = Referee(plan, sys.stdout, token, options.job, bind="0.0.0.0", port=options.port)
    ranks = ranks_of(plan.world_size, options.ranks_per_pod, 0)
    return preside(judge, command, {**rank_environment(["127.0.0.1:%d" % options.port], token), **place_of(plan, ranks)})


def ranks_of(world: int, per_pod: int, index: int) -> List[int]:
    """The global ranks of a pod."""
    return list(range(index * per_pod, min(world, (index + 1) * per_pod)))


def place_of(plan: Plan, ranks: List[int]) -> Dict[str, str]:
    """What tells the ranks of one machine where it stands among the others."""
    return {"SMOKE_FIRST_RANK": str(ranks[0]), "SMOKE_WORLD_SIZE": str(plan.world_size)}


def launcher_command(plan: str, ranks: int) -> List[str]:
    """The launcher of this pod's ranks. Every option is given, because the engine may leave others in the environment."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "smoke_job.py")
    return [
        *(sys.executable, "-m", "torch.distributed.run", "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"),
        *("--rdzv_id", "smoke", "--nnodes", "1", "--node_rank", "0", "--nproc_per_node", str(ranks)),
        *("--max_restarts", "0", "--monitor_interval", "0.5"),
        *("--redirects", "1", "--tee", "1", "--log_dir", tempfile.mkdtemp()),
        *(script, "rank", "--plan", plan),
    ]


class Companion:
    """A pod beside the first one."""

    def __init__(self, host: str, port: int, token: str, ranks: List[int]) -> None:
        self._address = (host, port)
        self._hello = {"cmd": "machine", "token": token, "host": socket.gethostname(), "ranks": ranks}
        self._launcher: Optional[Launcher] = None

    def run(self, command: List[str], environment: Dict[str, str]) -> int:
        """Waits for the referee, runs the launcher to its end, and stays until the referee has judged."""
        # the first process of a container ends on no signal that it has not asked for
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop())
        line = self._find_referee()
        send(line, **self._hello)
        self._launcher = Launcher(command, environment)
        while self._launcher.status() is None:
            self._launcher.wait(1.0)
        self._say_farewell(line, self._launcher.status())
        self._launcher.stop()
        return 0

    def _find_referee(self) -> socket.socket:
        """A line to the referee, whenever its pod comes; what keeps it from coming goes to the log."""
        said = 0.0
        while True:
            try:
                return socket.create_connection(self._address, 5)
            except OSError as error:
                if time.monotonic() - said > WORD:
                    said = time.monotonic()
                    sys.stderr.write("smoke job: waiting for the first pod, %s:%d: %s\n" % (*self._address, error))
            time.sleep(RETRY)

    @staticmethod
    def _say_farewell(line: socket.socket, status: Optional[int]) -> None:
        try:
            send(line, cmd="ended", status=status)
            line.settimeout(PATIENCE)
            # the referee says nothing: its end closes the line
            line.recv(1)
        except OSError:
            pass

    def _stop(self) -> None:
        if self._launcher is not None:
            self._launcher.stop()
        os._exit(143)
