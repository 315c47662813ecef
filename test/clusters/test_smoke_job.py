"""The smoke job under real gloo, whole and with faults injected: each fault is named, and nothing is left running."""

import ast
import glob
import gzip
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JOB = os.path.join(ROOT, "smoke", "smoke_job.py")
FAULTY = os.path.join(HERE, "faulty_rank.py")
HOST = os.uname().nodename
MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

with open(os.path.join(ROOT, "schemas", "smoke-events.schema.json"), encoding="utf-8") as schema_file:
    EVENTS = json.load(schema_file)
with open(os.path.join(ROOT, "schemas", "smoke-plan.schema.json"), encoding="utf-8") as schema_file:
    PLAN = json.load(schema_file)

#: tp 2 x pp 2 on four ranks: groups 0 and 1 are tp, 2 and 3 are pp, 4 is everybody.
FAMILIES = [
    {"name": "tp", "module": None, "ranks": [[0, 1], [2, 3]]},
    {"name": "pp", "module": None, "ranks": [[0, 2], [1, 3]]},
    {"name": "dp_cp", "module": "language", "ranks": [[0, 1, 2, 3]]},
]

LIMITS = {"join": 20, "import": 60, "gate": 3, "operation": 4, "beat": 9, "total": 90}

#: A plan of one rank without groups.
EMPTY_PLAN = {"version": 1, "name": "t", "world_size": 1, "backend": "gloo", "groups": [], "checks": [], "payload_bytes": 4, "iterations": 1, "limits": {}}

#: Every verdict has its exit status.
EXITS = {
    "ok": 0,
    "join_timeout": 10,
    "plan_mismatch": 11,
    "rank_lost": 12,
    "rank_error": 13,
    "gate_timeout": 14,
    "op_timeout": 15,
    "wrong_data": 16,
    "rank_silent": 17,
    "device_clash": 18,
    "total_timeout": 19,
    "cancelled": 143,
}


def flaw(value, schema):
    """What a JSON schema (as much of it as ours use) has against a value; None where nothing."""
    if "oneOf" in schema:
        fits = [option for option in schema["oneOf"] if flaw(value, option) is None]
        return None if len(fits) == 1 else "%s fits %d of oneOf" % (value, len(fits))
    if "const" in schema:
        return None if value == schema["const"] else "%s is not %s" % (value, schema["const"])
    if "enum" in schema and value not in schema["enum"]:
        return "%s is not one of %s" % (value, schema["enum"])
    kinds = schema.get("type", [])
    if kinds and not any(is_kind(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return "%s is no %s" % (value, kinds)
    if isinstance(value, list):
        return next((found for item in value if (found := flaw(item, schema.get("items", {})))), None)
    if isinstance(value, dict):
        return flaw_of_object(value, schema)
    return None


def flaw_of_object(value, schema):
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    missing = [key for key in schema.get("required", []) if key not in value]
    if missing:
        return "%s lacks %s" % (value, missing)
    if others is False and set(value) - set(known):
        return "%s has also %s" % (value, sorted(set(value) - set(known)))
    rules = [(item, known.get(key, others)) for key, item in value.items()]
    return next((found for item, rule in rules if rule and (found := flaw(item, rule))), None)


def is_kind(value, kind):
    classes = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None)}
    if kind in classes:
        return isinstance(value, classes[kind])
    return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)


