#!/usr/bin/env python3
"""PyTorch's errors against float64 on the cases of `go run ./bench -accuracy`, which embeds the result.

usage: accuracy.py > bench/internal/suite/testdata/pytorch.json      needs: pip install torch numpy
"""
import json, platform

import numpy as np
import torch
import torch.nn.functional as F

ROWS, OUTPUTS = 128, 64


def numbers(seed, shape, positive):
    """As numbers.Portable of bench/internal/numbers makes them."""
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        x = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    total = sum((x >> np.uint64(16 * i)).astype(np.int64) & 0xFFFF for i in range(4))
    y = ((total - 2 * 0xFFFF) * (np.sqrt(3) / 2**16)).astype(np.float32).reshape(shape)
    return abs(y) if positive else y


def attention(d, keys, positive, factor):
    q, k, v = numbers(1, (ROWS, d), positive), numbers(2, (keys, d), positive), numbers(3, (keys, OUTPUTS), positive)
    q *= np.float32(factor)
    s = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(d)
    p = np.exp(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    tensors = [torch.from_numpy(x)[None, None] for x in (q, k, v)]
    return F.scaled_dot_product_attention(*tensors)[0, 0].numpy() - want


def linear(k, positive):
    x, w = numbers(1, (ROWS, k), positive), numbers(2, (OUTPUTS, k), positive)
    return F.linear(torch.from_numpy(x), torch.from_numpy(w)).numpy() - x.astype(np.float64) @ w.astype(np.float64).T


def norm(name, d, positive):
    x, w, b = numbers(1, (ROWS, d), positive), numbers(2, (d,), positive), numbers(3, (d,), positive)
    y = x.astype(np.float64)
    if name == "RMSNorm":
        got, b = F.rms_norm(torch.from_numpy(x), (d,), torch.from_numpy(w), 1e-5), 0
    else:
        got = F.layer_norm(torch.from_numpy(x), (d,), torch.from_numpy(w), torch.from_numpy(b), 1e-5)
        y -= y.mean(1, keepdims=True)
    return got.numpy() - (y / np.sqrt((y**2).mean(1, keepdims=True) + 1e-5) * w + b)


def cases():
    for positive in False, True:
        for d in 32, 64, 80, 96, 128, 192, 256, 576, 1024, 4096:
            yield f"D {d}, 512 keys", positive, 1, lambda d=d: attention(d, 512, positive, 1)
        yield "D 64, 32768 keys", positive, 1, lambda: attention(64, 32768, positive, 1)
    for d in 64, 128:
        for factor in 30, 2000:
            yield f"D {d}, 512 keys", False, factor, lambda: attention(d, 512, False, factor)
    for positive in False, True:
        for k in 128, 384, 576, 768, 1536, 4096, 11008:
            yield f"K {k}", positive, 1, lambda k=k: linear(k, positive)
        for name in "RMSNorm", "LayerNorm":
            for d in 384, 576, 1024, 4096:
                yield f"{name} {d}", positive, 1, lambda name=name, d=d: norm(name, d, positive)


def cpu():
    try:
        return next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    torch.set_num_threads(1)
    found = {}
    for name, positive, factor, error in cases():
        name += ", positive" if positive else f", queries × {factor}" if factor != 1 else ""
        e = error()
        found[name] = {"Max": float(f"{abs(e).max():.6g}"), "RMS": float(f"{(e**2).mean()**0.5:.6g}")}
    simd = torch.backends.cpu.get_cpu_capability()
    print(json.dumps({"Version": torch.__version__, "CPU": f"{cpu()} ({simd})", "Cases": found}, indent="\t", ensure_ascii=False))


main()
