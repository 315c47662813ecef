"""Reading, remaking and writing the files of golden data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .outcome import Json
from .registry import KINDS

HERE = Path(__file__).resolve().parent.parent
DATA = HERE.parent.parent / "test" / "golden" / "data"
REVISIONS: dict[str, str] = json.loads((HERE / "revisions.json").read_text())

# said of a case by its author, not by Megatron-LM
ANNOTATIONS = ("class", "consequence")

Case = dict[str, Json]


@dataclass(frozen=True)
class Workplace:
    """Where Megatron-LM's git repository is, and where its revisions are unpacked."""

    repository: Path
    unpacked: Path

    def results(self, kind: str, revision: str, inputs: list[Json]) -> list[Json] | str:
        """The outcomes of inputs on one revision, or what the revision lacks. Raises RuntimeError if the run fails."""
        places = (str(self.repository), REVISIONS[revision], str(self.unpacked))
        command = [sys.executable, "-m", "golden.worker", kind, *places]
        lines = "".join(f"{json.dumps({'input': given})}\n" for given in inputs)
        # two messages of Megatron-LM print a set, whose order follows the hash seed
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, input=lines, text=True, cwd=HERE, env=environment, capture_output=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0 and answers and "absent" in answers[0]:
            return str(answers[0]["absent"])
        if done.returncode != 0 or len(answers) != len(inputs):
            raise RuntimeError(
                f"{kind} on {revision} ended after {len(answers)} of {len(inputs)} cases:\n{done.stderr}"
            )
        return answers


def path_of(kind: str) -> Path:
    return DATA / f"{kind}.jsonl"


def read(kind: str) -> list[Case]:
    return [json.loads(line) for line in path_of(kind).read_text().splitlines()]


def line_of(case: Case) -> str:
    return json.dumps(case, separators=(",", ":"), ensure_ascii=True)


def remade(kind: str, place: Workplace) -> list[Case]:
    """The cases of a kind, run again; only ids, inputs and annotations are read from the file."""
    recorded = read(kind)
    revision_of = KINDS[kind].revision_of
    outcomes: dict[int, Json] = {}
    for revision in sorted({revision_of(case["input"]) for case in recorded}):
        places = [index for index, case in enumerate(recorded) if revision_of(case["input"]) == revision]
        results = place.results(kind, revision, [recorded[index]["input"] for index in places])
        if isinstance(results, str):
            raise RuntimeError(f"{kind} is absent on {revision}: {results}")
        outcomes.update(zip(places, results, strict=True))
    return [_case(case, outcomes[index]) for index, case in enumerate(recorded)]


def _case(recorded: Case, outcome: Json) -> Case:
    notes = {name: value for name, value in recorded.get("expect", {}).items() if name in ANNOTATIONS}
    return {
        "id": recorded["id"],
        "input": recorded["input"],
        "ok": outcome["ok"],
        "error": outcome["error"],
        "expect": {**notes, **outcome["expect"]},
    }
