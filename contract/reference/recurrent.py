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


def total(e):
    """The product of the rows of e, first to last."""
    return np.cumprod(e, axis=0, dtype=f32)[-1]


def products(row, keys, late, first):
    """The products of a query or key with keys, of which those of earlier segments see the row with the decays since then."""
    rows = np.tile(row, (len(keys), 1))
    rows[:first] *= late
    return chain(zip(rows.T, keys.T), rows[:, 0])


def chunk(s, q, k, v, decay, gate, is_delta):
    """The outputs of the tokens of a chunk, and the state after a whole one."""
    sums, e, keys = np.zeros(len(k), f64), np.ones(k.shape, f32), k.copy()
    if decay.ndim == 2:  # a decay for each element of a key
        e = exp(decay)
    else:
        sums = np.cumsum(decay.astype(f64))
    u, out = np.zeros(v.shape, f32), np.zeros(v.shape, f32)
    for i, beta in enumerate(gate):
        first = i // SEGMENT * SEGMENT
        if i == first > 0:
            keys[: first - SEGMENT] *= total(e[first - SEGMENT : first])
        keys[first:i] *= e[i]
        whole, late, of_s, d = total(e[: i + 1]), total(e[first : i + 1]), exp(sums[i]), exp(sums[i] - sums[: i + 1])
        by_query = d * products(q[i], keys[: i + 1], late, first)
        u[i] = beta * v[i]
        if is_delta:
            by_keys = -(beta * (d * products(k[i], keys[: i + 1], late, first)))
            u[i] = add_segments(beta * (v[i] - of_s * chain(zip(k[i] * whole, s), v[i])), by_keys[:i], u)
        out[i] = add_segments(of_s * chain(zip(q[i] * whole, s), v[i]), by_query, u)
    keys[: CHUNK - SEGMENT] *= total(e[CHUNK - SEGMENT :]) if len(e) == CHUNK else 1
    left = exp(sums[-1] - sums)
    s = exp(sums[-1]) * (whole[:, None] * s) + chain((((d * row)[:, None], x) for d, row, x in zip(left, keys, u)), s)
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


FUNCTIONS = {name: lambda a, is_delta=name.endswith("delta"): layer(a, is_delta) for name in ("delta", "state_space", "kimi_delta", "gated_linear")}
