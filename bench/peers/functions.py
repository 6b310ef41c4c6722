#!/usr/bin/env python3
"""Times functions over rows by attn and PyTorch in turn, on one thread, float32.

usage: functions.py [--functions A,B,...] [--rounds N] [--program FILE]      needs: pip install torch, and Go
Prints the median times of the rounds, and attn's multiples of PyTorch's. ATTN_TIER chooses attn's instruction set.
"""
import argparse, json, pathlib, statistics, subprocess, time

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
aten = torch.ops.aten

TOKENS = 128  # of rope
WORDS = 1000  # of an embedding


def like(n, size):
    return torch.randn(n, size)


def function(f, arguments):
    """A function of so many tensors."""

    def prepare(n, size):
        x = [like(n, size) for _ in range(arguments)]
        return lambda: f(*x)

    return prepare


def layer_norm_backward(n, size):
    dy, x, w, b = like(n, size), like(n, size), torch.randn(size), torch.randn(size)
    _, mean, inv = aten.native_layer_norm(x, [size], w, b, 1e-5)
    return lambda: aten.native_layer_norm_backward(dy, x, [size], mean, inv, w, b, [True] * 3)


def rms_norm_backward(n, size):
    dy, x, w = like(n, size), like(n, size).requires_grad_(), torch.randn(size).requires_grad_()
    y = F.rms_norm(x, (size,), w, 1e-5)
    return lambda: torch.autograd.grad(y, (x, w), dy, retain_graph=True)


def rows(f):
    def prepare(n, size):
        x, w, b = like(n, size), torch.randn(size), torch.randn(size)
        return lambda: f(x, (size,), w, b)

    return prepare


def rope(n, size):
    x = torch.randn(n // TOKENS, TOKENS, size)
    angle = torch.outer(torch.arange(TOKENS), 10000 ** (-torch.arange(0, size, 2) / size))
    cos, sin = (f(torch.cat((angle, angle), -1)) for f in (torch.cos, torch.sin))
    return lambda: x * cos + torch.cat((-x[..., size // 2 :], x[..., : size // 2]), -1) * sin


def cross_entropy(n, size):
    logits, targets = like(n, size).requires_grad_(), torch.zeros(n, dtype=torch.long)
    return lambda: torch.autograd.grad(F.cross_entropy(logits, targets), logits)


def adamw(n, size):
    w = torch.nn.Parameter(like(n, size))
    w.grad = like(n, size)
    return torch.optim.AdamW([w], lr=1e-3, weight_decay=0.01, fused=True).step


def clip_norm(n, size):
    w = torch.nn.Parameter(like(n, size))
    w.grad = like(n, size)
    return lambda: torch.nn.utils.clip_grad_norm_([w], 1)


def embedding_gradients(n, size):
    out, x, index = torch.zeros(WORDS, size), like(n, size), torch.arange(n) * 7919 % WORDS
    return lambda: out.index_add_(0, index, x)


def swiglu(gradient, f):
    def backward(dy, gate, up):
        return gradient(dy * up, gate), dy * f(gate)

    return backward


SHORT, LONG = (128, 768), (2048, 768)
FUNCTIONS = {
    "softmax": (function(lambda x: torch.softmax(x, -1), 1), (12 * 128, 128)),
    "softmax backward": (function(lambda dy, y: aten._softmax_backward_data(dy, y, -1, torch.float32), 2), (12 * 128, 128)),
    "LayerNorm": (rows(lambda x, n, w, b: F.layer_norm(x, n, w, b, 1e-5)), SHORT, LONG),
    "RMSNorm": (rows(lambda x, n, w, b: F.rms_norm(x, n, w, 1e-5)), SHORT, LONG),
    "LayerNorm backward": (layer_norm_backward, SHORT, LONG),
    "RMSNorm backward": (rms_norm_backward, SHORT, LONG),
    "SiLU": (function(F.silu, 1), SHORT, LONG),
    "SiLU backward": (function(aten.silu_backward, 2), SHORT, LONG),
    "GELU": (function(F.gelu, 1), SHORT, LONG),
    "GELU backward": (function(aten.gelu_backward, 2), SHORT, LONG),
    "GELUTanh": (function(lambda x: F.gelu(x, approximate="tanh"), 1), SHORT, LONG),
    "GELUTanh backward": (function(lambda dy, x: aten.gelu_backward(dy, x, approximate="tanh"), 2), SHORT, LONG),
    "SwiGLU": (function(lambda gate, up: F.silu(gate) * up, 2), SHORT, LONG),
    "SwiGLU backward": (function(swiglu(aten.silu_backward, F.silu), 3), SHORT, LONG),
    "GeGLU": (function(lambda gate, up: F.gelu(gate) * up, 2), SHORT, LONG),
    "GeGLU backward": (function(swiglu(aten.gelu_backward, F.gelu), 3), SHORT, LONG),
    "tanh": (function(torch.tanh, 1), SHORT, LONG),
    "tanh backward": (function(aten.tanh_backward, 2), SHORT, LONG),
    "sigmoid backward": (function(aten.sigmoid_backward, 2), SHORT, LONG),
    "exp2": (function(torch.exp2, 1), SHORT, LONG),
    "add": (function(torch.add, 2), SHORT, LONG),
    "rope": (rope, (12 * TOKENS, 64), (12 * TOKENS, 128)),
    "cross entropy": (cross_entropy, (128, 1000), (128, 32000)),
    "AdamW": (adamw, SHORT, LONG),
    "clip norm": (clip_norm, SHORT, LONG),
    "embedding gradients": (embedding_gradients, SHORT, LONG),
}


def nanoseconds(call, seconds):
    """The time of a call, on average over some seconds, after one to warm up."""
    call()
    n, start = 0, time.perf_counter()
    while n == 0 or time.perf_counter() - start < seconds:
        call()
        n += 1
    return 1e9 * (time.perf_counter() - start) / n


def ask(program, **request):
    program.stdin.write(json.dumps(request) + "\n")
    program.stdin.flush()
    answer = json.loads(program.stdout.readline())
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["ns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--program", help="./functions, built before")
    args = parser.parse_args()
    if unknown := set(args.functions.split(",")) - set(FUNCTIONS):
        parser.error(f"--functions: unknown {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    command = [args.program] if args.program else ["go", "run", "./functions"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE) as program:
        name = json.loads(program.stdout.readline())["name"]
        print(f"Microseconds on one thread.\n\n| function | rows | {name} | PyTorch {torch.__version__} | ratio |\n|---|---|---|---|---|")
        for function in args.functions.split(","):
            prepare, *sizes = FUNCTIONS[function]
            for n, size in sizes:
                call, times = prepare(n, size), []
                for _ in range(args.rounds):
                    ours = ask(program, function=function, rows=n, size=size, seconds=0.03)
                    times.append((ours, nanoseconds(call, 0.03)))
                ours, theirs = (statistics.median(t) / 1e3 for t in zip(*times))
                ratio = statistics.median(a / b for a, b in times)
                print(f"| {function} | {n} × {size} | {ours:.1f} | {theirs:.1f} | {ratio:.2f} |", flush=True)
        program.stdin.close()


main()
