"""Collectives that check what they receive and measure how long they take. Runs inside a rank, after torch is imported."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Tuple

import torch
import torch.distributed as dist

from protocol import Group

#: Bytes and milliseconds of one timed operation.
Timing = Tuple[int, float]


class WrongData(Exception):
    """A collective delivered something else than its members sent; `suspect` are the ranks whose data it was."""

    def __init__(self, message: str, suspect: List[int]) -> None:
        super().__init__(message)
        self.suspect = suspect


class Checker:
    """Runs the checked collectives of one group on one rank."""

    def __init__(self, group: Group, handle: Any, rank: int, device: torch.device, payload_bytes: int, iterations: int, spoil: bool = False) -> None:
        self._group = group
        self._handle = handle
        self._rank = rank
        self._size = len(group.ranks)
        # torch orders the members of a group by global rank, whatever the order of the list
        self._members = sorted(group.ranks)
        self._place = self._members.index(rank)
        self._device = device
        self._spoil = spoil
        self._iterations = iterations
        # every member's part has the same number of elements
        self._part = max(1, payload_bytes // 4 // self._size)

    def membership(self) -> None:
        """Every member sends its rank: everyone must see all of them, in the order of the group."""
        mine = torch.tensor([self._rank + (1_000_000 if self._spoil else 0)], dtype=torch.int64, device=self._device)
        seen = [torch.zeros_like(mine) for _ in self._members]
        if self._size > 1:
            dist.all_gather(seen, mine, group=self._handle)
        else:
            seen = [mine]
        got = [int(one) for one in seen]
        wrong = [rank for rank, value in zip(self._members, got) if rank != value]
        if wrong:
            raise WrongData("the members gave the ranks %s, not %s" % (got[:16], self._members[:16]), wrong)

    def collectives(self) -> Dict[str, Timing]:
        """The collectives that this kind of group carries in training, each checked, then timed."""
        if self._size == 1:
            return {}
        timings = {"all_reduce": self._all_reduce()}
        for name, run in self._others():
            timings[name] = run()
        return timings

    def _others(self) -> List[Tuple[str, Callable[[], Timing]]]:
        name, gloo = self._group.name, dist.get_backend() == "gloo"
        if name == "pp":
            return [("send_recv", self._send_recv)]
        if name in ("ep", "tp_ep_mp"):
            # gloo has no all_to_all
            return [] if gloo else [("all_to_all", self._all_to_all)]
        if name in ("embd", "pos_embd", "mp", "intra_dist_opt_instance"):
            return []
        scatter: List[Tuple[str, Callable[[], Timing]]] = [] if gloo else [("reduce_scatter", self._reduce_scatter)]
        return [("all_gather", self._all_gather), *scatter]

    def _need(self, good: bool, message: str) -> None:
        if not good:
            raise WrongData(message, [])

    def _all_reduce(self) -> Timing:
        data = torch.full((self._part * self._size,), float(self._place + 1), device=self._device)
        dist.all_reduce(data, group=self._handle)
        want = self._size * (self._size + 1) / 2
        self._need(bool((data == want).all()), "all_reduce gave %s instead of %g" % (data[:3].tolist(), want))
        data.zero_()
        return self._timed(data.numel() * 4, lambda: dist.all_reduce(data, group=self._handle))

    def _all_gather(self) -> Timing:
        part = torch.full((self._part,), float(self._rank), device=self._device)
        parts = list(torch.empty(self._part * self._size, device=self._device).chunk(self._size))
        dist.all_gather(parts, part, group=self._handle)
        wrong = [rank for rank, one in zip(self._members, parts) if not bool((one == rank).all())]
        if wrong:
            raise WrongData("all_gather gave other data than rank(s) %s sent" % wrong[:8], wrong)
        return self._timed(self._part * self._size * 4, lambda: dist.all_gather(parts, part, group=self._handle))

    def _reduce_scatter(self) -> Timing:
        whole = torch.arange(self._size, dtype=torch.float32, device=self._device).repeat_interleave(self._part)
        part = torch.empty(self._part, device=self._device)
        run = lambda: dist.reduce_scatter(part, list(whole.chunk(self._size)), group=self._handle)  # noqa: E731
        run()
        want = self._place * self._size
        self._need(bool((part == want).all()), "reduce_scatter gave %s instead of %g" % (part[:3].tolist(), want))
        return self._timed(whole.numel() * 4, run)

    def _all_to_all(self) -> Timing:
        sent = torch.full((self._part * self._size,), float(self._rank), device=self._device)
        got = torch.empty_like(sent)
        run = lambda: dist.all_to_all_single(got, sent, group=self._handle)  # noqa: E731
        run()
        want = torch.tensor(self._members, dtype=torch.float32, device=self._device).repeat_interleave(self._part)
        self._need(bool((got == want).all()), "all_to_all gave %s" % got[:: self._part][:8].tolist())
        return self._timed(sent.numel() * 4, run)

    def _send_recv(self) -> Timing:
        """Every stage sends to the next one, the last to the first."""
        after = self._members[(self._place + 1) % self._size]
        before = self._members[self._place - 1]
        sent = torch.full((self._part,), float(self._rank), device=self._device)
        got = torch.empty_like(sent)

        def run() -> None:
            operations = [dist.P2POp(dist.isend, sent, after, self._handle), dist.P2POp(dist.irecv, got, before, self._handle)]
            for request in dist.batch_isend_irecv(operations):
                request.wait()

        run()
        if not bool((got == before).all()):
            raise WrongData("recv gave %s instead of %d" % (got[:3].tolist(), before), [before])
        return self._timed(sent.numel() * 4, run)

    def _timed(self, moved: int, run: Callable[[], Any]) -> Timing:
        """The mean time of one operation, issued back to back as training does."""
        run()
        self._synchronize()
        began = time.perf_counter()
        for _ in range(self._iterations):
            run()
        self._synchronize()
        return moved, (time.perf_counter() - began) * 1e3 / self._iterations

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
