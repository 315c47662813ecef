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
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d


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


def write_group(group: Any, desc: str) -> None:
    """Writes down a group that this rank is in, and where it is made."""
    write_head(dist.get_rank())
    stack = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_stack()[:-2]]
    name, ranks = getattr(group, "group_name", ""), dist.get_process_group_ranks(group)
    write({"name": name, "desc": desc, "ranks": ranks, "stack": stack[-8:]})


def record(make: Callable[..., Any]) -> None:
    """Puts a function that makes groups as `make` does, and writes them down, in every place where torch holds `make`."""

    @functools.wraps(make)
    def recording(*args: Any, **options: Any) -> Any:
        group = make(*args, **options)
        # a rank outside of the group gets something else
        if isinstance(group, dist.ProcessGroup):
            write_group(group, str(options.get("group_desc") or getattr(group, "group_desc", "")))
        return group

    for name, module in list(sys.modules.items()):
        # device_mesh holds the functions under names of its own
        if name.startswith("torch.distributed") and vars(module).get(make.__name__) is make:
            setattr(module, make.__name__, recording)


for maker in ("new_group", "split_group"):
    # torch before 2.4 has no split_group
    if hasattr(c10d, maker):
        record(getattr(c10d, maker))

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