def processes_with(text):
    """Processes with a text in their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if text.encode() in file.read():
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def faulty_python(folder, fault):
    """An interpreter under which the ranks that the referee starts have a fault."""
    path = os.path.join(folder, "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "#!/bin/bash\n"
            # the name of the interpreter is this file's, so the referee starts its ranks with it
            'if [ -n "$RANK" ]; then exec %s %s %s "${@:2}"; fi\nexec -a "$0" %s "$@"\n' % (sys.executable, FAULTY, fault, sys.executable)
        )
    os.chmod(path, 0o755)
    return path


class Job:
    """One run of the job: its exit status, its events, and what it left behind."""

    def __init__(self, fault=None, world=4, families=FAMILIES, limits=LIMITS, at=None, local=False, kill_referee=False, files=None, **more):
        """`local`: the referee starts the ranks itself. `at` names the event at which the job is told to stop (or its
        referee killed); `files` limits the open files of a process."""
        plan = {
            "version": 1,
            "name": "test",
            "world_size": world,
            "backend": "gloo",
            "groups": families,
            "checks": ["groups", "collectives"],
            "payload_bytes": 65536,
            "iterations": 2,
            "limits": limits,
            **more,
        }
        assert flaw(plan, PLAN) is None, flaw(plan, PLAN)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(plan, file)
            script = [JOB] if fault is None else [FAULTY, fault]
            launcher = [sys.executable, os.path.join(HERE, "many.py"), str(world), *script, "rank", "--plan", path]
            python = faulty_python(folder, fault) if local and fault else sys.executable
            command = [python, JOB, "referee", "--plan", path, *([] if local else ["--", *launcher])]
            with open(os.path.join(folder, "log"), "w+", encoding="utf-8") as log:
                limit = None if files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, MOST_FILES))
                job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limit)
                self.lines = []
                for line in job.stdout:
                    self.lines.append(line)
                    if at and json.loads(line)["ev"] == at:
                        job.send_signal(signal.SIGKILL if kill_referee else signal.SIGTERM)
                        at = None
                job.stdout.close()
                self.status = job.wait(30)
                log.seek(0)
                self.log = log.read()
            self.left = processes_with(path)
            # after a killed referee the ranks' helpers do the work, in a moment of their own
            until = time.monotonic() + (10 if kill_referee else 0)
            while self.left and time.monotonic() < until:
                time.sleep(0.1)
                self.left = processes_with(path)
        self.events = [json.loads(line) for line in self.lines]

    def all(self, kind):
        return [event for event in self.events if event["ev"] == kind]


class SmokeJob(unittest.TestCase):
    def run_job(self, *arguments, **more):
        job = Job(*arguments, **more)
        self.assertEqual(job.left, [], "processes were left running")
        for line, event in zip(job.lines, job.events):
            self.assertLess(len(line.encode()), 1024)
            self.assertIsNone(flaw(event, EVENTS))
        if not more.get("kill_referee"):
            self.assertEqual(job.events[0]["ev"], "start", job.log)
            self.assertEqual(job.events[-1]["ev"], "end")
            self.assertEqual(job.events[-1]["exit"], job.status)
            self.assertEqual(EXITS[job.events[-1]["verdict"]], job.status)
            self.assertLessEqual(len(job.all("fault")), 1)
        return job

    def fault(self, fault, **more):
        job = self.run_job(fault, **more)
        self.assertEqual(len(job.all("fault")), 1, job.log)
        found = job.all("fault")[0]
        self.assertEqual(found["exit"], job.status)
        return found

    def test_the_referee_brings_up_eight_ranks_itself(self):
        families = [
            {"name": "tp", "module": None, "ranks": [[0, 1], [2, 3], [4, 5], [6, 7]]},
            {"name": "dp", "module": None, "ranks": [[0, 2, 4, 6], [1, 3, 5, 7]]},
            {"name": "pos_embd", "module": None, "ranks": [[rank] for rank in range(8)]},
        ]
        job = self.run_job(world=8, families=families, local=True)
        self.assertEqual(job.status, 0, job.log)
        self.assertEqual(sorted(event["rank"] for event in job.all("rank")), list(range(8)))
        self.assertEqual([event["name"] for event in job.all("phase") if "ms" in event], ["join", "plan", "devices", "init", "create", "finish"])
        # a group of one rank is created, but has nothing to move
        self.assertEqual(sorted(event["group"] for event in job.all("group")), [0, 1, 2, 3, 4, 5])
        self.assertNotIn("Signal", job.log)

    #: tp 4 x dp 4 on sixteen ranks: groups 0 to 3 are tp, 4 to 7 are dp, 8 is everybody.
    SIXTEEN = {
        "world": 16,
        "families": [
            {"name": "tp", "module": None, "ranks": [list(range(first, first + 4)) for first in range(0, 16, 4)]},
            {"name": "dp", "module": None, "ranks": [list(range(first, 16, 4)) for first in range(4)]},
            {"name": "mp", "module": None, "ranks": [list(range(16))]},
        ],
        "checks": ["groups"],
        "limits": {"join": 60, "import": 120, "gate": 60, "operation": 60, "beat": 60, "total": 240},
    }

    def test_sixteen_ranks(self):
        job = self.run_job(**self.SIXTEEN)
        self.assertEqual(job.status, 0, job.log)
        self.assertEqual(len(job.all("rank")), 16)
        self.assertEqual(sorted(event["group"] for event in job.all("group")), list(range(9)))
        # the check "groups" alone times nothing
        self.assertEqual([event["ops"] for event in job.all("group")], [{}] * 9)

    def test_raises_the_limit_of_open_files(self):
        job = self.run_job(files=12)
        self.assertEqual(job.status, 0, job.log)

    def test_measures_what_each_kind_of_group_carries(self):
        families = [*FAMILIES, {"name": "ep", "module": "language", "ranks": [[0, 2], [1, 3]]}]
        job = self.run_job(families=families)
        self.assertEqual(job.status, 0, job.log)
        groups = job.all("group")
        self.assertEqual(sorted(event["group"] for event in groups), [0, 1, 2, 3, 4, 5, 6])
        by_kind = {event["kind"]: event for event in groups}
        self.assertEqual(list(by_kind["tp"]["ops"]), ["all_reduce", "all_gather", "reduce_scatter"])
        self.assertEqual(list(by_kind["pp"]["ops"]), ["all_reduce", "send_recv"])
        self.assertEqual(list(by_kind["ep"]["ops"]), ["all_reduce", "all_to_all"])
        self.assertEqual(by_kind["dp_cp"]["module"], "language")
        for event in groups:
            for name, operation in event["ops"].items():
                if name != "reduce_scatter":
                    self.assertGreater(operation["busGBs"], 0, (name, event))

    def test_one_rank(self):
        self.assertEqual(self.run_job(world=1, families=[{"name": "tp", "module": None, "ranks": [[0]]}]).status, 0)

    def test_a_plan_without_groups(self):
        self.assertEqual(self.run_job(world=2, families=[]).status, 0)

    def test_members_in_another_order_than_ascending(self):
        self.assertEqual(self.run_job(families=[{"name": "dp", "module": None, "ranks": [[3, 0, 2, 1]]}]).status, 0)

    def test_sweeps_payloads_over_a_group_of_each_kind(self):
        job = self.run_job(checks=["groups", "bandwidth"], sweep_bytes=[4096, 65536])
        self.assertEqual(job.status, 0, job.log)
        found = [(event["kind"], event["group"], event["ops"]["all_reduce"]["bytes"]) for event in job.all("check")]
        self.assertEqual(sorted(found), [(kind, group, size) for kind, group in (("dp_cp", 4), ("pp", 2), ("tp", 0)) for size in (4096, 65536)])

    def test_a_value_corrupted_at_a_payload(self):
        found = self.fault("2:data@bandwidth:2", checks=["groups", "bandwidth"], sweep_bytes=[4096])
        self.assertEqual((found["code"], found["suspect"], found["kind"]), ("wrong_data", [2], "pp"))

    def test_overlap_is_not_measured_under_gloo(self):
        families = [*FAMILIES, {"name": "dp_cp_ag", "module": "language", "check": "all_gather_overlap", "ranks": [[0, 1, 2, 3]]}]
        job = self.run_job(families=families, checks=["groups", "all_gather_overlap"], overlap=[{"group": 4, "other": 5}])
        self.assertEqual(job.status, 0, job.log)
        (found,) = job.all("check")
        self.assertEqual((found["name"], found["ok"], found["kind"]), ("all_gather_overlap", False, "dp_cp"))
        self.assertIn("Not measured: gloo", found["skipped"])
        # the second communicator is made for the check only
        self.assertNotIn(5, [event["group"] for event in job.all("group")])

    def test_overlap_without_groups_says_so(self):
        job = self.run_job(world=1, families=[], checks=["groups", "all_gather_overlap"])
        self.assertEqual(job.status, 0, job.log)
        self.assertIn("dp_cp", job.all("check")[0]["skipped"])

    #: 16 tokens over tp 2 x cp 2 under sequence parallelism: each context-parallel rank has a front and a back chunk.
    SPREAD = {
        "families": [
            {"name": "tp", "module": None, "ranks": [[0, 1], [2, 3]]},
            {"name": "cp", "module": None, "ranks": [[0, 2], [1, 3]]},
        ],
        "checks": ["groups", "sequence"],
        "sequence": [
            {
                "module": None,
                "length": 16,
                "gather": ["tp", "cp"],
                "shares": [
                    {"cp_rank": 0, "tp_rank": 0, "ranges": [[0, 4]]},
                    {"cp_rank": 0, "tp_rank": 1, "ranges": [[12, 16]]},
                    {"cp_rank": 1, "tp_rank": 0, "ranges": [[4, 8]]},
                    {"cp_rank": 1, "tp_rank": 1, "ranges": [[8, 12]]},
                ],
            }
        ],
    }

    def test_every_position_of_a_sequence_exactly_once(self):
        job = self.run_job(**self.SPREAD)
        self.assertEqual(job.status, 0, job.log)
        (found,) = job.all("check")
        self.assertEqual((found["name"], found["ok"]), ("sequence", True))
        self.assertIn("16 tokens, gathered over tp and cp", found["msg"])

    def test_a_rank_that_holds_other_positions(self):
        found = self.fault("3:data@sequence:0", **self.SPREAD)
        self.assertEqual((found["code"], found["suspect"], found["kind"]), ("wrong_data", [3], "cp"))
        self.assertIn("token position 9 at place 0 of its part, not 8", found["msg"])

    def test_a_position_that_no_rank_holds(self):
        (sequence,) = self.SPREAD["sequence"]
        short = {**sequence, "shares": [{**share, "ranges": [[0, 4]]} for share in sequence["shares"]]}
        job = self.run_job(**{**self.SPREAD, "sequence": [short]})
        self.assertEqual(job.events[-1]["verdict"], "wrong_data")
        self.assertIn("token position 0 is held 4 times", job.all("fault")[0]["msg"])

    def test_names_checks_that_it_does_not_have(self):
        job = self.run_job(checks=["groups", "ntp"])
        self.assertEqual([(event["name"], event["ok"], "skipped" in event) for event in job.all("check")], [("ntp", False, True)])

    #: Two replicas of tp 4: the first loses its ranks 0 and 3 and goes on with 1 and 2.
    REDUCED = {
        "world": 8,
        "families": [
            {"name": "tp", "module": None, "ranks": [[0, 1, 2, 3], [4, 5, 6, 7]]},
            {"name": "tp", "module": None, "check": "ntp", "ranks": [[1, 2]]},
        ],
        "checks": ["groups", "ntp"],
        "spares": [0, 3],
    }

    def test_spares_leave_and_the_others_run_the_replacement_groups(self):
        job = self.run_job(local=True, **self.REDUCED)
        self.assertEqual(job.status, 0, job.log)
        self.assertEqual(sorted(event["group"] for event in job.all("group")), [0, 1])
        (found,) = job.all("check")
        self.assertEqual((found["name"], found["ok"]), ("ntp", True))
        self.assertIn("spares that left: 2; replacement groups that passed without them: 1", found["msg"])

    def test_packed_ranks_do_not_leave(self):
        job = self.run_job(checks=["groups", "ntp"], spares=[])
        (found,) = job.all("check")
        self.assertEqual((found["name"], found["ok"]), ("ntp", True))
        self.assertIn("only the active ranks were launched", found["msg"])

    def test_a_spare_that_does_not_leave(self):
        found = self.fault("3:hang@spares", **self.REDUCED)
        self.assertEqual((found["code"], found["missing"]), ("gate_timeout", [3]))
        self.assertIn("exit of the spares", found["msg"])

    def test_a_rank_that_never_starts(self):
        found = self.fault("3:never@start", limits={**LIMITS, "join": 15})
        self.assertEqual((found["code"], found["missing"]), ("join_timeout", [3]))

    def test_a_rank_that_fails_before_it_joins(self):
        found = self.fault("1:exit@start", world=2, families=[], local=True)
        self.assertEqual((found["code"], found["missing"]), ("join_timeout", [1]))
        self.assertEqual(found["msg"], "Rank(s) [1] ended with status 7 before joining.")

    def test_a_rank_that_exits_between_groups(self):
        found = self.fault("1:exit@gate:4")
        self.assertEqual((found["code"], found["rank"], found["host"], found["kind"]), ("rank_lost", 1, HOST, "dp_cp"))

    def test_a_rank_that_is_killed_inside_a_group(self):
        found = self.fault("2:kill@run:1")
        self.assertEqual((found["code"], found["rank"], found["host"], found["group"]), ("rank_lost", 2, HOST, 1))
        self.assertEqual((found["ranks"], found["waiting"]), ([2, 3], [3]))

    def test_a_rank_that_is_killed_inside_a_group_and_whose_end_the_referee_sees(self):
        found = self.fault("1:kill@run:4", local=True)
        self.assertEqual((found["code"], found["rank"], found["kind"]), ("rank_lost", 1, "dp_cp"))
        self.assertIn("was killed (signal 9, SIGKILL). It was in dp_cp group 0 of language [0, 1, 2, 3].", found["msg"])

    def test_a_rank_that_is_killed_while_groups_are_created(self):
        found = self.fault("3:kill@create:2")
        self.assertEqual((found["code"], found["rank"], found["kind"]), ("rank_lost", 3, "pp"))

    def test_a_rank_that_hangs_before_a_group(self):
        found = self.fault("1:hang@gate:3")
        self.assertEqual((found["code"], found["missing"], found["host"], found["group"]), ("gate_timeout", [1], HOST, 3))
        self.assertIn("faulty_rank.py", json.dumps(found["stacks"]))

    def test_a_rank_that_hangs_inside_a_group(self):
        found = self.fault("3:hang@run:1")
        self.assertEqual((found["code"], found["suspect"], found["host"], found["group"]), ("op_timeout", [3], HOST, 1))
        self.assertEqual(found["waiting"], [2])

    def test_a_slow_group_is_not_blamed_on_ranks_that_wait_for_its_members(self):
        # rank 2 waits for rank 0 at the gate of group 2 for longer than the limit of a gate
        found = self.fault("1:hang@run:0", limits={**LIMITS, "gate": 2, "operation": 6})
        self.assertEqual((found["code"], found["suspect"], found["group"]), ("op_timeout", [1], 0))

    def test_a_stopped_rank_between_groups(self):
        found = self.fault("2:stop@gate:4")
        self.assertEqual((found["code"], found["missing"], found["host"], found["kind"]), ("gate_timeout", [2], HOST, "dp_cp"))
        self.assertIn("stopped", found["msg"])

    def test_a_stopped_rank_inside_a_group(self):
        found = self.fault("0:stop@run:4")
        self.assertEqual((found["code"], found["suspect"], found["kind"]), ("op_timeout", [0], "dp_cp"))
        self.assertIn("stopped", json.dumps(found["where"]))

    def test_a_machine_that_falls_silent(self):
        found = self.fault("2:freeze@run:4", limits={**LIMITS, "operation": 30, "beat": 4})
        self.assertEqual((found["code"], found["rank"], found["host"], found["kind"]), ("rank_silent", 2, HOST, "dp_cp"))

    def test_a_corrupted_value(self):
        found = self.fault("3:data@run:4")
        self.assertEqual((found["code"], found["suspect"], found["host"], found["kind"]), ("wrong_data", [3], HOST, "dp_cp"))

    def test_a_rank_with_another_identity(self):
        found = self.fault("2:identity@run:1")
        self.assertEqual((found["code"], found["suspect"], found["group"]), ("wrong_data", [2], 1))

    def test_an_exception_in_one_rank(self):
        found = self.fault("0:raise@create:2")
        self.assertEqual((found["code"], found["rank"], found["host"], found["kind"]), ("rank_error", 0, HOST, "pp"))
        self.assertIn("injected", found["msg"])

    def test_groups_in_another_order(self):
        found = self.fault("2:swap@plan:0")
        self.assertEqual((found["code"], found["rank"], found["host"], found["group"]), ("plan_mismatch", 2, HOST, 0))
        self.assertIn("another order", found["msg"])

    def test_another_list_of_members(self):
        found = self.fault("1:members@plan:2")
        self.assertEqual((found["code"], found["rank"], found["kind"]), ("plan_mismatch", 1, "pp"))
        self.assertEqual((found["want"], found["got"]), (["pp", None, [0, 2]], ["pp", None, [0]]))

    def test_the_whole_time(self):
        found = self.fault("0:never@start", limits={**LIMITS, "total": 2})
        self.assertEqual(found["code"], "total_timeout")

    def test_cancel_while_ranks_join(self):
        self.assertEqual(self.run_job("3:never@start", at="rank").events[-1]["verdict"], "cancelled")

    def test_cancel_while_groups_run(self):
        self.assertEqual(self.run_job("0:hang@run:4", at="group").events[-1]["verdict"], "cancelled")

    def test_a_killed_referee_leaves_nothing_behind(self):
        self.run_job("0:hang@run:4", at="group", kill_referee=True)

    def test_a_client_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(EMPTY_PLAN, file)
            command = [sys.executable, JOB, "referee", "--parent-pipe", "--plan", path, "--", "sleep", "1000"]
            # an empty input is a pipe that ends at once
            done = subprocess.run(command, input="", capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(done.returncode, 143, done.stderr)

    def test_a_launcher_that_is_not_there(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(EMPTY_PLAN, file)
            file.flush()
            done = subprocess.run([sys.executable, JOB, "referee", "--plan", file.name, "--", "/no/such"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("/no/such", done.stderr)

    def test_a_plan_that_cannot_be_used(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{}")
            file.flush()
            done = subprocess.run([sys.executable, JOB, "referee", "--plan", file.name, "--", "true"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("version", done.stderr)


class Pods(unittest.TestCase):
    """Several pods on this machine, each started as the manifest of a cluster starts it; the first is the referee's."""

    def run_pods(self, indices, broken=None, limits=None):
        """Starts the pods `indices` of two, each with two ranks; the ranks of the pod `broken` cannot start. The first one's events."""
        plan = {"version": 1, "name": "pods", "world_size": 4, "backend": "gloo", "groups": FAMILIES, "checks": ["groups"], "payload_bytes": 4, "iterations": 1}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json.gz")
            with gzip.open(path, "wt", encoding="utf-8") as file:
                json.dump({**plan, "limits": limits or LIMITS}, file)
            with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import os, sys\nif 'RANK' in os.environ: sys.exit(1)\n")
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            pods = {}
            for index in indices:
                environment = {**os.environ, "SMOKE_TOKEN": "t", **({"PYTHONPATH": folder} if index == broken else {})}
                command = [sys.executable, JOB, "pod", "--plan", path, "--job", "pods", "--index", str(index)]
                command += ["--ranks-per-pod", "2", "--referee", "127.0.0.1", "--port", port]
                # the log of a pod that is not asked for must not fill a pipe
                out = subprocess.PIPE if index == 0 else subprocess.DEVNULL
                pods[index] = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment, text=True)
            out, _ = pods[0].communicate(timeout=120)
            statuses = {index: pod.wait(60) for index, pod in pods.items()}
            self.assertEqual(processes_with(path), [], "processes were left running")
        events = [json.loads(line) for line in out.splitlines()]
        for event in events:
            self.assertIsNone(flaw(event, EVENTS))
        return events, statuses

    def test_all_ranks_meet(self):
        events, statuses = self.run_pods([1, 0])
        self.assertEqual((events[-1]["verdict"], statuses), ("ok", {0: 0, 1: 0}), events)
        ranks = sorted((event["rank"], event["local"]) for event in events if event["ev"] == "rank")
        self.assertEqual(ranks, [(0, 0), (1, 1), (2, 0), (3, 1)])

    def test_a_pod_that_never_comes(self):
        events, statuses = self.run_pods([0], limits={**LIMITS, "join": 12})
        fault = events[-2]
        self.assertEqual((fault["code"], fault["missing"], statuses[0]), ("join_timeout", [2, 3], 10))

    def test_a_pod_whose_ranks_cannot_start(self):
        events, statuses = self.run_pods([0, 1], broken=1, limits={**LIMITS, "join": 60})
        fault = events[-2]
        self.assertEqual((fault["code"], fault["missing"], fault["host"]), ("join_timeout", [2, 3], HOST))
        self.assertRegex(fault["msg"], r"Rank\(s\) \[2, 3\] on .* ended with status 1 before joining")
        # well before the limit: nobody waits for what cannot come
        self.assertLess(events[-1]["secs"], 60)
        # the job's exit status is that of the first pod; another one's would end the first before it has spoken
        self.assertEqual(statuses, {0: 10, 1: 0})


