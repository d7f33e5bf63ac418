#!/usr/bin/env python3
# benchmarks/peers.py - the rows of train.cpp in PyTorch: the same nets, the same measurement, the same lines.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
  peers.py [--threads N] [--compile] [ROW ...]   eager (or torch.compile) with N threads
  peers.py --ranks 2 [ROW ...]                   two processes over gloo: C7 and C8 by all_reduce, C9 by DDP, C10 by
                                                 DTensor where torch has it
  peers.py start                                 one step of C2.32 and out

Without rows, one a line from standard input. Set OPENBLAS_CORETYPE, OPENBLAS_NUM_THREADS and OMP_NUM_THREADS outside.
"""
import argparse
import ctypes
import json
import os
import sys
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("--threads", type=int, default=1)
arguments.add_argument("--ranks", type=int, default=1)
arguments.add_argument("--compile", action="store_true")
arguments.add_argument("rows", nargs="*")
given = arguments.parse_args()

rank, to_others = 0, []
if given.ranks > 1:  # before torch starts a thread
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), GLOO_SOCKET_IFNAME="lo")
    for i in range(1, given.ranks):
        read, write = os.pipe()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, 9)  # ends with its parent
            os.dup2(read, 0)
            os.close(write)
            rank, to_others, given.rows = i, [], []
            break
        os.close(read)
        to_others.append(os.fdopen(write, "w"))

import torch
from torch import nn

torch.set_num_threads(given.threads)
torch.manual_seed(1)
if given.ranks > 1:
    import torch.distributed as dist
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    dist.init_process_group("gloo", rank=rank, world_size=given.ranks)


def mlp(*sizes):
    layers = []
    for i in range(1, len(sizes)):
        layers += [nn.Linear(sizes[i - 1], sizes[i])] + ([nn.ReLU()] if i + 1 < len(sizes) else [])
    return nn.Sequential(*layers)


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


SMALL, DIGITS, MNIST, WIDE, HUGE = (64, 64, 64, 10), (784, 128, 10), (784, 512, 512, 10), (784, 1024, 1024, 10), (784, 4096, 4096, 10)
ONE = {
    "C1": (lambda: mlp(*SMALL), (1, 64)),
    "C2.1": (lambda: mlp(*DIGITS), (1, 784)),
    "C2.32": (lambda: mlp(*DIGITS), (32, 784)),
    "C3": (lambda: mlp(*MNIST), (64, 784)),
    "C3.two": (lambda: mlp(*MNIST), (64, 784)),
    "C4": (lambda: mlp(*WIDE), (512, 784)),
    "C4.two": (lambda: mlp(*WIDE), (512, 784)),
    "C6": (lenet, (32, 1, 28, 28)),
    "C10.alone": (lambda: mlp(*HUGE), (64, 784)),
}
for samples in (1, 32, 256, 2048):
    ONE[f"C9.{samples}.alone"] = (lambda: mlp(*DIGITS), (samples, 784))


def stepper(model, shape, foreach=True, momentum=0):
    """Data in memory, one stochastic-gradient step as PyTorch's own examples write it, in its fastest setting."""
    x, labels = torch.rand(*shape) * 2 - 1, torch.arange(shape[0]) * 3 % 10
    loss_of = nn.CrossEntropyLoss()
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, foreach=foreach, momentum=momentum)

    def forward():
        return loss_of(model(x), labels)
    if given.compile:
        forward = torch.compile(forward, mode="max-autotune")

    def step():
        sgd.zero_grad(set_to_none=True)
        forward().backward()
        sgd.step()
    return step


def split(model, mesh, plan):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.distributed.tensor import Replicate
    ways = {"cols": lambda: ColwiseParallel(output_layouts=Replicate()),
            "rows": lambda: RowwiseParallel(input_layouts=Replicate()),
            "cols-": ColwiseParallel, "-rows": RowwiseParallel}
    return parallelize_module(model, mesh, {layer: ways[how]() for layer, how in plan.items()})


