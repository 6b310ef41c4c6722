#!/usr/bin/env python3
"""Times attention by one library, in a process of its own, for run.py.

usage: worker.py LIBRARY THREADS      LIBRARY: a function of attention.py
The first line of output is the library's name and version. For each line of input, a JSON object with a shape and
seconds, there is one of output: the nanoseconds of a call, the median of those that fit into the seconds, or an error.
"""
import json, sys, time, statistics

import numpy as np

import attention


def prepared(prepare, s):
    """A call for the shape, whose result has been compared with float64, and its input, which must live as long."""
    rng = np.random.default_rng(1)
    q = rng.standard_normal((1, s["heads"], s["lq"], s["d"]), np.float32)
    k, v = (rng.standard_normal((1, s["kv_heads"], s["lk"], s["d"]), np.float32) for _ in "kv")
    call, result = prepare(q, k, v, s["causal"])
    error = np.abs(result(call())[0, 0] - attention.exact(q, k, v, s["causal"])).max()
    if not error < 1e-4:
        raise ValueError(f"wrong by {error:.1e}")
    return call, (q, k, v)


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
    name, prepare = getattr(attention, sys.argv[1])(int(sys.argv[2]))
    print(json.dumps({"name": name}), flush=True)
    last, call, inputs = None, None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["shape"] != last:
                last, call, inputs = None, None, None
                call, inputs = prepared(prepare, request["shape"])
                last = request["shape"]
            answer = {"ns": nanoseconds(call, request["seconds"])}
        except Exception as e:
            answer = {"error": " ".join(str(e).split())[:200] or type(e).__name__}
        print(json.dumps(answer), flush=True)


main()
