"""Layers that carry a state: "Contract: layers with a state"."""

import numpy as np

from .numbers import LOG2E, canonical, chain, exp2, f32, f64

CHUNK, SEGMENT = 64, 16


def exp(x):
    return exp2(f32(x) * LOG2E)


def add_segments(total, factors, u):
    """total and the sums of segments of factors[j]·u[j]."""
    for at in range(0, len(factors), SEGMENT):
        end = min(at + SEGMENT, len(factors))
        total = total + chain(zip(factors[at:end], u[at:end]), total)
    return total


def chunk(s, q, k, v, decay, gate, is_delta):
    """The outputs of the tokens of a chunk, and the state after a whole one."""
    sums, u, out = np.cumsum(decay.astype(f64)), np.zeros(v.shape, f32), np.zeros(v.shape, f32)
    for i, beta in enumerate(gate):
        e, d, before = exp(sums[i]), exp(sums[i] - sums[: i + 1]), k[: i + 1]
        by_query = d * chain(zip(q[i], before.T), d)
        u[i] = beta * v[i]
        if is_delta:
            by_keys = -(beta * (d * chain(zip(k[i], before.T), d)))
            u[i] = add_segments(beta * (v[i] - e * chain(zip(k[i], s), v[i])), by_keys[:i], u)
        out[i] = add_segments(e * chain(zip(q[i], s), v[i]), by_query, u)
    left = exp(sums[-1] - sums)
    s = exp(sums[-1]) * s + chain((((d * row)[:, None], x) for d, row, x in zip(left, k, u)), s)
    return out, s


def layer(a, is_delta):
    q, k, v, decay, gate = (a[name] for name in ("q", "k", "v", "decay", "gate"))
    out = np.zeros(v.shape, f32)
    for h in range(len(v)):
        of = h // (len(v) // len(k))
        s = np.zeros((k.shape[2], v.shape[2]), f32)
        for first in range(0, v.shape[1], CHUNK):
            t = slice(first, first + CHUNK)
            out[h, t], s = chunk(s, q[of, t], k[of, t], v[h, t], decay[t, h], gate[t, h], is_delta)
    return {"out": canonical(out)}


FUNCTIONS = {"delta": lambda a: layer(a, True), "state_space": lambda a: layer(a, False)}
