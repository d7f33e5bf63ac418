#!/usr/bin/env python3
# benchmarks/gpu_peers.py - the rows of gpu.cu in PyTorch: the same sizes, the same measurement, the same lines.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
  gpu_peers.py [--only ROW[,ROW ...]] [--seconds 200] [--quick] [--sides all | written | compiled]

Sides: "torch eager", "torch compile", "torch graph" (the whole step in one CUDA graph: forward, backward, optimizer,
inputs that stay), "torch compile graph" (the compiled step in one). Rows in f32 are measured with tf32 off, and again
with it as "... tf32". Rows in bf16 keep weights and optimizer in bf16 too, which is less work than ours. First all rows
without the compiler, then with; when the seconds are over it ends. "written" are "torch eager" and "torch graph" alone,
"compiled" the others. What fails is a line with "error". Ends with 1 when the seconds were over before all rows were.
"""
import argparse
import json
import signal
import statistics
import sys
import time

arguments = argparse.ArgumentParser(usage=__doc__)
arguments.add_argument("--only", default="", help="rows that begin so, by commas")
arguments.add_argument("--seconds", type=float, default=200)
arguments.add_argument("--side", type=float, default=60, help="seconds at most for one side of one row")
arguments.add_argument("--sides", choices=("all", "written", "compiled"), default="all")
arguments.add_argument("--quick", action="store_true")
given = arguments.parse_args()
end = time.monotonic() + given.seconds

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as e:
    print(f"gpu_peers.py: {e}; install PyTorch for CUDA to have peers", file=sys.stderr)
    sys.exit(2)
if not torch.cuda.is_available():
    print("gpu_peers.py: PyTorch finds no CUDA device", file=sys.stderr)
    sys.exit(2)

only = [o for o in given.only.split(",") if o]
f32, bf16, device = torch.float32, torch.bfloat16, torch.device("cuda")


def tell(**line):
    print(json.dumps(line), flush=True)


def measured(put):
    """As gpu.hpp: bursts between two events, the median of repeats, after a warm-up that does not count."""
    begin, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def burst(n):
        begin.record()
        for _ in range(n):
            put()
        stop.record()
        stop.synchronize()
        return begin.elapsed_time(stop)

    least, warm, limit = (1, 10, 3e3) if given.quick else (5, 50, 1e4)
    n, spent, rounds = 1, 0, 0
    while rounds < 3 or spent < warm:
        ms = burst(n)
        spent, rounds = spent + ms, rounds + 1
        if ms < least and n < 4096:
            n *= 2
    each, spent = [], 0
    for _ in range(20 if given.quick else 25):
        if len(each) >= 3 and spent >= limit:
            break
        ms = burst(n)
        spent += ms
        each.append(ms / n)
    return {"ms": statistics.median(each), "low": min(each), "high": max(each), "repeats": len(each)}


def captured(put):
    """put() as one CUDA graph: three times on a side stream first, as torch asks for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            put()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        put()
    return graph.replay


# --- nets -------------------------------------------------------------------------------------------------------------
def mlp(*sizes):
    layers = []
    for i in range(1, len(sizes)):
        layers += [nn.Linear(sizes[i - 1], sizes[i])] + ([nn.ReLU()] if i + 1 < len(sizes) else [])
    return nn.Sequential(*layers)


def cifar():
    return nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(),
                         nn.Linear(4096, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def stepper(made, shape, dtype, optimizer, compiled):
    """One training step on samples that are there."""
    torch.manual_seed(1)
    how = torch.channels_last if len(shape) == 4 else torch.contiguous_format
    model = made().to(device=device, dtype=dtype).to(memory_format=how)
    x = (torch.rand(shape, device=device) * 2 - 1).to(dtype).to(memory_format=how)
    labels = torch.arange(shape[0], device=device) * 3 % 10
    if optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)

    def forward(x, labels):
        return F.cross_entropy(model(x), labels)
    if compiled:
        forward = torch.compile(forward)

    def step():
        optimizer.zero_grad(set_to_none=True)
        forward(x, labels).backward()
        optimizer.step()
    return step


def net(made, shape, dtype, optimizer="sgd"):
    return lambda compiled: stepper(made, shape, dtype, optimizer, compiled)


# --- single kernels ---------------------------------------------------------------------------------------------------
def dense(m, n, k):
    """Of y = gelu(x W + b): what it reads, what comes from above."""
    r = lambda *s: (torch.rand(s, device=device) * 2 - 1).to(bf16)
    return r(m, k), r(n, k) * 0.05, r(n), r(m, n), r(m, n)


def forward_of(n, k):
    def made(compiled):
        x, w, b, _, _ = dense(65536, n, k)
        run = lambda x, w, b: F.gelu(F.linear(x, w, b))
        run = torch.compile(run) if compiled else run

        def put():
            with torch.no_grad():
                run(x, w, b)
        return put
    return made


def cublaslt_forward(n, k):
    """Product, bias and gelu by one call of cuBLASLt, whose gelu is the one by tanh."""
    def made(_):
        x, w, b, _, _ = dense(65536, n, k)
        w = w.t()
        return lambda: torch.ops.aten._addmm_activation(b, x, w, use_gelu=True)
    return made


def backward_of(n, k):
    def made(compiled):
        x, w, _, z, dy = dense(65536, n, k)

        def run(x, w, z, dy):
            dz = torch.ops.aten.gelu_backward(dy, z)
            return dz @ w, dz.t() @ x, dz.sum(0)
        run = torch.compile(run) if compiled else run

        def put():
            with torch.no_grad():
                run(x, w, z, dy)
        return put
    return made


