"""A rank of the smoke job with a fault: `faulty_rank.py RANK:KIND@PLACE:GROUP rank --plan PLAN`.

KIND is `never`, `exit`, `kill`, `hang`, `stop`, `freeze` (the helper too), `raise`, `data`, `identity`, `swap` or
`members`. PLACE is `start`, `create`, `gate` (between two groups), `run` (inside a group), `bandwidth`, `overlap` or
`sequence` (inside a check), `spares` (after a spare has said that it leaves) or `plan`.
"""

import os
import signal
import sys
import time
from dataclasses import replace

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "smoke"))

from plan import load_plan  # noqa: E402
from rank import Run, run_rank  # noqa: E402


class Fault:
    def __init__(self, text):
        who, _, what = text.partition(":")
        self.kind, _, where = what.partition("@")
        self.place, _, group = where.partition(":")
        self.group = int(group or 0)
        self.mine = int(os.environ["RANK"]) == int(who)

    def strikes(self, place, group=0):
        return self.mine and (self.place, self.group) == (place, group)

    def trip(self, place, group=0):
        if not self.strikes(place, group):
            return
        if self.kind == "exit":
            os._exit(7)
        if self.kind in ("hang", "never"):
            time.sleep(1e6)
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "freeze":
            for child in children(os.getpid()):
                os.kill(child, signal.SIGSTOP)
        if self.kind in ("stop", "freeze"):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.kind == "raise":
            raise RuntimeError("injected")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


def spoilt(plan, fault):
    """The plan as a rank has it that believes in another one."""
    groups, at = list(plan.groups), fault.group
    if fault.kind == "swap":
        groups[at], groups[at + 1] = groups[at + 1], groups[at]
    if fault.kind == "members":
        groups[at] = replace(groups[at], ranks=groups[at].ranks[:-1])
    return replace(plan, groups=groups)


class FaultyRun(Run):
    def run(self):
        super().run()
        fault.trip("spares")

    def create_group(self, group):
        fault.trip("create", group.index)
        return super().create_group(group)

    def come(self, group):
        fault.trip("gate", group.index)

    def try_group(self, group):
        fault.trip("run", group.index)
        return super().try_group(group)

    def positions(self, ranges):
        fault.trip(*self.step_and_place())
        honest = super().positions(ranges)
        return [position + 1 for position in honest] if fault.kind == "data" and fault.strikes(*self.step_and_place()) else honest

    def step_and_place(self):
        kind, _, place = self.step.partition(":")
        return kind, int(place)

    def checker(self, group, payload_bytes):
        checker = super().checker(group, payload_bytes)
        fault.trip("overlap", group.index if self.step.startswith("overlap:") else None)
        struck = fault.strikes(self.step.partition(":")[0], group.index)
        if struck and fault.kind == "identity":
            checker._rank += 100
        if struck and fault.kind == "data":
            honest = checker.contribution
            checker.contribution = lambda place, count: honest(place, count) + 1
        return checker


fault = Fault(sys.argv[1])
plan = load_plan(sys.argv[4])
fault.trip("start")
sys.exit(run_rank(spoilt(plan, fault) if fault.strikes("plan", fault.group) else plan, FaultyRun))