def hook_us(which):
    """DDP's communication hook on a gradient of 64 MiB and one rank: what compressing and reading it back costs."""
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(4096, 4096))

        def forward(self, x):
            return (self.w * x).sum()
    state, hook = {"fp16": (None, default_hooks.fp16_compress_hook),
                   "bf16": (None, getattr(default_hooks, "bf16_compress_hook", None)),
                   "powersgd": (powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)}[which]
    took = []

    def timed(state, bucket):
        begin = time.perf_counter()
        future = hook(state, bucket)
        future.wait()
        took.append((time.perf_counter() - begin) * 1e6)
        return future
    model, x = nn.parallel.DistributedDataParallel(One(), bucket_cap_mb=256), torch.rand(4096, 4096)
    model.register_comm_hook(state, timed)
    try:
        for _ in range(25):
            model(x).backward()
    except RuntimeError:
        return None  # gloo does not know the format
    return sorted(took[5:])[10]


def summed(size):
    if given.ranks == 1:
        return None
    values = torch.zeros(size // 4)
    return lambda: dist.all_reduce(values)


def made(row):
    if row.startswith("C13.hook."):
        return row.rpartition(".")[2]
    if row == "C8" or row.startswith("C7."):
        return summed(64 << 20 if row == "C8" else int(row[3:]))
    if given.ranks == 1:
        return stepper(ONE[row][0](), ONE[row][1], momentum=0.9 if row.startswith("C3") else 0) if row in ONE else None
    kind, _, what = row.partition(".")
    if kind == "C9" and what.isdigit():
        return stepper(nn.parallel.DistributedDataParallel(mlp(*DIGITS), gradient_as_bucket_view=True), (int(what), 784))
    if kind == "C10" and what in ("cols", "rows", "colsrows"):
        try:
            from torch.distributed.device_mesh import init_device_mesh
            import torch.distributed.tensor.parallel
        except ImportError:
            return None  # this torch has no DTensor
        plan = {"cols": ("cols", "cols"), "rows": ("rows", "rows"), "colsrows": ("cols-", "-rows")}[what]
        return stepper(split(mlp(*HUGE), init_device_mesh("cpu", (given.ranks,)), dict(zip("02", plan))), (64, 784), False)
    return None


def agreed(value):
    """Rank 0's word: how many steps, when to end."""
    if given.ranks == 1:
        return value
    word = torch.tensor([float(value)])
    dist.broadcast(word, 0)
    return word.item()


def step_us(step):
    """As burst.hpp: the median of bursts of at least 5 ms over 0.25 s, after 0.1 s (and 3 steps) that do not count."""
    for _ in range(3):
        step()
    start, n, count = time.perf_counter(), 1, 0
    while agreed(time.perf_counter() < start + 0.1):
        begin = time.perf_counter()
        for _ in range(n):
            step()
        if agreed(time.perf_counter() - begin < 0.005):
            n *= 2
    bursts, begin = [], time.perf_counter()
    while agreed(time.perf_counter() < begin + 0.25 or len(bursts) < 3):
        t = time.perf_counter()
        for _ in range(n):
            step()
        bursts.append((time.perf_counter() - t) * 1e6 / n)
    return sorted(bursts)[len(bursts) // 2]


if given.rows == ["start"]:
    stepper(*[part() if callable(part) else part for part in ONE["C2.32"]])()
    sys.exit()

who = f"torch-{torch.__version__.split('+')[0]}" + ("-compile" if given.compile else "")
steps = {}
for row in given.rows or (line.strip() for line in sys.stdin):
    for other in to_others:
        other.write(row + "\n")
        other.flush()
    if row not in steps:
        steps[row] = made(row)
    us = hook_us(steps[row]) if isinstance(steps[row], str) else step_us(steps[row]) if steps[row] else None
    if rank == 0:
        print(json.dumps({"row": row, "who": who, "us": us} if us else {}), flush=True)
for other in to_others:
    other.close()
