"""Records the process groups that a program makes: `torchrun ... record_groups.py train.py ARGUMENTS`, or `import record_groups`.

Each rank writes the groups that it is in, as JSON lines, to `groups_rank_RANK.jsonl` in the folder RECORD_GROUPS (default: here), for
`parallelism-layout verify`. Costs a line a group when it is made, and nothing afterwards. Needs torch 2.1 or newer, nothing else.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import socket
import sys
import traceback
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

make_group = c10d.new_group


def write(record: dict[str, Any]) -> None:
    """Adds one line to the file of this rank."""
    path = os.path.join(os.environ.get("RECORD_GROUPS", "."), f"groups_rank_{dist.get_rank()}.jsonl")
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


@functools.cache
def write_head(rank: int) -> None:
    """Writes, once, where this rank runs."""
    gpu = torch.cuda.current_device() if torch.cuda.is_initialized() else None
    place = {"host": socket.gethostname(), "pid": os.getpid(), "gpu": gpu}
    write({"recorder": 1, "rank": rank, "world_size": dist.get_world_size(), **place})


@functools.wraps(make_group)
def new_group(ranks: Any = None, *args: Any, **options: Any) -> Any:
    """Makes a group as torch does, and writes it down where this rank is in it."""
    group = make_group(ranks, *args, **options)
    members = sorted(range(dist.get_world_size()) if ranks is None else ranks)
    if dist.get_rank() in members:
        write_head(dist.get_rank())
        stack = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_stack()[:-1]]
        name, desc = getattr(group, "group_name", ""), options.get("group_desc") or ""
        write({"name": name, "desc": desc, "ranks": members, "stack": stack[-8:]})
    return group


dist.new_group = c10d.new_group = new_group

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
