#!/usr/bin/env python3
"""A step of training of bench/examples/dates with 128 dates, on one thread, in PyTorch and in attn.

usage: dates.py [--rounds N]      needs: pip install torch numpy safetensors; Go
The model is that of bench/examples/dates/data/train.py. Both take turns: twenty steps of PyTorch, whose batches are made before, and
a hundred of `go test ./bench/examples/dates -bench Step`, which makes its own. Prints the least time of a step, and the median of all rounds.
"""
import argparse, importlib.util, os, pathlib, random, re, statistics, subprocess, tempfile, time

import torch
import torch.nn.functional as F

DATES = pathlib.Path(__file__).resolve().parents[1] / "examples" / "dates"


def training():
    """A function that does a step of training."""
    spec = importlib.util.spec_from_file_location("train", DATES / "data" / "train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    r, model = random.Random(7), train.Model()
    batches = [train.batch([train.sample(r) for _ in range(128)]) for _ in range(20)]
    adam = torch.optim.Adam(model.parameters(), 3e-3)

    def step(i):
        x, n, y = batches[i % len(batches)]
        logits, *_ = model(x, n, y)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return step


def milliseconds(step):
    times = []
    for i in range(20):
        before = time.perf_counter()
        step(i)
        times.append(1e3 * (time.perf_counter() - before))
    return times


def attn(test):
    """The mean times of a step in two runs of a hundred. GOMAXPROCS keeps Go's collector to one thread, too."""
    run = [test, "-test.run", "^$", "-test.bench", "Step", "-test.benchtime", "100x", "-test.count", "2"]
    out = subprocess.run(run, cwd=DATES, env=os.environ | {"GOMAXPROCS": "1"}, check=True, capture_output=True, text=True).stdout
    return [float(ns) / 1e6 for ns in re.findall(r"(\d+) ns/op", out)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=6)
    args = p.parse_args()
    step = training()
    step(0)
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "dates.test"
        subprocess.run(["go", "test", "-c", "-o", test, "."], cwd=DATES, check=True)
        for _ in range(args.rounds):
            theirs += milliseconds(step)
            ours += attn(test)
    for name, times in (f"PyTorch {torch.__version__}", theirs), ("attn", ours):
        print(f"{name}: least {min(times):.1f} ms, median {statistics.median(times):.1f} ms")
    print(f"attn's steps a second, in multiples of PyTorch's: {statistics.median(theirs) / statistics.median(ours):.2f} (medians), {min(theirs) / min(ours):.2f} (least)")


main()