class Sources(unittest.TestCase):
    def test_are_python_3_9(self):
        for path in sorted(glob.glob(os.path.join(ROOT, "smoke", "*.py"))):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            ast.parse(text, path, feature_version=(3, 9))
            # annotations of a newer Python are never evaluated
            self.assertIn("from __future__ import annotations", text, path)

    def test_need_nothing_but_the_standard_library_and_torch(self):
        own = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(ROOT, "smoke", "*.py"))}
        for path in sorted(glob.glob(os.path.join(ROOT, "smoke", "*.py"))):
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(), path)
            names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
            names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            foreign = {name.partition(".")[0] for name in names} - own - {"torch"} - set(sys.stdlib_module_names)
            self.assertEqual(foreign, set(), path)

class LongEvents(unittest.TestCase):
    def test_no_line_is_too_long_and_all_say_that_they_were_cut(self):
        sys.path.insert(0, os.path.join(ROOT, "smoke"))
        from events import fit

        body = {
            "ev": "fault",
            "t": 1.0,
            "code": "op_timeout",
            "exit": 15,
            "msg": "m\u00e9" * 900,
            "ranks": list(range(4096)),
            "stacks": [["f" * 2000, list(range(1024))]],
            "where": {str(rank): "somewhere" for rank in range(500)},
        }
        line = fit(body)
        self.assertLess(len(line.encode()) + 1, 1024 + 1)
        event = json.loads(line)
        self.assertTrue(event["cut"])
        self.assertEqual((event["ev"], event["code"], event["ranks"][:2]), ("fault", "op_timeout", [0, 1]))
        self.assertIsNone(flaw(event, EVENTS))


if __name__ == "__main__":
    unittest.main()
