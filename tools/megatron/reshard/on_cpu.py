"""Lets Megatron-LM's code for GPUs run on a processor, with gloo: import it before anything of Megatron-LM.

What is in the way is replaced by what does the same for tensors in main memory; what decides about checkpoints stays.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import queue
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")


class Stream:
    """All work is done when it is asked for: streams and events have nothing to wait for."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: Stream()


class Coalesced:
    """Collectives that were started one by one."""

    def wait(self) -> None:
        pass


class InMainMemory(TorchFunctionMode):  # type: ignore[misc]
    """Takes `cuda` for the processor, where a device is named."""

    def __torch_function__(self, function: Any, _: Any, arguments: Any = (), options: Any = None) -> Any:
        named = options or {}
        if "cuda" in str(named.get("device")):
            named = {**named, "device": CPU}
        if function is torch.device and "cuda" in str(arguments[0]):
            return CPU
        return function(*arguments, **named)


@contextlib.contextmanager
def one_by_one(*_: Any, **__: Any) -> Iterator[Coalesced]:
    yield Coalesced()


def at_once(collective: Callable[..., Any]) -> Callable[..., Coalesced]:
    """A collective that ends before it returns: who coalesces some waits for none of them."""

    def ended(*tensors: Any, async_op: bool = False, **options: Any) -> Coalesced:
        collective(*tensors, **options)
        return Coalesced()

    return ended


@contextlib.contextmanager
def nothing(*_: Any, **__: Any) -> Iterator[None]:
    yield


def install() -> None:
    """Replaces the functions of `torch.cuda` that Megatron-LM calls."""
    if importlib.util.find_spec("triton") is None:
        sys.modules["megatron.core.transformer.moe.ops.paged_stash"] = MagicMock()
    cuda: Any = torch.cuda
    cuda.current_device = lambda: CPU
    cuda.device_count = lambda: 1
    cuda.default_generators = {CPU: torch.default_generator}
    # torch's compiler wants functions that differ
    for name in ("set_device", "synchronize", "empty_cache", "_lazy_init"):
        setattr(cuda, name, lambda *_, **__: None)
    cuda._lazy_call = lambda callback, **_: callback()
    for module in (cuda, cuda.random):
        module.get_rng_state = lambda *_, **__: torch.get_rng_state()
        module.set_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    cuda.manual_seed = lambda seed: torch.manual_seed(seed)
    cuda.Stream = cuda.Event = Stream
    cuda.current_stream = lambda *_: Stream()
    cuda.stream = nothing
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.nn.Module.cuda = lambda self, *_, **__: self
    InMainMemory().__enter__()
    type_of = torch.Tensor.type

    def named_as_on_gpu(self: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        named = type_of(self, *arguments, **options)
        return named.replace("torch.", "torch.cuda.", 1) if isinstance(named, str) and "cuda" not in named else named

    torch.Tensor.type = named_as_on_gpu
    distributed: Any = dist
    distributed._coalescing_manager = one_by_one
    barrier = dist.barrier
    distributed.barrier = lambda group=None, **_: barrier(group)
    exchange = dist.all_to_all_single

    def with_lists(*tensors: Any, **options: Any) -> Any:
        for name in ("output_split_sizes", "input_split_sizes"):
            # sizes that come from a GPU are arrays by now
            sizes = options.get(name)
            options[name] = sizes if sizes is None else [int(size) for size in sizes]
        return exchange(*tensors, **options)

    distributed.all_to_all_single = with_lists
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(cuda, name, lambda *_: 0)
    mesh = DeviceMesh.from_group
    DeviceMesh.from_group = staticmethod(lambda group, device_type, **named: mesh(group, "cpu", **named))
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce"):
        setattr(distributed, name, at_once(getattr(dist, name)))
    gather = dist.all_gather

    def gather_uneven(outputs: list[torch.Tensor], given: torch.Tensor, group: Any = None, **options: Any) -> Any:
        most = max(len(one) for one in outputs)
        if all(len(one) == most for one in outputs):
            return gather(outputs, given, group=group, **options)
        parts = [given.new_zeros((most, *given.shape[1:])) for _ in outputs]
        gather(parts, torch.cat([given, given.new_zeros((most - len(given), *given.shape[1:]))]), group=group)
        for one, part in zip(outputs, parts, strict=True):
            one.copy_(part[: len(one)])
        return Coalesced()

    def scatter_uneven(output: torch.Tensor, inputs: list[torch.Tensor], group: Any = None, **_: Any) -> Any:
        whole = torch.cat(inputs)
        dist.all_reduce(whole, group=group)
        before = sum(len(one) for one in inputs[: dist.get_rank(group)])
        output.copy_(whole[before : before + len(output)])
        return Coalesced()

    distributed.all_gather = gather_uneven
    distributed.reduce_scatter = scatter_uneven
    # results of writers come back through a process that would import everything anew
    writer: Any = importlib.import_module("megatron.core.dist_checkpointing.strategies.filesystem_async")
    writer._results_queue = queue.Queue()
