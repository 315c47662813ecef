#!/usr/bin/env python3
"""The smoke job: proves on real machines that every process group of a plan comes up and moves data correctly.

  smoke_job.py referee --plan PLAN.json                  the referee, which starts all ranks on this machine
  smoke_job.py referee --plan PLAN.json -- LAUNCHER...   the referee, with a command such as srun that starts them
  smoke_job.py rank --plan PLAN.json                     one rank, as the referee, srun or mpirun starts it
  smoke_job.py pod --plan PLAN.json --index N ...        one of several pods: its ranks, and in the first the referee

Events go to standard output, a JSON object a line; a line for people goes to standard error. The exit status is 0 where
everything passed; protocol.py lists the others.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

# with PYTHONSAFEPATH the interpreter leaves this out
HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path:
    sys.path.insert(0, HERE)

from events import write_line  # noqa: E402
from plan import Plan, PlanError, load_plan  # noqa: E402
from protocol import USAGE  # noqa: E402
from terminal import printable  # noqa: E402


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs one role and gives its exit status."""
    options = parse(arguments)
    try:
        return int(options.run(load_plan(options.plan), options))
    except (PlanError, OSError) as error:
        write_line(sys.stderr, printable("smoke job: %s" % error))
        return USAGE


def parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The options of one role. Exits with status 2 where they are wrong."""
    parser = argparse.ArgumentParser(prog="smoke_job.py", description="Prove that the process groups of a plan work.")
    roles = parser.add_subparsers(dest="role", required=True)
    referee_role = roles.add_parser("referee", help="start the ranks, watch them, and write the events")
    referee_role.add_argument("--job", default="local", help="name of the job in the events")
    referee_role.add_argument("--bind", default="127.0.0.1", help="address that the referee listens on where a launcher starts the ranks")
    referee_role.add_argument("--parent-pipe", action="store_true", help="cancel the job when standard input, a pipe, ends")
    referee_role.add_argument("--own-folder", action="store_true", help="the plan's folder is private to this run: remove it at the end")
    referee_role.add_argument("launcher", nargs="*", help="the command that starts the ranks, after --")
    referee_role.set_defaults(run=referee)
    rank_role = roles.add_parser("rank", help="be one rank")
    rank_role.set_defaults(run=rank)
    pod_role = roles.add_parser("pod", help="start the ranks of one pod, and in the first the referee")
    pod_role.add_argument("--job", required=True, help="name of the job in the events")
    pod_role.add_argument("--index", type=int, required=True, help="the pod's index, from 0")
    pod_role.add_argument("--ranks-per-pod", type=int, required=True, help="ranks in every pod but perhaps the last")
    pod_role.add_argument("--referee", required=True, help="host name of the first pod")
    pod_role.add_argument("--port", type=int, required=True, help="the port of the referee")
    pod_role.set_defaults(run=pod)
    for role in (referee_role, rank_role, pod_role):
        role.add_argument("--plan", required=True, help="the plan that the engine wrote")
    return parser.parse_args(arguments)


def rank(plan: Plan, _: argparse.Namespace) -> int:
    """One rank, with what the referee left for it in the environment."""
    from rank import Run, run_rank

    return run_rank(plan, Run)


def pod(plan: Plan, options: argparse.Namespace) -> int:
    """The part that one pod of a cluster has in the job."""
    from pod import run_pod

    return run_pod(plan, options)


def referee(plan: Plan, options: argparse.Namespace) -> int:
    """The referee, with all that it starts; nothing of that is left at the end."""
    from supervisor import referee_job

    return referee_job(plan, options)


if __name__ == "__main__":
    sys.exit(main())
