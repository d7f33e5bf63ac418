#!/usr/bin/env python3
# benchmarks/sequences_torch.py PROGRAM - the nets of sequences.cpp in PyTorch, eager and compiled, in turns with PROGRAM.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line for each net and number of threads: the medians over rounds of the fastest step in a second, and of the ratios."""
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

positions, letters, features, heads = 64, 65, 128, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(features), nn.LayerNorm(features)
        self.into, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x):
        b = len(x)
        q, k, v = self.into(self.first(x)).view(b, positions, 3, heads, features // heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, positions, features))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    batch = 12

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(letters, features), nn.Parameter(torch.zeros(positions, features))
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])
        self.norm, self.last = nn.LayerNorm(features), nn.Linear(features, letters)

    def forward(self, x):
        return self.last(self.norm(self.blocks(self.words(x) + self.places)))


class Lstm(nn.Module):
    batch = 32

    def __init__(self):
        super().__init__()
        self.words, self.cells = nn.Embedding(letters, features), nn.LSTM(features, features, 2, batch_first=True)
        self.last = nn.Linear(features, letters)

    def forward(self, x):
        return self.last(self.cells(self.words(x))[0])


def stepper(net, compiled):
    torch.manual_seed(1)
    model = net()
    called = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x = torch.randint(letters, (net.batch, positions))
    y = torch.randint(letters, (net.batch, positions))

    def step():
        loss = F.cross_entropy(called(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step()
    return step


def fastest(step):
    best, end = float("inf"), time.perf_counter() + 1
    while time.perf_counter() < end:
        begun = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - begun)
    return best * 1e3


rounds = 7
for name, net in (("gpt", Gpt), ("lstm", Lstm)):
    for threads in (1, 2):
        torch.set_num_threads(threads)
        peers = {"eager": stepper(net, False)}
        try:
            peers["compiled"] = stepper(net, True)
        except Exception as e:  # no compiler, or a net that it does not take
            print(f"torch.compile of {name}: {type(e).__name__}")
        ours, theirs = [], {peer: [] for peer in peers}
        for _ in range(rounds):
            ours.append(float(subprocess.run([sys.argv[1], name, str(threads)], capture_output=True, text=True).stdout))
            for peer, step in peers.items():
                theirs[peer].append(fastest(step))
        ratios = ", ".join(f"{peer} {statistics.median(of):.1f} ms, {statistics.median(a / b for a, b in zip(of, ours)):.2f} "
                           "times as long" for peer, of in theirs.items())
        print(f"{name}, {threads} threads: cleave {statistics.median(ours):.1f} ms; PyTorch {torch.__version__} {ratios}", flush=True)
