"""Attacks on the smoke job: what strangers send, what a rank that has gone wrong sends, and what a run inherits.

Nothing of it may change a verdict, end the referee with a traceback, run a file that is not ours, or stay behind.
"""

import argparse
import contextlib
import glob
import io
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JOB = os.path.join(ROOT, "smoke", "smoke_job.py")
sys.path.insert(0, os.path.join(ROOT, "smoke"))
sys.path.insert(0, HERE)

import verdicts  # noqa: E402
from connections import Server, listen_beyond  # noqa: E402
from plan import PlanError, load_plan  # noqa: E402
from pod import Companion  # noqa: E402
from processes import descendants  # noqa: E402
from protocol import EXITS, MessageError, MessageReader, is_authentic  # noqa: E402
from rank import open_connection  # noqa: E402
from referee import Referee  # noqa: E402
from terminal import printable  # noqa: E402
from test_smoke_job import EVENTS, FAMILIES, LIMITS, faulty_python, flaw, processes_with  # noqa: E402

PLAN = {
    "version": 1,
    "name": "attacked",
    "world_size": 2,
    "backend": "gloo",
    "groups": [{"name": "tp", "module": None, "ranks": [[0, 1]]}],
    "checks": ["groups"],
    "payload_bytes": 4096,
    "iterations": 1,
    "limits": LIMITS,
}

#: What a stranger may send, each without the run's token.
STRANGERS = {
    "two empty objects": b"{}\n{}\n",
    "a token that is not ASCII": '{"cmd":"hello","token":"\u00e9\u65e5"}\n'.encode(),
    "a token that is half a character": b'{"cmd":"hello","token":"\\ud800"}\n',
    "a token that is no text": b'{"cmd":"hello","token":["x"]}\n{"token":null}\n',
    "deep nesting": b"[" * 100_000 + b"\n",
    "deep nesting in an object": b'{"a":' * 600 + b"\n",
    "a line without an end": b"x" * 10_000_000,
    "no JSON": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes": bytes(range(256)) * 40,
    "a machine": b'{"cmd":"machine","token":"","host":"x","ranks":[0,1]}\n{"ended":0,"how":"x"}\n',
    "a huge number": b'{"rank":' + b"9" * 5000 + b"}\n",
    "half a message": b'{"cmd":"hello"',
}


