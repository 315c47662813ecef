"""The smoke job under real gloo, whole and with faults injected: each fault is named, and nothing is left running."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOB = os.path.join(ROOT, "smoke", "smoke_job.py")
SCHEMA = os.path.join(ROOT, "schemas", "smoke-events.schema.json")

#: tp 2 x pp 2 on four ranks: groups 0 and 1 are tp, 2 and 3 are pp, 4 is everybody.
FAMILIES = [
    {"name": "tp", "module": None, "ranks": [[0, 1], [2, 3]]},
    {"name": "pp", "module": None, "ranks": [[0, 2], [1, 3]]},
    {"name": "dp_cp", "module": "language", "ranks": [[0, 1, 2, 3]]},
]

LIMITS = {"join": 20, "gate": 3, "operation": 4, "beat": 8, "total": 90}


def descendants_of_session(pid):
    """Processes that run this job with the plan of one test."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    if pid.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass
    return found


class SmokeJob(unittest.TestCase):
    def run_job(self, fault="", world=4, families=FAMILIES, limits=LIMITS, cancel_at=None, **more):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan = {"version": 1, "name": "test", "world_size": world, "backend": "gloo", "groups": families, "payload_bytes": 65536, "iterations": 2, "limits": limits, **more}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(plan, file)
            job = subprocess.Popen([sys.executable, JOB, "local", "--plan", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "SMOKE_FAULT": fault})
            lines = []
            for line in job.stdout:
                lines.append(line)
                if cancel_at and json.loads(line)["ev"] == cancel_at:
                    job.send_signal(signal.SIGTERM)
                    cancel_at = None
            job.stderr.read()
            status = job.wait(30)
            job.stdout.close()
            job.stderr.close()
            time.sleep(0.2)
            self.assertEqual(descendants_of_session(path), [], "processes were left running")
        for line in lines:
            self.assertLess(len(line.encode()), 1024)
        events = [json.loads(line) for line in lines]
        self.assert_stream(events, status)
        return status, events

    def assert_stream(self, events, status):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        kinds = {option["properties"]["ev"]["const"]: option for option in schema["oneOf"]}
        types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}
        for event in events:
            form = kinds[event["ev"]]
            for key in form["required"]:
                self.assertIn(key, event)
            for key, value in event.items():
                self.assertIn(key, form["properties"], event)
                kind = form["properties"][key].get("type")
                if kind:
                    self.assertIsInstance(value, types[kind], (key, event))
        self.assertEqual(events[0]["ev"], "start")
        self.assertEqual(events[-1]["ev"], "end")
        self.assertEqual(events[-1]["exit"], status)
        self.assertLessEqual(sum(event["ev"] == "fault" for event in events), 1)

    def fault(self, fault, **more):
        status, events = self.run_job(fault, **more)
        found = [event for event in events if event["ev"] == "fault"]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["exit"], status)
        return found[0]

    def test_passes_and_measures_every_group(self):
        status, events = self.run_job()
        self.assertEqual(status, 0)
        groups = [event for event in events if event["ev"] == "group"]
        self.assertEqual(sorted(event["group"] for event in groups), [0, 1, 2, 3, 4])
        by_kind = {event["kind"]: event for event in groups}
        self.assertEqual(sorted(by_kind["tp"]["ops"]), ["all_gather", "all_reduce"])
        self.assertEqual(sorted(by_kind["pp"]["ops"]), ["all_reduce", "send_recv"])
        self.assertEqual(by_kind["dp_cp"]["module"], "language")
        self.assertGreater(by_kind["dp_cp"]["ops"]["all_reduce"]["busGBs"], 0)

    def test_one_rank(self):
        status, _ = self.run_job(world=1, families=[{"name": "tp", "module": None, "ranks": [[0]]}])
        self.assertEqual(status, 0)

    def test_groups_alone_are_not_timed(self):
        status, events = self.run_job(checks=["groups"])
        self.assertEqual(status, 0)
        self.assertTrue(all(event["ops"] == {} for event in events if event["ev"] == "group"))

    def test_a_rank_that_never_starts(self):
        found = self.fault("3:never", limits={**LIMITS, "join": 8})
        self.assertEqual((found["code"], found["missing"]), ("join_timeout", [3]))

    def test_a_rank_that_exits_between_steps(self):
        found = self.fault("1:exit@gate:4")
        self.assertEqual((found["code"], found["rank"], found["kind"]), ("rank_lost", 1, "dp_cp"))

    def test_a_rank_that_is_killed_inside_a_group(self):
        found = self.fault("2:kill@run:1")
        self.assertEqual((found["code"], found["rank"], found["group"], found["kind"]), ("rank_lost", 2, 1, "tp"))
        self.assertIn("Rank 2", found["msg"])

    def test_a_rank_that_hangs_before_a_group(self):
        found = self.fault("1:hang@gate:3")
        self.assertEqual((found["code"], found["missing"], found["group"]), ("gate_timeout", [1], 3))

    def test_a_rank_that_hangs_inside_a_group(self):
        found = self.fault("3:hang@run:1")
        self.assertEqual((found["code"], found["suspect"], found["group"]), ("op_timeout", [3], 1))

    def test_a_stopped_rank(self):
        found = self.fault("2:stop@gate:4")
        self.assertEqual((found["code"], found["missing"]), ("gate_timeout", [2]))
        self.assertIn("stopped", json.dumps(found))

    def test_wrong_data(self):
        found = self.fault("3:data@run:4")
        self.assertEqual((found["code"], found["suspect"], found["kind"]), ("wrong_data", [3], "dp_cp"))

    def test_an_exception_in_one_rank(self):
        found = self.fault("0:raise@create:2")
        self.assertEqual((found["code"], found["rank"]), ("rank_error", 0))
        self.assertIn("injected", found["msg"])

    def test_groups_in_another_order(self):
        found = self.fault("2:swap@plan:0")
        self.assertEqual((found["code"], found["rank"], found["group"]), ("plan_mismatch", 2, 0))
        self.assertIn("another order", found["msg"])

    def test_another_list_of_members(self):
        found = self.fault("1:members@plan:2")
        self.assertEqual((found["code"], found["rank"], found["kind"]), ("plan_mismatch", 1, "pp"))

    def test_cancel(self):
        status, events = self.run_job(cancel_at="rank")
        self.assertEqual(status, 143)
        self.assertEqual(events[-1]["verdict"], "cancelled")

    def test_a_plan_that_cannot_be_used(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{}")
            file.flush()
            done = subprocess.run([sys.executable, JOB, "local", "--plan", file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("version", done.stderr)


if __name__ == "__main__":
    unittest.main()
