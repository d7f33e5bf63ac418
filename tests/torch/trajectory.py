#!/usr/bin/env python3
"""Trains the nets of trajectory.cpp with PyTorch, in f64 from the same weights: every loss, and the weights at the end.

usage: trajectory.py DIR        exit 0: all agree to 1e-7 relative; 1: not; 77: torch is not importable
"""
import json, pathlib, struct, sys

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print("skipped: torch is not importable")
    sys.exit(77)

positions, letters, features, batch, steps = 12, 16, 8, 6, 50


def read(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(bytearray(raw[8 + length + begin : 8 + length + end]), dtype=torch.float64).reshape(entry["shape"])
    return tensors


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(letters, features), nn.Linear(8, letters)
        self.first, self.second = nn.LSTM(features, 8, batch_first=True), nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        return self.last(self.second(self.first(self.words(x))[0])[0])


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(letters, features), nn.Linear(8, letters)
        self.first = nn.GRU(features, 8, batch_first=True)

    def forward(self, x):
        return self.last(self.first(self.words(x))[0][:, -1:])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attn = nn.MultiheadAttention(features, 2, batch_first=True)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x):
        h = self.ln_1(x)
        later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        x = x + self.attn(h, h, h, attn_mask=later, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.blocks = nn.Embedding(letters, features), nn.Sequential(Block(), Block())
        self.norm, self.last = nn.LayerNorm(features), nn.Linear(features, letters)

    def forward(self, x):
        return self.last(self.norm(self.blocks(self.words(x))))


class TiedGpt(Gpt):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(features, letters, bias=False)
        self.last.weight = self.words.weight


def token(sample, k):
    return (sample * 5 + k * k * 3 + sample * k) % letters


def worst(a, b):
    return ((a - b).abs().max() / (b.abs().max() + 1e-12)).item()


torch.set_default_dtype(torch.float64)
folder, failed = pathlib.Path(sys.argv[1]), 0
float32 = lambda v: struct.unpack("f", struct.pack("f", v))[0]  # constants of optimizers are floats here
for name, net in (("lstm", Lstm), ("gru", Gru), ("gpt", Gpt), ("tied", TiedGpt)):
    model = net()
    model.load_state_dict(read(folder / f"{name}.before.safetensors"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=float32(0.01), betas=(float32(0.9), float32(0.999)), eps=float32(1e-8),
                                  weight_decay=float32(0.01))
    losses = []
    for step in range(steps):
        tokens = torch.tensor([[token(step * batch + s, k) for k in range(positions + 1)] for s in range(batch)])
        y = model(tokens[:, :-1])
        loss = F.cross_entropy(y.flatten(0, 1), tokens[:, -y.shape[1]:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    after = read(folder / f"{name}.after.safetensors")
    errors = {"losses": worst(read(folder / f"{name}.losses.safetensors")["losses"], torch.tensor(losses))}
    for key, value in model.state_dict().items():
        if key.endswith("in_proj_bias"):  # the gradient of a key's bias is 0 up to rounding, which Adam makes a step of
            keep = torch.ones_like(value, dtype=torch.bool)
            keep[features : 2 * features] = False
            errors[key] = worst(after[key][keep], value[keep])
        else:
            errors[key] = worst(after[key], value)
    bad = {k: e for k, e in errors.items() if not e <= 1e-7}
    failed += bool(bad)
    print(f"{'FAILED' if bad else 'agrees'}  {name:5} loss {losses[0]:.4f} to {losses[-1]:.4f}, worst {max(errors.values()):.1e}  {bad or ''}")
sys.exit(1 if failed else 0)
