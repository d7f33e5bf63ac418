"""The nets of int8.cpp in PyTorch on one core: f32, and static quantisation by the x86 engine. Prints microseconds."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import time
import warnings

import torch
from torch import nn
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.backends.quantized.engine = "x86"
mlp = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
pool = lambda: nn.MaxPool2d(3, 2, 1)
cifar = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), pool(), nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), pool(),
                      nn.Flatten(), nn.Linear(4096, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10))


def shortest(net, x):
    best = 1e9
    with torch.inference_mode():
        for _ in range(300):
            begin = time.perf_counter()
            net(x)
            best = min(best, time.perf_counter() - begin)
    return best * 1e6


for name, net, shape in (("MNIST, dense", mlp, (1, 28, 28)), ("CIFAR-10, convolutional", cifar, (3, 32, 32))):
    net = net.eval().to(memory_format=torch.channels_last)
    example = (torch.randn(32, *shape),)
    prepared = prepare_fx(net, get_default_qconfig_mapping("x86"), example)
    prepared(*example)
    quantised = convert_fx(prepared)
    for n in (1, 32):
        x = torch.randn(n, *shape).contiguous(memory_format=torch.channels_last)
        print(f"{name}, {n} samples: f32 {shortest(net, x):.1f} us, int8 {shortest(quantised, x):.1f} us")
