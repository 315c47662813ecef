#!/usr/bin/env python3
"""The smoke job: proves on real machines that every process group of a plan comes up and moves data correctly.

  smoke_job.py local --plan PLAN.json     the referee, with torchrun starting all ranks on this machine
  smoke_job.py referee --plan PLAN.json   the referee alone, for ranks that something else starts
  smoke_job.py rank --plan PLAN.json      one rank, as torchrun, srun or mpirun starts it

Events go to standard output, a JSON object a line; a line for people goes to standard error. The exit status is 0 where
everything passed; smoke/protocol.py lists the others.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from typing import List, Optional

from protocol import USAGE, Plan, PlanError, load_plan
from referee import Referee


#: How long torchrun has to end by itself after all ranks have passed, in seconds.
FAREWELL = 10.0


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs one role and gives its exit status."""
    options = parse(arguments)
    try:
        plan = load_plan(options.plan)
    except PlanError as error:
        sys.stderr.write("smoke job: %s\n" % error)
        return USAGE
    if options.role == "rank":
        return rank(plan, options)
    if options.role == "referee":
        return referee(plan, options)
    return local(plan, options)


def parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="smoke_job.py", description="Prove that the process groups of a plan work.")
    parser.add_argument("role", choices=["local", "referee", "rank"])
    parser.add_argument("--plan", required=True, help="the plan that the engine wrote")
    parser.add_argument("--job", default="local", help="how the job is called in the events")
    parser.add_argument("--referee", default=os.environ.get("SMOKE_REFEREE", ""), help="HOST:PORT of the referee (rank)")
    parser.add_argument("--bind", default="0.0.0.0", help="address that the referee listens on (referee)")
    parser.add_argument("--port-file", help="file that gets the referee's port (referee)")
    options = parser.parse_args(arguments)
    if options.role == "rank" and not options.referee:
        parser.error("a rank needs --referee HOST:PORT or SMOKE_REFEREE")
    return options


def rank(plan: Plan, options: argparse.Namespace) -> int:
    """One rank. A fault that tests inject keeps it from ever starting."""
    from rank import run_rank

    if os.environ.get("SMOKE_FAULT", "") == "%s:never" % os.environ.get("RANK", ""):
        time.sleep(1e6)
    return run_rank(plan, options.referee, os.environ.get("SMOKE_TOKEN", ""))


def referee(plan: Plan, options: argparse.Namespace) -> int:
    """The referee alone; its port goes to a file so that a batch script can hand it to the ranks."""
    judge = Referee(plan, sys.stdout, os.environ.get("SMOKE_TOKEN", ""), options.job, bind=options.bind)
    watch_signals(judge)
    if options.port_file:
        with open(options.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(str(judge.port))
        os.replace(options.port_file + ".new", options.port_file)
    return judge.serve()


def watch_signals(judge: Referee) -> None:
    """A request to end is a verdict like any other: everyone is told, and the stream gets its last line."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: judge.cancel())


def local(plan: Plan, options: argparse.Namespace) -> int:
    """All ranks on this machine, started by torchrun in a session of its own, which is swept at the end."""
    token = secrets.token_hex(16)
    judge = Referee(plan, sys.stdout, token, options.job)
    with tempfile.TemporaryDirectory(prefix="smoke-job-") as logs:
        # torchrun's own messages and the ranks' output must not mix with the events
        launcher = subprocess.Popen(
            torchrun(plan, options.plan, judge.port, logs),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            start_new_session=True,
            env={
                **os.environ,
                "SMOKE_TOKEN": token,
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                "PYTHONUNBUFFERED": "1",
            },
        )
        watch_signals(judge)
        try:
            status = judge.serve(alive=lambda: launcher.poll() is None)
            if status == 0:
                launcher.wait(FAREWELL)
            return status
        except subprocess.TimeoutExpired:
            return status
        finally:
            end_session(launcher)


def torchrun(plan: Plan, path: str, port: int, logs: str) -> List[str]:
    """The command that starts the ranks."""
    return [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc_per_node", str(plan.world_size), "--max_restarts", "0"),
        # without these torchrun of torch 1.13 fails under Python 3.11
        *("--redirects", "1", "--tee", "1", "--log_dir", logs),
        *(os.path.abspath(__file__), "rank", "--plan", os.path.abspath(path), "--referee", "127.0.0.1:%d" % port),
    ]


def end_session(launcher: "subprocess.Popen[bytes]") -> None:
    """Ends the launcher and whatever it started: a killed torchrun would leave its workers behind."""
    if launcher.poll() is None:
        launcher.terminate()
        try:
            launcher.wait(5)
        except subprocess.TimeoutExpired:
            pass
    for pid in session_members(launcher.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    launcher.wait()


def session_members(session: int) -> List[int]:
    """The processes of a session, read from /proc; only the leader where there is no /proc."""
    try:
        candidates = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return [session]
    members = []
    for pid in candidates:
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(pid)
    return members


if __name__ == "__main__":
    sys.exit(main())
