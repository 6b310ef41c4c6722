#!/usr/bin/env python3
"""Times attention by one library, in a process of its own, for run.py.

usage: worker.py LIBRARY MODE THREADS      LIBRARY: a function of attention.py; MODE: float32, bfloat16 or default
The first line of output is the library's name and version. For each line of input, a JSON object with a shape and
seconds, there is one of output: the nanoseconds of a call, the median of those that fit into the seconds, with the root
mean square of the error against float64, or an error.
"""
import json, sys, time, statistics

import numpy as np

import attention


def prepared(prepare, s, worst):
    """A call for the shape, its error, of which worst is the most, and its input, which must live as long."""
    rng = np.random.default_rng(1)
    q = rng.standard_normal((1, s["heads"], s["lq"], s["d"]), np.float32)
    k, v = (rng.standard_normal((1, s["kv_heads"], s["lk"], s["d"]), np.float32) for _ in "kv")
    call, result = prepare(q, k, v, s["causal"])
    errors = result(call())[0, 0] - attention.exact(q, k, v, s["causal"])
    if not (error := np.abs(errors).max()) < worst:
        raise ValueError(f"wrong by {error:.1e}")
    return call, float(np.sqrt((errors**2).mean())), (q, k, v)


def nanoseconds(call, seconds):
    times = []
    call()
    start = time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return 1e9 * statistics.median(times)


def main():
    library, mode, threads = sys.argv[1:]
    name, prepare = getattr(attention, library)(int(threads), mode)
    print(json.dumps({"name": name}), flush=True)
    last, call, rms, inputs = None, None, None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["shape"] != last:
                last, call, rms, inputs = None, None, None, None
                call, rms, inputs = prepared(prepare, request["shape"], 1e-4 if mode == "float32" else 0.1)
                last = request["shape"]
            answer = {"ns": nanoseconds(call, request["seconds"]), "rms": rms}
        except Exception as e:
            answer = {"error": " ".join(str(e).split())[:200] or type(e).__name__}
        print(json.dumps(answer), flush=True)


main()
