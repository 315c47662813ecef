#!/usr/bin/env python3
"""The smoke job: proves on real machines that every process group of a plan comes up and moves data correctly.

  smoke_job.py referee --plan PLAN.json -- LAUNCHER...   the referee, which starts the ranks by the launcher
  smoke_job.py rank --plan PLAN.json                     one rank, as torchrun, srun or mpirun starts it

Events go to standard output, a JSON object a line; a line for people goes to standard error. The exit status is 0 where
everything passed; protocol.py lists the others.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
from typing import List, Optional

from protocol import USAGE, Plan, PlanError, load_plan

#: How long the launcher has to end by itself after all ranks have passed, in seconds.
FAREWELL = 10.0


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs one role and gives its exit status."""
    options = parse(arguments)
    try:
        plan = load_plan(options.plan)
    except PlanError as error:
        sys.stderr.write("smoke job: %s\n" % error)
        return USAGE
    return options.run(plan, options)


def parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="smoke_job.py", description="Prove that the process groups of a plan work.")
    roles = parser.add_subparsers(dest="role", required=True)
    referee_role = roles.add_parser("referee", help="start the ranks, watch them, and write the events")
    referee_role.add_argument("--job", default="local", help="how the job is called in the events")
    referee_role.add_argument("--bind", default="127.0.0.1", help="address that the referee listens on")
    referee_role.add_argument("--tether", action="store_true", help="cancel the job when standard input, a pipe, ends")
    referee_role.add_argument("launcher", nargs="+", help="the command that starts the ranks, after --")
    referee_role.set_defaults(run=referee)
    rank_role = roles.add_parser("rank", help="be one rank")
    rank_role.set_defaults(run=rank)
    for role in (referee_role, rank_role):
        role.add_argument("--plan", required=True, help="the plan that the engine wrote")
    return parser.parse_args(arguments)


def rank(plan: Plan, _: argparse.Namespace) -> int:
    """One rank, with whatever the referee left for it in the environment."""
    from rank import Run, run_rank

    return run_rank(plan, Run)


def referee(plan: Plan, options: argparse.Namespace) -> int:
    """The referee, with the launcher and all that it starts; nothing of that is left at the end."""
    from launcher import Launcher
    from referee import Referee, own_addresses

    token = secrets.token_hex(16)
    judge = Referee(plan, sys.stdout, token, options.job, bind=options.bind, tether=sys.stdin if options.tether else None)
    # a request to end is a verdict like any other: everyone is told, and the stream gets its last line
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: judge.cancel())
    hosts = own_addresses() if options.bind == "0.0.0.0" else [options.bind]
    environment = {
        "SMOKE_REFEREE": ",".join("%s:%d" % (host, judge.port) for host in hosts),
        "SMOKE_TOKEN": token,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "PYTHONUNBUFFERED": "1",
    }
    try:
        launcher = Launcher(options.launcher, environment)
    except OSError as error:
        sys.stderr.write("smoke job: the launcher cannot be started: %s\n" % error)
        return USAGE

    def clear(passed: bool) -> List[int]:
        if passed:
            launcher.wait(FAREWELL)
        return launcher.stop()

    return judge.serve(launcher.status, clear)


if __name__ == "__main__":
    sys.exit(main())
