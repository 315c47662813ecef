"""A small training loop over Megatron-LM's own process groups on NCCL, with one fault planted in it.

torchrun --nproc-per-node N job.py '{"layout": {arguments of initialize_model_parallel}, "fault": "sleep", "who": [2]}' OUT

MEGATRON names a folder with Megatron-LM's megatron/core, whose __init__.py is emptied. Ranks may share a GPU: each says to NCCL
that it is on a machine of its own, and they talk through sockets.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from datetime import timedelta

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
os.environ["NCCL_HOSTID"] = f"rank{RANK}"
sys.path.insert(0, os.environ["MEGATRON"])

CONFIG, OUT = json.loads(sys.argv[1]), sys.argv[2]
if "buffer" in CONFIG:
    os.environ["TORCH_FR_BUFFER_SIZE"] = os.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = str(CONFIG["buffer"])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

LAYOUT, FAULT, WHO = CONFIG.get("layout", {}), CONFIG["fault"], CONFIG.get("who", [2])
LATER = CONFIG.get("later", {})  # a second fault: rank -> fault
TIMEOUT = CONFIG.get("timeout", 8)
STEPS, SIZE, PIECE = 3, 1 << 16, 1 << 12

torch.cuda.set_device(RANK % torch.cuda.device_count())
dist.init_process_group("nccl", timeout=timedelta(seconds=TIMEOUT))
from megatron.core import parallel_state as ps  # noqa: E402

ps.initialize_model_parallel(**LAYOUT, distributed_timeout_minutes=TIMEOUT / 60, create_gloo_process_groups=False)
TP, PP = ps.get_tensor_model_parallel_group(), ps.get_pipeline_model_parallel_group()
DP, MP = ps.get_data_parallel_group(with_context_parallel=True), ps.get_model_parallel_group()
CP, EP = ps.get_context_parallel_group(), ps.get_expert_model_parallel_group()
STAGE, STAGES = dist.get_rank(PP), dist.get_world_size(PP)
NEIGHBOURS = dist.get_process_group_ranks(PP)


def tensor(n=SIZE, dtype=torch.float32):
    return torch.ones(n, dtype=dtype, device="cuda")


def many(group):
    return dist.get_world_size(group) > 1


def reduce(group, t=None):
    dist.all_reduce(tensor() if t is None else t, group=group)


def pass_on(sends, receives, size=SIZE):
    ops = [dist.P2POp(dist.isend, tensor(size), NEIGHBOURS[to], PP) for to in sends if 0 <= to < STAGES]
    ops += [dist.P2POp(dist.irecv, tensor(size), NEIGHBOURS[of], PP) for of in receives if 0 <= of < STAGES]
    for work in dist.batch_isend_irecv(ops) if ops else []:
        work.wait()


def planted(fault, place):
    """Does what the fault is, if this is its place; true where the normal operation is left out."""
    if fault is None or fault.get("at", "tp") != place:
        return False
    kind = fault["fault"]
    if kind == "sleep":
        time.sleep(600)
    elif kind == "spin":
        while True:
            pass
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "raise":
        raise RuntimeError("planted")
    elif kind == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "order":
        reduce(DP)
        reduce(TP)
    elif kind == "swap":
        reduce(CP if many(CP) else DP)
        reduce(TP)
        return True
    elif kind == "skip":
        return True
    elif kind == "shape":
        reduce(TP, tensor(PIECE))
        return fault.get("instead", False)
    elif kind == "op":
        n = dist.get_world_size(TP)
        dist.all_gather_into_tensor(tensor(SIZE * n), tensor(), group=TP)
        return fault.get("instead", False)
    elif kind == "dtype":
        reduce(TP, tensor(SIZE, torch.bfloat16))
        return True
    elif kind == "group":
        reduce(DP)
        return True
    elif kind == "transfer":
        pass_on(*(([], [STAGE - 1]) if place == "recv" else ([STAGE + 1], [STAGE + 1])), fault.get("size", PIECE))
        return True
    elif kind == "exit":
        os._exit(0)
    return False


def step(fault=None, first=False):
    if STAGES > 1 and not planted(fault, "recv"):
        pass_on([], [STAGE - 1])
    if not planted(fault, "tp"):
        reduce(TP)
    if many(CP) and not planted(fault, "cp"):
        reduce(CP)
    if many(EP) and not planted(fault, "ep"):
        dist.all_to_all_single(tensor(), tensor(), group=EP)
    if STAGES > 1 and not planted(fault, "send"):
        # NCCL connects two ranks for both directions at once only if both ends ask for both
        if first:
            pass_on([STAGE + 1], [])
            pass_on([], [STAGE + 1])
        else:
            pass_on([STAGE + 1], [STAGE + 1])
        pass_on([STAGE - 1], [])
    reduce(TP)
    if not planted(fault, "dp"):
        n = dist.get_world_size(DP)
        overlap = CONFIG.get("overlap", False)
        shards = dist.reduce_scatter_tensor(tensor(SIZE // n), tensor(SIZE // n * n), group=DP, async_op=overlap)
        reduce(MP, tensor(1))
        if overlap:
            shards.wait()
        dist.all_gather_into_tensor(tensor(SIZE // n * n), tensor(SIZE // n), group=DP)


def dump(name):
    from torch._C import _distributed_c10d as c10d

    with open(f"{OUT}/{name}_{RANK}", "wb") as file:
        file.write(c10d._dump_nccl_trace())
    with open(f"{OUT}/{name}_{RANK}.json", "wb") as file:
        file.write(c10d._dump_nccl_trace_json())


def ask_ras(delay):
    time.sleep(delay)
    for form, name in (("JSON", "json"), ("TEXT", "txt")):
        try:
            link = socket.create_connection(("127.0.0.1", int(os.environ["NCCL_RAS_ADDR"].split(":")[1])), 5)
            link.settimeout(6)
            link.sendall(f"CLIENT PROTOCOL 2\nSET FORMAT {form}\nVERBOSE STATUS\n".encode())
            data = b""
            while piece := link.recv(65536):
                data += piece
        except OSError as error:
            data = f"no answer: {error!r}".encode()
        with open(f"{OUT}/ras_{RANK}.{name}", "wb") as file:
            file.write(data)


for number in range(STEPS):
    step(first=number == 0)
torch.cuda.synchronize()
print("ready", RANK, flush=True)
if FAULT == "none":
    dump("manual")
    if RANK == 0:
        ask_ras(0)
    time.sleep(TIMEOUT * 2)
    os._exit(0)
if FAULT == "moments":  # nothing is wrong, but each rank is dumped half a second after the one before
    started, dumped = time.monotonic(), False
    while time.monotonic() - started < 0.5 * WORLD + 4:
        step()
        torch.cuda.synchronize()
        if not dumped and time.monotonic() - started > 0.5 * RANK:
            dumped = True
            dump("manual")
    os._exit(0)
if RANK == next(r for r in range(WORLD) if r not in WHO and str(r) not in LATER):
    threading.Thread(target=ask_ras, args=(TIMEOUT * 0.6,), daemon=True).start()
MINE = {"at": "tp", **CONFIG} if RANK in WHO else None
if str(RANK) in LATER:
    MINE = {"at": "tp", **LATER[str(RANK)]}
try:
    step(MINE)
    torch.cuda.synchronize()
    print("went through", RANK, flush=True)
    step()
    torch.cuda.synchronize()
except dist.DistError as error:
    print("exception", RANK, repr(error)[:300], flush=True)
time.sleep(TIMEOUT + 4)
os._exit(3)
