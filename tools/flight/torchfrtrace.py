"""What torch's own analyzer, torchfrtrace, says of the dumps of each scenario: `python torchfrtrace.py OUT.json FOLDER...`.

Below each FOLDER lies a folder of dumps for each scenario. Each is analyzed as it is, and again with --allow-incomplete-ranks, in a
process of its own; the answers, with torch's version, become one JSON file, which `bench/verdicts.mjs` prints beside ours. Only the
dumps are handed over: torchfrtrace does not read logs and RAS answers, and stumbles over them.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import torch
from torch.distributed.flight_recorder import fr_trace

DUMP = re.compile(r"(nccl_trace_rank_|manual_)\d+")
# the lines of an answer that are no stack frames and no listing of one collective
TELLING = re.compile(r"Not all ranks|missing ranks|group info|sequence number|error msg|[Mm]ismatch|MISMATCH|Error|No errors|Rank \d+ (does|has)")
MOST = 200  # lines of an answer


def exit_status(words: list[str]) -> int:
    """Runs torchfrtrace in this process."""
    try:
        fr_trace.main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def analyzed(dumps: list[Path], *options: str) -> dict[str, object]:
    """The exit status of torchfrtrace and what it prints."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        for dump in dumps:
            shutil.copy(dump, folder)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        status = exit_status([folder, "--prefix", dumps[0].name.rstrip("0123456789"), *options])
        sys.stdout.flush()
        sys.stderr.flush()
        output.seek(0)
        lines = output.read().replace(folder, "DUMPS").splitlines()
        return {"exit": status, "says": [line.strip() for line in lines if TELLING.search(line)][:MOST]}


def scenario(folder: Path) -> tuple[str, dict[str, object]]:
    """The answers for one folder of dumps."""
    dumps = sorted(path for path in folder.iterdir() if DUMP.fullmatch(path.name))
    return f"{folder.parent.name}/{folder.name}", {"dumps": len(dumps), "plain": analyzed(dumps), "incomplete": analyzed(dumps, "--allow-incomplete-ranks")}


def main() -> None:
    folders = sorted({path.parent for root in sys.argv[2:] for path in Path(root).rglob("*") if DUMP.fullmatch(path.name)})
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        found = dict(pool.map(scenario, folders, chunksize=1))
    answers = {"torch": torch.__version__, "scenarios": found}
    Path(sys.argv[1]).write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
