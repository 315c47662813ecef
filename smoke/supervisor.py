"""Starts a referee with its ranks, ends them on a signal, and removes what they leave."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import stat
import sys
import tempfile
from typing import Callable, Dict, Iterator

from connections import LOOPBACK_ADDRESS, listen_beyond, listen_within, own_addresses
from plan import Plan, PlanError
from processes import Command, LocalRanks, become_subreaper, rank_environment, wake_with_parent
from referee import Referee
from verdicts import Starter

#: Signals that ask the job to end.
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def referee_job(plan: Plan, options: argparse.Namespace) -> int:
    """Runs a whole job: on this machine, or through the command that `options.launcher` gives. Raises OSError, PlanError."""
    token = secrets.token_hex(16)
    plan_file = os.path.abspath(options.plan)
    with run_folder(plan_file, options.own_folder) as folder:
        store = None if options.launcher else os.path.join(folder, "store")
        listener = listen_beyond(options.bind, 0) if options.launcher else listen_within(folder)
        referee = Referee(plan, sys.stdout, token, options.job, listener, store)
        if options.parent_pipe:
            watch_parent(referee)
        loopback = not options.launcher or options.bind == LOOPBACK_ADDRESS
        hosts = [LOOPBACK_ADDRESS] if loopback else own_addresses()
        environment = rank_environment(referee.server.places(hosts), token, loopback)
        if options.launcher:
            return supervise(referee, lambda: Command(options.launcher, environment))
        return supervise(referee, lambda: local_ranks(plan, plan_file, environment, folder, referee))


def local_ranks(plan: Plan, plan_file: str, environment: Dict[str, str], folder: str, referee: Referee) -> LocalRanks:
    """Starts all ranks of a plan on this machine. Raises OSError."""
    return LocalRanks(plan_file, range(plan.world_size), plan.world_size, environment, folder, referee.server)


def supervise(referee: Referee, start: Callable[[], Starter]) -> int:
    """Starts the ranks, lets the referee follow the job to its end, and leaves nothing; the exit status. Raises OSError."""
    handle_signals(referee.cancel)
    become_subreaper()
    return referee.serve(start())


def handle_signals(cancel: Callable[[], object]) -> None:
    """Calls `cancel` for every signal that asks the job to end: it ends like any other, with an event."""
    for number in ENDING:
        signal.signal(number, lambda *_: cancel())


def watch_parent(referee: Referee) -> None:
    """Cancels the job when its parent has gone, which shows as the end of standard input.

    An input that is no pipe (a terminal, /dev/null) ends for other reasons, and is not watched.
    """
    with contextlib.suppress(OSError):
        mode = os.fstat(0).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            referee.server.watch(0, lambda: read_parent(referee))
            # the end of a pipe wakes no process that is stopped
            wake_with_parent()


def read_parent(referee: Referee) -> None:
    """Reads what the parent sends, which is nothing but its end."""
    try:
        data = os.read(0, 4096)
    except OSError:
        data = b""
    if not data:
        referee.server.unwatch(0)
        referee.cancel("The process that started the job is gone.")


@contextlib.contextmanager
def run_folder(plan_file: str, is_own: bool) -> Iterator[str]:
    """A private folder in which ranks run and meet: that of the plan, or a fresh one. It is removed at the end.

    Raises PlanError where the plan's folder is not private, and OSError where there is no room for a fresh one.
    """
    folder = private_folder(os.path.dirname(plan_file)) if is_own else tempfile.mkdtemp(prefix="parallelism-layout-smoke-%d-" % os.getpid())
    try:
        yield folder
    finally:
        # a rank that is being killed may still write
        for _ in range(3):
            shutil.rmtree(folder, ignore_errors=True)


def private_folder(folder: str) -> str:
    """A folder that only this user can reach, as mkdtemp makes it. Raises PlanError for others: they are not removed."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PlanError("%s is no private folder" % folder)
    return folder