def write_plan(folder, **more):
    path = os.path.join(folder, "plan.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**PLAN, **more}, file)
    return path


def private_folder():
    return tempfile.TemporaryDirectory(prefix="parallelism-layout-test-")


def listeners(pids):
    """The addresses on which processes listen, as `ss` lists them."""
    out = subprocess.run(["ss", "-Hltnup"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in out.splitlines():
        columns = line.split()
        if any("pid=%d," % pid in line for pid in pids):
            found.add(columns[4].rpartition(":")[0])
    return found


def connected_addresses(pids):
    """This side's addresses of the connections of processes."""
    out = subprocess.run(["ss", "-Htnp"], capture_output=True, text=True, check=True).stdout
    mine = [line for line in out.splitlines() if any("pid=%d," % pid in line for pid in pids)]
    return [line.split()[3].rpartition(":")[0] for line in mine]


def place_of(pid):
    """Where a referee listens: the path of its socket, or its port on the loopback."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for options, column in (("-Hltnp", 3), ("-Hlxp", 4)):
            out = subprocess.run(["ss", options], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                if "pid=%d," % pid in line:
                    place = line.split()[column]
                    return place if options == "-Hlxp" else ("127.0.0.1", int(place.rpartition(":")[2]))
    raise AssertionError("the referee does not listen")


class Attackers:
    """Threads that do one thing over and over until the block ends."""

    def __init__(self, attacks):
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(attack,), daemon=True) for attack in attacks]

    def _repeat(self, attack):
        while not self._over.is_set():
            with contextlib.suppress(OSError):
                attack()

    def __enter__(self):
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(10)


class LocalJob:
    """A job whose referee starts the ranks, in a folder of its own."""

    def __init__(self, folder, fault=None, environment=None, cwd=None, stdin=subprocess.DEVNULL, options=(), launcher=(), **more):
        self.plan = write_plan(folder, **more)
        python = faulty_python(folder, fault) if fault else sys.executable
        self.process = subprocess.Popen(
            [python, JOB, "referee", *options, "--plan", self.plan, *launcher],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
        )

    def finish(self):
        """The exit status, the events and the log."""
        out, log = self.process.communicate(timeout=100)
        events = [json.loads(line) for line in out.splitlines()]
        assert [flaw(event, EVENTS) for event in events if flaw(event, EVENTS)] == [], log
        # a rank whose peer ends first says so under its own name
        assert not any(line.startswith("Traceback") for line in log.splitlines()), log
        assert processes_with(self.plan) == [], "processes were left running"
        return self.process.returncode, events, log


class Network(unittest.TestCase):
    def test_the_referee_of_one_machine_listens_in_a_folder_that_only_this_user_enters(self):
        with private_folder() as folder:
            job = LocalJob(folder, fault="0:hang@run:0")
            place = place_of(job.process.pid)
            self.assertEqual(listeners([job.process.pid]), set())
            mode = os.stat(os.path.dirname(place)).st_mode
            job.process.send_signal(signal.SIGTERM)
            status, _, log = job.finish()
        self.assertEqual((os.path.basename(place), mode & 0o077, status), ("referee", 0, EXITS["cancelled"]), log)
        self.assertFalse(os.path.exists(place))

    def test_a_folder_whose_path_is_too_long_for_a_socket(self):
        with private_folder() as folder:
            deep = os.path.join(folder, "d" * 120)
            os.mkdir(deep)
            job = LocalJob(folder, environment={"TMPDIR": deep})
            status, events, log = job.finish()
        self.assertEqual((status, events[-1]["verdict"]), (0, "ok"), log)

    def test_ranks_meet_on_the_loopback(self):
        with private_folder() as folder:
            job = LocalJob(folder, fault="0:hang@run:4", groups=FAMILIES, world_size=4, checks=["groups", "collectives"])
            addresses = []
            for text in job.process.stdout:
                if '"ev":"group"' in text:
                    pids = descendants(job.process.pid)
                    self.assertLessEqual(listeners(pids), {"127.0.0.1"})
                    addresses = connected_addresses(pids)
                    job.process.send_signal(signal.SIGTERM)
                    break
            # the ranks with each other: a rank of gloo connects to the address on which the other listened for a moment
            self.assertGreater(len(addresses), 4)
            self.assertEqual(set(addresses), {"127.0.0.1"})
            status, _, log = job.finish()
        self.assertEqual(status, EXITS["cancelled"], log)

    def test_the_job_passes_under_attack(self):
        for launcher in ([], ["--", sys.executable, os.path.join(HERE, "many.py"), "2"]):
            with self.subTest(launcher=launcher), private_folder() as folder:
                rank = [JOB, "rank", "--plan", os.path.join(folder, "plan.json")] if launcher else []
                job = LocalJob(folder, launcher=[*launcher, *rank])
                place = place_of(job.process.pid)

                def attack(data, place=place):
                    with open_connection(place) as stranger:
                        stranger.sendall(data)
                        stranger.settimeout(0.05)
                        stranger.recv(1)

                with Attackers([lambda data=data: attack(data) for data in STRANGERS.values()]):
                    status, events, log = job.finish()
                self.assertEqual((status, events[-1]["verdict"]), (0, "ok"), log)
                self.assertEqual(len(log.splitlines()), len(events), "strangers write to the log: " + log)


class WithoutRanks(unittest.TestCase):
    """A referee in this process, to which a test connects as a stranger or as a rank."""

    def setUp(self):
        self.folder = private_folder()
        self.addCleanup(self.folder.cleanup)
        self.out = io.StringIO()
        self.log, sys.stderr = sys.stderr, io.StringIO()
        self.addCleanup(setattr, sys, "stderr", self.log)
        # no other sign comes that would explain the first one
        self.addCleanup(setattr, verdicts, "CAUSE", verdicts.CAUSE)
        verdicts.CAUSE = 0.0

    def begin(self, **more):
        plan = load_plan(write_plan(self.folder.name, **more))
        self.referee = Referee(plan, self.out, "secret", "test", listen_beyond("127.0.0.1", 0))
        self.place = ("127.0.0.1", int(self.referee.server.places(["127.0.0.1"])[0].rpartition(":")[2]))
        self.status = None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        self.status = self.referee.serve(Nobody())

    def finish(self):
        self.thread.join(30)
        self.assertFalse(self.thread.is_alive(), "the referee did not end")
        events = [json.loads(line) for line in self.out.getvalue().splitlines()]
        self.assertEqual([flaw(event, EVENTS) for event in events if flaw(event, EVENTS)], [])
        self.assertIsNotNone(self.status, "the referee failed: " + sys.stderr.getvalue())
        self.assertEqual(events[-1]["exit"], self.status)
        return events

    def connect(self):
        return socket.create_connection(self.place, 10)

    def join(self, number, **more):
        """A rank that has joined."""
        rank = self.connect()
        plan = self.referee._plan
        hello = {"cmd": "hello", "token": "secret", "rank": number, "world": plan.world_size, "local": 0, "node": None}
        rank.sendall(line({**hello, "host": "h", "pid": 1, "plan": plan.digest(), **more}))
        return rank


class Nobody:
    """A starter of no processes."""

    ends_together = False

    def starts(self, _):
        return False

    def fate(self, _):
        return None

    def unable(self, _):
        return None

    def stop(self, passed):
        return []


def line(message):
    return (json.dumps(message) + "\n").encode()


class Strangers(WithoutRanks):
    def test_change_nothing(self):
        self.begin()
        strangers = []
        for data in STRANGERS.values():
            stranger = self.connect()
            strangers.append(stranger)
            try:
                stranger.sendall(data)
            except OSError:
                pass  # it hung up in the middle, as it should
        first = self.join(0)
        self.assertEqual(first.recv(1), b"\n")
        for stranger in strangers:
            stranger.settimeout(0.5)
            try:
                self.assertEqual(stranger.recv(1), b"", "a stranger got an answer")
            except OSError:
                pass
        self.assertEqual(sorted(self.referee._registry.ranks), [0])
        self.assertIsNone(self.referee._verdict)
        self.referee.cancel()
        first.close()
        events = self.finish()
        self.assertEqual([event["ev"] for event in events], ["start", "rank", "fault", "end"])

    def test_cannot_keep_ranks_out_by_their_number(self):
        self.begin()
        crowd = [self.connect() for _ in range(400)]
        first = self.join(0)
        self.assertEqual(first.recv(1), b"\n")
        self.assertLessEqual(len(self.referee.server._strangers), 128)
        for one in [*crowd, first]:
            one.close()
        self.referee.cancel()
        self.finish()

    def test_that_come_and_go_in_crowds_keep_no_rank_out(self):
        """128 wait, 64 send a byte at a time, 64 connect and leave: all that a turn of the referee can hold at once."""
        for run in range(3):
            with self.subTest(run=run):
                self.out = io.StringIO()
                self.begin(world_size=8, groups=[{"name": "tp", "module": None, "ranks": [list(range(8))]}])
                idle = [self.connect() for _ in range(128)]

                def send_bytes():
                    with socket.create_connection(self.place, 1) as stranger:
                        for _ in range(20):
                            stranger.sendall(b"x")

                def come_and_go():
                    socket.create_connection(self.place, 1).close()

                with Attackers([send_bytes] * 64 + [come_and_go] * 64):
                    ranks = [self.patient_rank(number) for number in range(8)]
                    self.assertIsNone(self.referee._verdict)
                    self.referee.cancel()
                    events = self.finish()
                for one in [*idle, *ranks]:
                    one.close()
                self.assertEqual(len([event for event in events if event["ev"] == "rank"]), 8)
                self.assertEqual(events[-1]["verdict"], "cancelled")

    def patient_rank(self, number):
        """A rank that has been welcomed, after as many attempts as it takes within 20 seconds."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                rank = self.join(number)
                if rank.recv(1) == b"\n":
                    return rank
        raise AssertionError("rank %d was kept out" % number)

    def test_that_are_closed_while_they_are_read_end_nothing_else(self):
        """Whatever one connection's turn closes is not read in the same turn, although select has named it."""
        server = Server(listen_beyond("127.0.0.1", 0), "secret", lambda *_: None)
        place = server._listener.getsockname()
        strangers = [socket.create_connection(place) for _ in range(128)]
        server.read(1)
        self.assertEqual(len(server._strangers), 128)
        for stranger in strangers:
            stranger.sendall(b"x")
        # each newcomer takes the place of one that is to be read in this turn
        newcomers = [socket.create_connection(place) for _ in range(64)]
        for _ in range(20):
            server.read(0)
        self.assertEqual(len(server._strangers), 128)
        for one in [*strangers, *newcomers]:
            one.close()

    def test_whose_messages_the_referee_cannot_take_lose_their_connection_only(self):
        for error in (RecursionError, MemoryError, ValueError, KeyError):

            def admit(*_, error=error):
                raise error("x")

            server = Server(listen_beyond("127.0.0.1", 0), "secret", admit)
            with socket.create_connection(server._listener.getsockname()) as stranger:
                stranger.sendall(line({"cmd": "hello", "token": "secret"}))
                until = time.monotonic() + 5
                while time.monotonic() < until and stranger not in select.select([stranger], [], [], 0)[0]:
                    server.read(0.1)
                self.assertEqual(stranger.recv(1), b"")
            self.assertEqual(server._strangers, [])

    def test_that_push_out_a_pod_before_its_token_is_read_cost_it_one_attempt(self):
        self.begin()
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        options = argparse.Namespace(plan="plan.json", referee="127.0.0.1", port=listener.getsockname()[1], index=1, ranks_per_pod=1)
        pod = Companion(load_plan(write_plan(self.folder.name)), options, "secret", self.folder.name)

        def crowded():
            # the first attempt is pushed out, the next reaches the referee
            listener.accept()[0].close()
            near, far = listener.accept()[0], socket.create_connection(self.place)
            far.sendall(near.recv(4096))
            near.sendall(far.recv(1))
            self.addCleanup(near.close)
            self.addCleanup(far.close)

        threading.Thread(target=crowded, daemon=True).start()
        with mock.patch("pod.RETRY", 0.0):
            connection = pod._find_referee()
        self.addCleanup(connection.close)
        self.assertEqual([machine.ranks for machine in self.referee._machines], [[1]])

    def test_take_no_memory(self):
        reader = MessageReader(4096)
        with self.assertRaises(MessageError):
            for _ in range(1000):
                list(reader.feed(b"x" * 1000))
        self.assertLess(len(reader._rest), 8192)

    def test_a_token_is_compared_as_bytes(self):
        self.assertTrue(is_authentic({"token": "secret"}, "secret"))
        for token in ("", "secre", "secret\0", "\u00e9", "\ud800", None, 1, ["secret"], {"secret": 1}, True):
            self.assertFalse(is_authentic({"token": token}, "secret"), token)


#: What a rank that has gone wrong may send after it has joined.
WRONG = [
    {},
    {"cmd": None},
    {"cmd": "hello"},
    {"cmd": "__init__"},
    {"cmd": "gate"},
    {"cmd": "gate", "step": 7},
    {"cmd": "gate", "step": "run:999999"},
    {"cmd": "gate", "step": "run:-1"},
    {"cmd": "gate", "step": "run:x"},
    {"cmd": "gate", "step": "finish"},
    {"cmd": "done", "step": "init", "ms": 1},
    {"cmd": "done", "step": "init", "ms": float("nan")},
    {"cmd": "done", "step": "init", "ms": -1, "ops": [1]},
    {"cmd": "store", "port": "x"},
    {"cmd": "store", "port": 1 << 40},
    {"cmd": "plan", "groups": [[1, 2]]},
    {"cmd": "stack", "stack": [1], "state": "R"},
    {"cmd": "beat", "state": 1},
    {"cmd": "device", "name": 1},
    {"cmd": "wrong", "suspect": [99], "msg": "x"},
    {"cmd": "wrong", "suspect": [0], "msg": 1},
    {"cmd": "error"},
    {"cmd": "bye"},
]


class RanksGoneWrong(WithoutRanks):
    def test_are_named(self):
        for message in WRONG:
            with self.subTest(message=message):
                self.out = io.StringIO()
                self.begin(world_size=1, groups=[])
                rank = self.join(0)
                rank.recv(1)
                rank.sendall(line(message))
                rank.close()
                events = self.finish()
                fault = events[-2]
                self.assertEqual((fault["code"], fault["rank"], fault["host"]), ("rank_error", 0, "h"))
                self.assertIn("sent a message that no rank sends", fault["msg"])

    def test_with_a_hello_that_says_nothing_do_not_join(self):
        for hello in ({"rank": "0"}, {"rank": True}, {"host": 1}, {"pid": None}, {"pid": "x"}, {"local": -1}, {"plan": {}}, {"world": 1.5}):
            with self.subTest(hello=hello):
                self.out = io.StringIO()
                self.begin()
                rank = self.join(0, **hello)
                self.assertEqual(rank.recv(1), b"")
                self.referee.cancel()
                self.assertEqual([event["ev"] for event in self.finish()], ["start", "fault", "end"])

    def test_fuzz(self):
        """Random messages, most of them nearly right, to a referee of one or two ranks: every run ends with a verdict."""
        random_ = random.Random(19)
        found = set()
        for run in range(300):
            with self.subTest(run=run):
                self.out = io.StringIO()
                world = random_.choice([1, 2])
                self.begin(world_size=world, groups=[{"name": "tp", "module": None, "ranks": [[0]]}], limits={**LIMITS, "beat": 0.3, "total": 5})
                ranks = [self.join(number) for number in range(world)]
                right = [(rank, line(message)) for message in RIGHT[: random_.randrange(len(RIGHT))] for rank in ranks]
                wrong = [(random_.choice(ranks), random_message(random_)) for _ in range(random_.randrange(1, 12))]
                with contextlib.suppress(OSError):
                    for rank, data in right + wrong:
                        rank.sendall(data)
                for rank in ranks:
                    rank.close()
                found.add(self.finish()[-1]["verdict"])
        self.assertIn("rank_error", found)
        self.assertNotIn("ok", found)


#: What a rank may send, in this order.
RIGHT = [
    {"cmd": "device", "name": "CPU", "software": "torch"},
    {"cmd": "gate", "step": "init"},
    {"cmd": "done", "step": "init", "ms": 1},
    {"cmd": "gate", "step": "create:0"},
    {"cmd": "done", "step": "create:0", "ms": 1},
    {"cmd": "gate", "step": "finish"},
    {"cmd": "done", "step": "finish", "ms": 1},
]


def random_message(random_):
    """A line as a rank may send it, with mistakes."""
    steps = ["import", "init", "create:0", "run:0", "finish", "leave", "run:7", "stay", ""]
    message = {
        "cmd": random_.choice(["beat", "device", "gate", "done", "store", "stack", "wrong", "error", "plan", "bye", "x"]),
        "step": random_.choice(steps),
        "ms": random_.choice([0, 1.5, -1, "1", None, 1e308, float("inf")]),
        "ops": random_.choice([{}, {"all_reduce": {"bytes": 4, "ms": 0}}, {"x": {}}, [], None]),
        "name": random_.choice(["CPU", 1, "\u001b]52;c;eA==\u0007"]),
        "software": random_.choice(["torch 1", None]),
        "state": random_.choice(["R", "T", 3]),
        "stack": random_.choice([[], ["a"], [1], "x"]),
        "port": random_.choice([1, 70000, -1, "1"]),
        "suspect": random_.choice([[], [0], [9], None, "x"]),
        "msg": random_.choice(["m", "", None, "\n::error::x", "m" * 5000]),
        "groups": random_.choice([[], [["tp", None, [0]]], [[]], 1]),
    }
    for key in random_.sample(sorted(message), random_.randrange(3)):
        del message[key]
    data = bytearray(line(message))
    if random_.random() < 0.2:
        data[random_.randrange(len(data) - 1)] = random_.randrange(256)
    return bytes(data)


class Inheritance(unittest.TestCase):
    def run_local(self, **more):
        with private_folder() as folder:
            status, events, log = LocalJob(folder, **more).finish()
        return status, events, log

    def test_variables_of_another_job_change_nothing(self):
        other = {
            "SMOKE_FIRST_RANK": "7",
            "SMOKE_WORLD_SIZE": "9",
            "SMOKE_REFEREE": "203.0.113.1:1",
            "SMOKE_TOKEN": "x",
            "RANK": "3",
            "LOCAL_RANK": "3",
            "WORLD_SIZE": "64",
            "SLURM_PROCID": "5",
            "OMPI_COMM_WORLD_RANK": "6",
            "MASTER_ADDR": "203.0.113.1",
            "MASTER_PORT": "1",
            "TORCHELASTIC_RUN_ID": "x",
            "GLOO_SOCKET_IFNAME": "none-such",
        }
        status, events, log = self.run_local(environment=other)
        self.assertEqual(status, 0, log)
        self.assertEqual(sorted(event["rank"] for event in events if event["ev"] == "rank"), [0, 1])

    def test_nothing_of_the_current_directory_is_imported(self):
        with private_folder() as attacker:
            trace = os.path.join(attacker, "pwned")
            text = "open(%r, 'w').close()\nraise SystemExit('pwned')\n" % trace
            for name in ("uuid.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "plan.py", "torch/__init__.py"):
                os.makedirs(os.path.dirname(os.path.join(attacker, name)), exist_ok=True)
                with open(os.path.join(attacker, name), "w", encoding="utf-8") as file:
                    file.write(text)
            status, _, log = self.run_local(cwd=attacker)
            self.assertEqual(status, 0, log)
            # torch of a safe path is found, and the job's own files as well
            status, _, log = self.run_local(cwd=attacker, environment={"PYTHONSAFEPATH": "1"})
            self.assertEqual(status, 0, log)
            self.assertFalse(os.path.exists(trace))

    def test_an_input_that_is_no_pipe_is_not_watched(self):
        for name in (os.devnull, JOB):
            with open(name, "rb") as stdin:
                status, _, log = self.run_local(stdin=stdin, options=["--parent-pipe"], world_size=1, groups=[])
            self.assertEqual(status, 0, log)


class Leftovers(unittest.TestCase):
    def test_stopped_ranks_and_helpers_end_with_a_killed_referee(self):
        with private_folder() as folder:
            job = LocalJob(folder, fault="0:hang@run:0", groups=FAMILIES, world_size=4)
            for text in job.process.stdout:
                if '"name":"create"' in text:
                    break
            started = descendants(job.process.pid)
            # four ranks, each with a helper
            self.assertEqual(len(started), 8)
            for pid in started:
                os.kill(pid, signal.SIGSTOP)
            job.process.kill()
            job.process.communicate()
            until = time.monotonic() + 10
            while processes_with(job.plan) and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(processes_with(job.plan), [])

    def test_a_folder_of_a_killed_referee_is_named_after_it(self):
        with private_folder() as folder, private_folder() as temporary:
            job = LocalJob(folder, environment={"TMPDIR": temporary})
            job.process.stdout.readline()
            job.process.kill()
            job.process.communicate()
            # jobs/runFolder.ts removes it by that number
            names = os.listdir(temporary)
        self.assertRegex(names[0], r"^parallelism-layout-smoke-%d-\w{6,8}$" % job.process.pid)

    def test_what_ranks_print_cannot_command_a_terminal(self):
        with private_folder() as folder:
            # a rank that prints what a terminal obeys, then fails
            path = os.path.join(folder, "sitecustomize.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import os\nif 'RANK' in os.environ: print('\\x1b]52;c;eA==\\x07 \\x9b31m \\u202e' + 'x' * 9000); os._exit(3)\n")
            status, events, log = LocalJob(folder, environment={"PYTHONPATH": folder}).finish()
        self.assertEqual((status, events[-1]["verdict"]), (10, "join_timeout"))
        self.assertIn("[rank 0] \\x1b]52;c;eA==\\x07 \\x9b31m \\u202e", log)
        self.assertNotRegex(log, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")

    def test_a_reader_of_the_events_that_goes_away_cancels_the_job(self):
        with private_folder() as folder:
            job = LocalJob(folder, fault="0:hang@run:0")
            for text in job.process.stdout:
                if '"name":"create"' in text:
                    break
            job.process.stdout.close()
            job.process.send_signal(signal.SIGTERM)
            log = job.process.stderr.read()
            job.process.stderr.close()
            self.assertEqual(job.process.wait(60), EXITS["cancelled"], log)
            # a rank may say that its peer has left; the referee has no traceback of its own
            self.assertNotRegex(log, r"(?m)^Traceback")
            self.assertNotIn("BrokenPipe", log)
            self.assertEqual(processes_with(job.plan), [])

    def test_a_private_folder_is_removed_and_no_other(self):
        folder = tempfile.mkdtemp()
        status, _, log = LocalJob(folder, options=["--own-folder"], world_size=1, groups=[]).finish()
        self.assertEqual(status, 0, log)
        self.assertFalse(os.path.exists(folder))
        with private_folder() as shared:
            os.chmod(shared, 0o755)
            status, events, log = LocalJob(shared, options=["--own-folder"], world_size=1, groups=[]).finish()
            self.assertEqual((status, events), (64, []))
            self.assertIn("is no private folder", log)
            self.assertTrue(os.path.exists(shared))

    def test_nothing_is_left_in_the_temporary_folder(self):
        for end in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(end=end), private_folder() as folder, private_folder() as temporary:
                job = LocalJob(folder, environment={"TMPDIR": temporary})
                if end is not None:
                    job.process.stdout.readline()
                    job.process.send_signal(end)
                    job.process.communicate(timeout=60)
                else:
                    job.finish()
                self.assertEqual(glob.glob(os.path.join(temporary, "*")), [])

    def test_a_temporary_folder_that_cannot_be_written(self):
        with private_folder() as folder:
            missing = os.path.join(folder, "missing")
            script = "import tempfile; tempfile.tempdir = %r; import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')" % missing
            plan = write_plan(folder)
            done = subprocess.run([sys.executable, "-c", script, JOB, "referee", "--plan", plan], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class ForeignPlans(unittest.TestCase):
    def error(self, data):
        with private_folder() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "wb") as file:
                file.write(data)
            with self.assertRaises(PlanError) as found:
                load_plan(path)
            self.assertLess(len(str(found.exception)), 2000)

    def test_that_are_no_plans(self):
        for data in (b"", b"[" * 100_000, b"null", b"\xff\xfe", b"{}", b'{"version":1}', b"9" * 5000, b'{"version":1,"world_size":1e400}'):
            self.error(data)

    def test_that_are_special_files(self):
        with self.assertRaises(PlanError):
            load_plan("/dev/zero")
        with private_folder() as folder:
            fifo = os.path.join(folder, "plan.json")
            os.mkfifo(fifo)
            with self.assertRaises(PlanError):
                load_plan(fifo)

    def test_fuzz(self):
        """Plans with one value replaced by another: each is loaded, or refused with a reason."""
        random_ = random.Random(19)
        base = {**PLAN, "spares": [1], "overlap": [{"group": 0, "other": 0}], "sweep_bytes": [4]}
        base["sequence"] = [{"module": None, "length": 2, "gather": ["tp"], "shares": [{"cp_rank": 0, "tp_rank": t, "ranges": [[t, t + 1]]} for t in (0, 1)]}]
        values = [None, True, -1, 0, 1, 2**70, 1.5, float("nan"), "", "x", [], [[]], [None], {}, {"a": 1}, [[0, 1]], [[0, 0]], [[-1]], [[9]]]
        loaded = 0
        with private_folder() as folder:
            for _ in range(600):
                data = json.loads(json.dumps(base))
                spoil(data, random_, values)
                path = os.path.join(folder, "plan.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(data, file)
                try:
                    load_plan(path).digest()
                    loaded += 1
                except PlanError:
                    pass
        self.assertGreater(loaded, 20)


def spoil(value, random_, values):
    """Replaces one value somewhere in a tree."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = random_.choice(keys)
        inner = value[key]
        if not isinstance(inner, (dict, list)) or not inner or random_.random() < 0.3:
            value[key] = random_.choice(values)
            return
        value = inner


class Terminals(unittest.TestCase):
    def test_get_no_control_character(self):
        every = "".join(map(chr, range(0x11000)))
        shown = printable(every)
        self.assertNotRegex(shown, "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
        self.assertIn("\u65e5", shown)
        shown.encode()


if __name__ == "__main__":
    unittest.main()
