#!/usr/bin/env python3
"""The smoke job: proves on real machines that every process group of a plan comes up and moves data correctly.

  smoke_job.py referee --plan PLAN.json -- LAUNCHER...   the referee, which starts the ranks by the launcher
  smoke_job.py rank --plan PLAN.json                     one rank, as torchrun, srun or mpirun starts it
  smoke_job.py pod --plan PLAN.json --index N ...        one of several like pods: its ranks, and in the first the referee

Events go to standard output, a JSON object a line; a line for people goes to standard error. The exit status is 0 where
everything passed; protocol.py lists the others.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from typing import List, Optional

from protocol import USAGE, Plan, PlanError, load_plan


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
    pod_role = roles.add_parser("pod", help="start the ranks of one pod, and in the first the referee")
    pod_role.add_argument("--job", required=True, help="how the job is called in the events")
    pod_role.add_argument("--index", type=int, required=True, help="the pod's place, from 0")
    pod_role.add_argument("--ranks-per-pod", type=int, required=True, help="ranks in every pod but perhaps the last")
    pod_role.add_argument("--referee", required=True, help="the name of the first pod, as the others find it")
    pod_role.add_argument("--port", type=int, required=True, help="the port of the referee")
    pod_role.set_defaults(run=pod)
    for role in (referee_role, rank_role, pod_role):
        role.add_argument("--plan", required=True, help="the plan that the engine wrote")
    return parser.parse_args(arguments)


def rank(plan: Plan, _: argparse.Namespace) -> int:
    """One rank, with whatever the referee left for it in the environment."""
    from rank import Run, run_rank

    return run_rank(plan, Run)


def pod(plan: Plan, options: argparse.Namespace) -> int:
    """The part that one pod of a cluster has in the job."""
    from pod import run_pod

    return run_pod(plan, options)


def referee(plan: Plan, options: argparse.Namespace) -> int:
    """The referee, with the launcher and all that it starts; nothing of that is left at the end."""
    from launcher import preside, rank_environment
    from referee import Referee, own_addresses

    token = secrets.token_hex(16)
    judge = Referee(plan, sys.stdout, token, options.job, bind=options.bind, tether=sys.stdin if options.tether else None)
    hosts = own_addresses() if options.bind == "0.0.0.0" else [options.bind]
    return preside(judge, options.launcher, rank_environment(["%s:%d" % (host, judge.port) for host in hosts], token))


if __name__ == "__main__":
    sys.exit(main())
