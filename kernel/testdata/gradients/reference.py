#!/usr/bin/env python3
"""Reference gradients of attention, by PyTorch's autograd in float64.

usage: reference.py ACTIVATIONS.safetensors GRADIENTS.safetensors

ACTIVATIONS has q, k and v, [B, H, L, D], under a prefix or none, with key lengths under
`lengths`; without lengths the mask is causal. README.md says what is written.
needs: torch, safetensors, numpy
"""
import math
import sys

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

SEED, WINDOW, SOFTCAP = 20, 64, 5.0


def forward(x, visible, slopes, softcap):
    group = x["q"].shape[1] // x["k"].shape[1]
    k, v = (x[n].repeat_interleave(group, dim=1) for n in "kv")
    scores = x["q"] @ k.mT / math.sqrt(k.shape[-1])
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    length = scores.shape[-1]
    if slopes is not None:
        at = torch.arange(length, dtype=scores.dtype)
        scores = scores - slopes[:, None, None] * (at[:, None] - at[None]).abs()
    if "bias" in x:
        scores = scores + x["bias"]
    scores = scores.masked_fill(~visible, -math.inf)
    if "sinks" in x:
        column = x["sinks"].reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], -1)
    return torch.softmax(scores, -1)[..., :length] @ v


def gradients(inputs, dout, dtype, *settings):
    x = {n: torch.tensor(a, dtype=dtype, requires_grad=True) for n, a in inputs.items()}
    forward(x, *settings).backward(torch.tensor(dout, dtype=dtype))
    return {"d" + n: t.grad.numpy() for n, t in x.items()}


def main(source, target):
    random, file, out = np.random.default_rng(SEED), load_file(source), {}
    for prefix in sorted(n[:-1] for n in file if n == "q" or n.endswith(".q")):
        qkv = {n: file[prefix + n] for n in "qkv"}
        batch, heads, length, _ = qkv["q"].shape
        i, j = np.arange(length)[:, None], np.arange(length)[None]
        base = np.broadcast_to(j <= i, (batch, 1, length, length))
        if prefix + "lengths" in file:
            base = np.broadcast_to(j < file[prefix + "lengths"][:, None, None, None], base.shape)
        slopes = torch.tensor(2.0 ** (-8 * np.arange(1, heads + 1) / heads), dtype=torch.float32)
        for name in ["plain", "window", "softcap", "alibi", "bias", "sinks"]:
            inputs = dict(qkv)
            if name == "bias":
                inputs["bias"] = random.standard_normal((1, heads, length, length)).astype(np.float32)
            if name == "sinks":
                inputs["sinks"] = random.standard_normal(heads).astype(np.float32)
            dout = random.standard_normal(qkv["q"].shape[:3] + qkv["v"].shape[3:]).astype(np.float32)
            visible = torch.tensor(base & (j > i - WINDOW) if name == "window" else base.copy())
            results = []
            for dtype in torch.float64, torch.float32:
                cast = slopes.to(dtype) if name == "alibi" else None
                results.append(gradients(inputs, dout, dtype, visible, cast, SOFTCAP if name == "softcap" else 0))
            for n, exact in results[0].items():
                error = np.abs(results[1][n] - exact)
                key = f"{prefix}{name}.{n}"
                out[key] = exact.astype(np.float32)
                out[key + ".error"] = np.array([error.max(), np.sqrt((error**2).mean()), np.abs(exact).max()], np.float32)
            out[f"{prefix}{name}.dout"] = dout
            for n in {"bias", "sinks"} & inputs.keys():
                out[f"{prefix}{name}.{n}"] = inputs[n]
    save_file(out, target)


main(*sys.argv[1:])
