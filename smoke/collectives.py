"""Collectives that check what they receive and measure how long they take. Runs inside a rank, after torch is imported.

Every member fills its buffers with values that tell its place in the group: small whole numbers, which float32 adds
exactly, so that a wrong member, order, offset or sum shows.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
import torch.distributed as dist

from plan import Group

#: Values of two places are alike only where the places are a multiple of this apart.
PLACES = 61

#: The values also vary along a buffer, with this period, so that shifted data shows.
RIPPLE = 8

#: Timed repetitions are cut into this many batches.
BATCHES = 3

#: An operation that was checked once: the bytes that it moves, and the call to repeat for timing.
Checked = Tuple[int, Callable[[], Any]]

#: A moment: in seconds, or an event in the stream of a GPU.
Mark = Any


class WrongDataError(Exception):
    """A collective delivered something else than its members sent; `suspect` are the ranks whose data it was."""

    def __init__(self, message: str, suspect: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.suspect = list(suspect)


class Checker:
    """Runs the checked collectives of one group on one rank.

    `payload_bytes` is the size of the larger buffer of an operation.
    """

    def __init__(self, group: Group, handle: Any, rank: int, device: torch.device, payload_bytes: int, iterations: int) -> None:
        self._name = group.name
        self._handle = handle
        self._rank = rank
        # torch orders the members of a group by global rank, whatever the order of the list
        self._members = sorted(group.ranks)
        self._size = len(self._members)
        self._place = self._members.index(rank)
        self._device = device
        self._iterations = iterations
        # every member's part has the same number of elements
        self._part = max(1, payload_bytes // 4 // self._size)

    def membership(self) -> None:
        """Every member sends its rank: everyone must see all of them, in the order of the group."""
        mine = torch.tensor([self._rank], dtype=torch.int64, device=self._device)
        seen = [torch.zeros_like(mine) for _ in self._members]
        dist.all_gather(seen, mine, group=self._handle)
        got = [int(one) for one in seen]
        wrong = [rank for rank, value in zip(self._members, got) if rank != value]
        if wrong:
            raise WrongDataError("the members gave the ranks %s, not %s" % (got[:16], self._members[:16]), wrong)

    def operations(self) -> Dict[str, Callable[[], Checked]]:
        """The collectives that this kind of group carries in training, by name."""
        if self._name == "pp":
            return {"all_reduce": self._all_reduce, "send_recv": self._send_recv}
        if self._name in ("ep", "tp_ep_mp"):
            return {"all_reduce": self._all_reduce, "all_to_all": self._all_to_all}
        if self._name in ("embd", "pos_embd", "mp", "intra_dist_opt_instance"):
            return {"all_reduce": self._all_reduce}
        return {"all_reduce": self._all_reduce, "all_gather": self._all_gather, "reduce_scatter": self._reduce_scatter}

    def run_all(self) -> Dict[str, Dict[str, Any]]:
        """Checks and times every operation of the group, by name."""
        return {name: self.run(operation) for name, operation in self.operations().items()}

    def overlap(self, other: Any) -> List[float]:
        """Milliseconds of an all_gather beside a reduce_scatter: both in this group, then the all_gather in the `other`.

        Needs CUDA: gloo runs both on the same CPU.
        """
        part = self.contribution(self._place, self._part)
        gathered = torch.empty(self._part * self._size, device=self._device)
        whole = self.contribution(self._place, self._part * self._size)
        reduced = torch.empty(self._part, device=self._device)
        sums = self._sum(whole.numel()).chunk(self._size)[self._place]

        def milliseconds(handle: Any) -> float:
            def call() -> None:
                # asynchronous, or else the second would wait for the first
                requests = [
                    dist.all_gather_into_tensor(gathered, part, group=handle, async_op=True),
                    dist.reduce_scatter_tensor(reduced, whole, group=self._handle, async_op=True),
                ]
                for request in requests:
                    request.wait()

            gathered.zero_()
            reduced.zero_()
            ms = self._milliseconds(call)
            self._need_parts(gathered.chunk(self._size), "all_gather", lambda sender: sender)
            self._need_sum(reduced, sums, "reduce_scatter", whole)
            return ms

        return [milliseconds(self._handle), milliseconds(other)]

    def run(self, operation: Callable[[], Checked]) -> Dict[str, Any]:
        """Checks an operation, then times it: bytes and milliseconds, or why the backend cannot run it."""
        try:
            moved, call = operation()
        except (RuntimeError, NotImplementedError) as error:
            # gloo lacks some operations, and says so before anything is sent
            if "support" not in str(error):
                raise
            return {"skipped": str(error).strip().splitlines()[0][:80]}
        return {"bytes": moved, "ms": self._milliseconds(call)}

    def _milliseconds(self, call: Callable[[], Any]) -> float:
        """The time of one call, issued back to back as training does.

        The median over a few batches: other groups make their communicators meanwhile, and a hiccup of theirs is not the
        speed of this one.
        """
        call()
        batch = -(-self._iterations // BATCHES)
        marks = [self._mark()]
        for _ in range(-(-self._iterations // batch)):
            for _ in range(batch):
                call()
            marks.append(self._mark())
        self._synchronize()
        return statistics.median(map(milliseconds_between, marks, marks[1:])) / batch

    def _mark(self) -> Mark:
        """A moment: on a GPU, where calls return before they are done, one of its stream, so that nothing has to wait."""
        if self._device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    # ---- buffers

    def contribution(self, place: int, count: int) -> torch.Tensor:
        """What the member at `place` sends: `count` elements."""
        return self._expected(place, count)

    def _expected(self, place: int, count: int) -> torch.Tensor:
        return self._ripple(count) + float(place % PLACES + 1)

    def _ripple(self, count: int) -> torch.Tensor:
        return torch.arange(count, device=self._device).remainder(RIPPLE).to(torch.float32)

    def _sum(self, count: int) -> torch.Tensor:
        """What the contributions of all members add up to."""
        return self._ripple(count) * self._size + float(sum(place % PLACES + 1 for place in range(self._size)))

    def _need(self, got: torch.Tensor, want: torch.Tensor, what: str, suspect: Sequence[int]) -> None:
        if not torch.equal(got, want):
            at = int((got != want).nonzero()[0])
            message = "%s gave %g at element %d, not %g" % (what, got[at].item(), at, want[at].item())
            raise WrongDataError(message, suspect)

    def _need_sum(self, got: torch.Tensor, want: torch.Tensor, what: str, sent: torch.Tensor) -> None:
        """A wrong sum does not tell whose part was wrong; a member that finds its own part wrong does."""
        at_fault = not torch.equal(sent, self._expected(self._place, sent.numel()))
        self._need(got, want, what, [self._rank] if at_fault else [])

    # ---- operations

    def _all_reduce(self) -> Checked:
        count = self._part * self._size
        sent = self.contribution(self._place, count)
        data = sent.clone()
        dist.all_reduce(data, group=self._handle)
        self._need_sum(data, self._sum(count), "all_reduce", sent)
        data.zero_()
        return count * 4, lambda: dist.all_reduce(data, group=self._handle)

    def _all_gather(self) -> Checked:
        part = self.contribution(self._place, self._part)
        whole = torch.empty(self._part * self._size, device=self._device)
        parts = list(whole.chunk(self._size))

        def call() -> Any:
            # one buffer where the backend takes one: lists cost copies that training does not have
            if self._device.type == "cuda":
                return dist.all_gather_into_tensor(whole, part, group=self._handle)
            return dist.all_gather(parts, part, group=self._handle)

        call()
        self._need_parts(parts, "all_gather", lambda sender: sender)
        return whole.numel() * 4, call

    def _reduce_scatter(self) -> Checked:
        whole = self.contribution(self._place, self._part * self._size)
        parts = list(whole.chunk(self._size))
        part = torch.empty(self._part, device=self._device)

        def call() -> Any:
            if self._device.type == "cuda":
                return dist.reduce_scatter_tensor(part, whole, group=self._handle)
            return dist.reduce_scatter(part, parts, group=self._handle)

        call()
        self._need_sum(part, self._sum(whole.numel()).chunk(self._size)[self._place], "reduce_scatter", whole)
        return whole.numel() * 4, call

    def _all_to_all(self) -> Checked:
        sent = torch.cat([self.contribution(self._place * self._size + to, self._part) for to in range(self._size)])
        got = torch.empty_like(sent)

        def call() -> Any:
            return dist.all_to_all_single(got, sent, group=self._handle)

        call()
        self._need_parts(got.chunk(self._size), "all_to_all", lambda sender: sender * self._size + self._place)
        return sent.numel() * 4, call

    def _need_parts(self, parts: Sequence[torch.Tensor], what: str, code: Callable[[int], int]) -> None:
        """Every part must be what its sender, by place, was to send."""
        for sender, part in enumerate(parts):
            rank = self._members[sender]
            self._need(part, self._expected(code(sender), self._part), "%s from rank %d" % (what, rank), [rank])

    def _send_recv(self) -> Checked:
        """Every stage sends to the next one, the last to the first."""
        following = self._members[(self._place + 1) % self._size]
        before = self._members[self._place - 1]
        sent = self.contribution(self._place, self._part * self._size)
        got = torch.empty_like(sent)

        def call() -> None:
            send = dist.P2POp(dist.isend, sent, following, self._handle)
            receive = dist.P2POp(dist.irecv, got, before, self._handle)
            for request in dist.batch_isend_irecv([send, receive]):
                request.wait()

        call()
        want = self._expected((self._place - 1) % self._size, got.numel())
        self._need(got, want, "receive from rank %d" % before, [before])
        return sent.numel() * 4, call


def milliseconds_between(start: Mark, end: Mark) -> float:
    """How long it was from a moment to a later one of the same clock."""
    if isinstance(start, float) and isinstance(end, float):
        return (end - start) * 1e3
    return float(start.elapsed_time(end))


def gather_positions(group: Group, handle: Any, mine: List[int], want: List[List[int]], device: torch.device) -> List[int]:
    """Joins the token positions that the members of a group hold; `want` says them place by place.

    Raises WrongDataError where a member holds others.
    """
    sent = torch.tensor(mine, dtype=torch.int64, device=device)
    members = sorted(group.ranks)
    parts = [torch.empty_like(sent) for _ in members]
    if len(members) > 1:
        dist.all_gather(parts, sent, group=handle)
    else:
        parts = [sent]
    got = [part.tolist() for part in parts]
    for rank, positions, wanted in zip(members, got, want):
        if positions != wanted:
            at = next(at for at, (one, other) in enumerate(zip(positions, wanted)) if one != other)
            message = "rank %d holds token position %d at place %d of its part, not %d" % (rank, positions[at], at, wanted[at])
            raise WrongDataError(message, [rank])
    return [position for positions in got for position in positions]


def need_each_position_once(positions: List[int], length: int) -> None:
    """Raises WrongDataError unless some token positions are those of a whole sequence, each of them once."""
    times = Counter(positions)
    odd = next((position for position in range(length) if times[position] != 1), None)
    if odd is not None:
        raise WrongDataError("token position %d is held %d times among %d positions" % (odd, times[odd], len(positions)))
    if len(positions) != length:
        raise WrongDataError("%d token positions are held, not %d" % (len(positions), length))