def gradients_of(n, k):
    def made(compiled):
        x, w, _, _, dz = dense(65536, n, k)
        run = lambda x, w, dz: (dz @ w, dz.t() @ x)
        run = torch.compile(run) if compiled else run

        def put():
            with torch.no_grad():
                run(x, w, dz)
        return put
    return made


def adamw(narrow):
    """In bf16 the f32 weights are stepped and copied, as ours are."""
    def made(compiled):
        w = torch.rand(124_000_000, device=device).requires_grad_()
        w.grad = torch.rand_like(w)
        copy = torch.empty_like(w, dtype=bf16) if narrow else None
        how = {} if compiled else {"fused": True}
        optimizer = torch.optim.AdamW([w], lr=1e-3, weight_decay=0.01, capturable=True, **how)

        def run():
            optimizer.step()
            if narrow:
                with torch.no_grad():
                    copy.copy_(w)
        return torch.compile(run, fullgraph=False) if compiled else run
    return made


def sum_of(count):
    def made(compiled):
        to, *parts = [torch.rand(1 << 24, device=device) for _ in range(count + 1)]

        def tree(*parts):
            while len(parts) > 1:
                parts = [a + b for a, b in zip(parts[::2], parts[1::2])]
            return parts[0]
        if compiled:
            run = torch.compile(lambda to, *parts: to.copy_(tree(*parts)))
            return lambda: run(to, *parts)

        def put():
            torch.add(parts[0], parts[1], out=to)
            for part in parts[2:]:
                to.add_(part)
        return put
    return made


ROWS = {}
for batch in (64, 1024):
    for name, dtype in (("f32", f32), ("bf16", bf16)):
        ROWS[f"mnist.{batch}.{name}"] = net(lambda: mlp(784, 512, 512, 10), (batch, 784), dtype)
for name, dtype in (("bf16", bf16), ("f32", f32)):
    for batch in (128, 1024):
        ROWS[f"cifar.{batch}.{name}"] = net(cifar, (batch, 3, 32, 32), dtype)
for width in (64, 128):
    for batch in (1 << 14, 1 << 17):
        ROWS[f"G2.{width}.{batch}"] = net(lambda w=width: mlp(*[w] * 6), (batch, width), bf16, "adam")
EXTRA = {}  # the library whose products they are, by name
for k, n in ((768, 3072), (3072, 768)):
    ROWS[f"G3.{k}x{n}.forward"] = forward_of(n, k)
    ROWS[f"G3.{k}x{n}.backward"] = backward_of(n, k)
    ROWS[f"G3.{k}x{n}.gradients"] = gradients_of(n, k)
    EXTRA[f"G3.{k}x{n}.forward"] = cublaslt_forward(n, k)
    EXTRA[f"G3.{k}x{n}.backward"] = backward_of(n, k)
    EXTRA[f"G3.{k}x{n}.gradients"] = gradients_of(n, k)
for batch in (32, 256):
    ROWS[f"G4.mlp.{batch}.f32"] = net(lambda: mlp(784, 128, 10), (batch, 784), f32)
    ROWS[f"G4.lenet.{batch}.f32"] = net(lenet, (batch, 1, 28, 28), f32)
ROWS["G5.adamw.f32"] = adamw(False)
ROWS["G5.adamw.bf16"] = adamw(True)
for count in (2, 4, 8):
    ROWS[f"G7.sum.{count}"] = sum_of(count)


class OutOfTime(Exception):
    pass


def ring(*_):
    raise OutOfTime("took longer than its share of the seconds")


def side(row, name, make):
    """Measures what make() gives, within its time, and keeps it for the next."""
    left = min(given.side, end - time.monotonic())
    if left < 1:
        return None
    try:
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, left)
        put = make()
        figure = measured(put)
        signal.setitimer(signal.ITIMER_REAL, 0)
        tell(row=row, side=name, **figure)
        return put
    except Exception as e:
        signal.setitimer(signal.ITIMER_REAL, 0)
        tell(row=row, side=name, error=f"{type(e).__name__}: {e}"[:300])
        return None


def tf32(on):
    torch.set_float32_matmul_precision("high" if on else "highest")
    torch.backends.cudnn.allow_tf32 = on


def sides(row, compiled, fast):
    """As a program is written, and the same as one graph."""
    tf32(fast)
    word, end_of_name = "torch compile" if compiled else "torch", " tf32" if fast else ""
    if compiled:
        torch.compiler.reset()
    put = side(row, (word if compiled else "torch eager") + end_of_name, lambda: ROWS[row](compiled))
    if put:
        side(row, word + " graph" + end_of_name, lambda: captured(put))
    del put
    torch.cuda.empty_cache()


def by_cublaslt(row):
    tf32(False)
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library("cublaslt")
    side(row, "torch cublaslt", lambda: EXTRA[row](False))
    torch.backends.cuda.preferred_blas_library(before)
    torch.cuda.empty_cache()


torch.backends.cudnn.benchmark = True
tell(about={"torch": torch.__version__, "torch_cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "device": torch.cuda.get_device_name()})
wanted = [row for row in ROWS if not only or any(row.startswith(o) for o in only)]
with_products = [row for row in wanted if row.endswith(".f32") and not row.startswith("G5")]
passes = [(sides, wanted, (False, False)), (by_cublaslt, [row for row in wanted if row in EXTRA], ()),
          (sides, with_products, (False, True)), (sides, wanted, (True, False)), (sides, with_products, (True, True))]
passes = {"all": passes, "written": passes[:1], "compiled": passes[1:]}[given.sides]
for do, rows, how in passes:
    for row in rows:
        try:
            do(row, *how)
        except Exception as e:
            tell(row=row, side="torch", error=f"{type(e).__name__}: {e}"[:300])
if time.monotonic() > end - 1:
    print("gpu_peers.py: the seconds were over before all rows were; --seconds gives more", file=sys.stderr)
    sys.exit(1)
