#!/usr/bin/env python3
"""Computes again with PyTorch, in f64, what reference.cpp wrote: loss, gradient of the input and of every weight.

usage: reference.py DIR        exit 0: all agree to 1e-5 relative; 1: not; 77: torch is not importable
"""
import json, pathlib, struct, sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped: torch is not importable")
    sys.exit(77)


def attention(q, k, v, is_causal=False):
    """F.scaled_dot_product_attention, for versions before 2.0."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v


def rms_norm(x, shape, weight, eps):
    """F.rms_norm, for versions before 2.4."""
    return x * (x.square().mean(tuple(range(-len(shape), 0)), True) + eps).rsqrt() * weight


for name, function in {"scaled_dot_product_attention": attention, "rms_norm": rms_norm}.items():
    if not hasattr(F, name):
        setattr(F, name, function)


def read(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    meta = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = bytearray(raw[8 + length + begin : 8 + length + end])
        tensors[name] = torch.frombuffer(data, dtype=torch.float64).reshape(entry["shape"])
    return meta["layer"], meta["loss"], meta["clip"], tensors


def worst(a, b):
    return ((a - b).abs().max() / (b.abs().max() + 1e-12)).item()


def rotated(qkv):
    """Queries and keys of (b, T, 3, heads, D) turned by their positions, and values: each (b, heads, T, D)."""
    q, k, v = (h.transpose(1, 2) for h in qkv.unbind(2))
    half = q.shape[-1] // 2
    angle = torch.outer(torch.arange(q.shape[2]), 10000.0 ** (-torch.arange(half).double() / half))
    c, s = torch.cat([angle.cos()] * 2, 1), torch.cat([angle.sin()] * 2, 1)
    turn = lambda h: h * c + torch.cat([-h[..., half:], h[..., :half]], -1) * s
    return turn(q), turn(k), v


def in_runs(cell, x, w, n):
    """The outputs of a recurrent layer whose state is detached every n positions."""
    zeros = x.new_zeros(1, len(x), w[1].shape[1])
    state, out = (zeros, zeros) if cell == "lstm" else zeros, []
    for run in x.split(n, 1):
        y, *state = getattr(torch, cell)(run, state, w, True, 1, 0, False, False, True)
        state = tuple(h.detach() for h in state)
        state = state if cell == "lstm" else state[0]
        out.append(y)
    return torch.cat(out, 1)


failed = 0
cases = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
for path in cases:
    layer, kind, clip, t = read(path)
    x = t["x"].clone().requires_grad_()
    w = [t[f"w{i}"].clone().requires_grad_() for i in range(sum(k.startswith("w") for k in t))]
    y = eval(layer, {"F": F, "torch": torch, "x": x, "w": w, "rotated": rotated, "in_runs": in_runs})
    labels = t["labels"].long()
    y = y.reshape(len(labels), -1)  # of each position, if each has a label
    target = F.one_hot(labels, y.shape[1]).double()
    loss = {
        "cross_entropy": lambda: F.cross_entropy(y, labels),
        "weighted_cross_entropy": lambda: F.cross_entropy(
            y, labels, weight=torch.tensor([1, 0.5, 3, 2], dtype=y.dtype), reduction="sum") / len(labels),
        "smoothed_cross_entropy": lambda: F.cross_entropy(y, labels, label_smoothing=0.1),
        "binary_cross_entropy": lambda: F.binary_cross_entropy_with_logits(y, target),
        "weighted_binary_cross_entropy": lambda: F.binary_cross_entropy_with_logits(
            y, target, pos_weight=torch.tensor([1, 0.5, 3, 2], dtype=y.dtype)),
        "huber": lambda: F.huber_loss(y, target, delta=0.5),
        "mse": lambda: F.mse_loss(y, target),
    }[kind]()
    loss.backward()
    if clip:
        torch.nn.utils.clip_grad_norm_(w, float(clip))
    errors = {"loss": worst(t["loss"][0], loss.detach()), "dx": worst(t["dx"], x.grad)}
    errors |= {f"dw{i}": worst(t[f"dw{i}"], v.grad) for i, v in enumerate(w)}
    bad = {k: e for k, e in errors.items() if not e <= 1e-5}
    failed += bool(bad)
    print(f"{'FAILED' if bad else 'agrees'}  {path.stem:20} worst {max(errors.values()):.1e}  {bad or ''}")
print(f"{len(cases) - failed} of {len(cases)} layers agree with torch {torch.__version__} to 1e-5")
sys.exit(1 if failed or not cases else 0)
