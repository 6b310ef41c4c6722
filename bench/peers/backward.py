#!/usr/bin/env python3
"""The shapes of `go run ./bench -backward` in PyTorch: the median time of the gradients of a call, float32.

usage: backward.py [THREADS] [--json FILE] [--shapes A,B,...]      needs: pip install torch
With --json the times are also written for `go run ./bench -backward -peers FILE -json RESULTS`.
Times torch.autograd.grad of scaled_dot_product_attention by q, k and v on a graph that is kept, so no forward call
is in them. Each takes turns with a forward call that keeps its graph. Gradients of the first key head are compared with
float64 before they are timed.
"""
import argparse, json, statistics, time

import torch
import torch.nn.functional as F

import shapes

# Those of bench/internal/suite/backward.go: name, query heads, key heads, Lq, Lk, D, causal.
SHAPES = [s for s in shapes.SHAPES if s[0] in "ABDEM"] + [("G", 8, 2, 1024, 1024, 64, False)]


def calls(q, k, v, dout, causal):
    """The forward call, and the backward call on the graph of one forward call."""
    forward = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    out = forward()
    return forward, lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)


def error(gradients, q, k, v, dout, causal):
    """The largest error of the gradients of the first key head and its query heads, against float64 by formulas."""
    group = q.shape[1] // k.shape[1]
    q, k, v, dout = (x[0, :n].detach().double() for x, n in ((q, group), (k, 1), (v, 1), (dout, group)))
    scale = q.shape[-1] ** -0.5
    s = q @ k.mT * scale
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    p = s.softmax(-1)
    dp = dout @ v.mT
    ds = p * (dp - (p * dp).sum(-1, keepdim=True))
    want = ds @ k * scale, (ds.mT @ q * scale).sum(0, keepdim=True), (p.mT @ dout).sum(0, keepdim=True)
    return max((got[0, : w.shape[0]] - w).abs().max().item() for got, w in zip(gradients, want))


def microseconds(*calls):
    """The medians of calls that take turns for a second, after two rounds to warm up, and at least seven rounds."""
    times = [[] for _ in calls]
    start = time.perf_counter()
    while len(times[0]) < 9 or time.perf_counter() - start < 1:
        for call, all in zip(calls, times):
            before = time.perf_counter()
            call()
            all.append(time.perf_counter() - before)
    return [1e6 * statistics.median(all[2:]) for all in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("threads", nargs="?", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--shapes", default=",".join(name for name, *_ in SHAPES))
    args = parser.parse_args()
    named = args.shapes.split(",")
    if unknown := set(named) - {name for name, *_ in SHAPES}:
        parser.error(f"--shapes: unknown {', '.join(sorted(unknown))}")
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    library, peers = f"PyTorch {torch.__version__}", []
    print(f"milliseconds, {args.threads} threads, {library}\n\n| shape | gradients | forward |\n|---|---|---|")
    for name, heads, kv_heads, lq, lk, d, causal in SHAPES:
        if name not in named:
            continue
        q, dout = (torch.randn(1, heads, lq, d) for _ in "qo")
        k, v = (torch.randn(1, kv_heads, lk, d) for _ in "kv")
        for x in q, k, v:
            x.requires_grad_()
        forward, backward = calls(q, k, v, dout, causal)
        if not (wrong := error(backward(), q, k, v, dout, causal)) < 1e-4:
            print(f"| {name} | wrong by {wrong:.1e} | – |", flush=True)
            continue
        forward_us, backward_us = microseconds(forward, backward)
        print(f"| {name} | {backward_us / 1e3:.3f} | {forward_us / 1e3:.3f} |", flush=True)
        peers.append({"program": library, "shape": f"backward-{name}", "threads": args.threads, "ns": 1e3 * backward_us})
    if args.json:
        with open(args.json, "w") as f:
            json.dump(peers, f, indent=1)


main()
