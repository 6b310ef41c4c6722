"""The gradients of attention: "Contract: backward", and kernel.AdditiveBackward of "gradients of layers"."""

import numpy as np

from .attention import COLUMNS, LOG2E, ONE, Call, dropped, segments
from .numbers import LEAST_GRADIENT, LOG2E64, ZERO, canonical, f32, f64, flush, fma, tanh, weight


def gradient_weight(s, L):
    """weight(the smaller of s-L and +0), NaN if s-L is, or +0 if s is -Inf."""
    x = (s - L).astype(f32) if isinstance(s, np.ndarray) else f32(s - L)
    p = weight(np.where(x > 0, ZERO, x).astype(f32))
    return np.where(np.isneginf(s), ZERO, p).astype(f32)


class Row:
    """What a row of queries gives: p after dropout, g and b for the keys that count."""

    def __init__(self, call, b, h, i, s, capped, visible, factor, L):
        a = call.a
        _, position = call.positions(b)
        kv = h // call.group
        p = np.where(visible, gradient_weight(s, L), ZERO).astype(f32)
        self.counts = np.flatnonzero(visible & (p != 0))
        keys = self.counts
        dout = flush(a["dout"][b, h, i], LEAST_GRADIENT)
        dp = segments(call.v[b, kv, keys], np.broadcast_to(dout, (len(keys), call.v.shape[3])), call.v.shape[3], COLUMNS, np.zeros(len(keys)))
        factor = None if factor is None else factor[keys]
        dp, p = dropped(dp, factor), p[keys]
        l = t = ZERO
        for n in np.unique(position[keys] // 32):
            part = np.flatnonzero(position[keys] // 32 == n)
            sum_p = sum_t = ZERO
            for x in part:
                sum_p, sum_t = f32(sum_p + p[x]), fma(p[x], dp[x], sum_t)
            l, t = f32(l + sum_p), f32(t + sum_t)
        sink = call.sink(h)
        sink_p = ZERO if sink is None else f32(gradient_weight(sink, L))
        l = f32(l + sink_p)
        inv = ZERO if l == 0 else f32(ONE / l)
        mean = f32(t * inv)
        self.sink = -f64(f32(sink_p * inv)) * f64(mean)
        p = p * inv
        self.b = flush(p * (dp - mean), LEAST_GRADIENT)
        self.g = self.b
        if "softcap" in a:
            u = f32(1 / (f64(a["softcap"]) * LOG2E64)) * capped[keys]
            self.g = np.where(self.b == 0, ZERO, self.b * fma(-u, u, ONE)).astype(f32)
        self.p = dropped(p, factor)


def in_chains(items, length, size):
    """A sum of fma chains: items are (number, x, y) in ascending order, a chain has the numbers of a multiple of length."""
    total = np.zeros(size, f32)
    chains = {}
    for number, x, y in items:
        n = number // length
        chains[n] = fma(x, y, chains.get(n, np.zeros(size, f32)))
    for n in sorted(chains):
        total = total + chains[n]
    return total


def attention_backward(a):
    call = Call(a)
    scale = call.scale
    dq, dk, dv = (np.zeros(x.shape, f32) for x in (call.q, call.k, call.v))
    bias = np.zeros(a["bias"].shape, f32) if "bias" in a else None
    sinks = np.zeros(call.heads, f64)
    for b in range(call.batch):
        i_position, j_position = call.positions(b)
        for kv in range(call.kv_heads):
            rows = []
            for h in range(kv * call.group, (kv + 1) * call.group):
                stages, visible = call.scores(b, h)
                factor = call.dropout(b, h)
                for i in range(call.queries):
                    L = f32(a["lse"][b, h, i, 0] * LOG2E)
                    row = Row(call, b, h, i, stages["masked"][i], stages["capped"][i], visible[i], None if factor is None else factor[i], L)
                    rows.append((int(i_position[i]) * call.group + h % call.group, h, i, row))
                    sinks[h] += row.sink
            rows.sort(key=lambda r: r[0])
            for _, h, i, row in rows:
                dq[b, h, i] = in_chains([(int(j_position[j]), row.g[x], call.k[b, kv, j]) for x, j in enumerate(row.counts)], 128, call.size) * scale + ZERO
                if bias is not None:
                    at = bias[min(b, bias.shape[0] - 1), min(h, bias.shape[1] - 1), min(i, bias.shape[2] - 1)]
                    for x, j in enumerate(row.counts):
                        at[j] = at[j] + row.b[x]
            for j in range(call.keys):
                at = [(n, h, i, row, int(np.flatnonzero(row.counts == j)[0])) for n, h, i, row in rows if j in row.counts]
                dk[b, kv, j] = in_chains([(n, row.g[x], call.q[b, h, i]) for n, h, i, row, x in at], 64, call.size) * scale + ZERO
                dv[b, kv, j] = in_chains([(n, row.p[x], flush(a["dout"][b, h, i], LEAST_GRADIENT)) for n, h, i, row, x in at], 64, dv.shape[3]) + ZERO
    result = {"dq": canonical(dq), "dk": canonical(dk), "dv": canonical(dv)}
    if bias is not None:
        result["dbias"] = canonical(bias)
    if "sinks" in a:
        result["dsinks"] = canonical(sinks.astype(f32) + ZERO)
    return result


def additive_backward(a):
    q, k, v, dout, p, weights = (a[name] for name in ("q", "k", "v", "dout", "p", "weights"))
    dout = flush(dout, LEAST_GRADIENT)
    scale = a.get("scale", ONE)
    batch, heads, queries, size = q.shape
    kv_heads, keys = k.shape[1:3]
    start = lambda name, like: canonical(a[name] + ZERO) if name in a else np.zeros(like.shape, f32)
    dq, dk, dv, dweights = (start(name, like) for name, like in (("dq", q), ("dk", k), ("dv", v), ("dweights", weights)))
    for b, kv in np.ndindex(batch, kv_heads):
        of_head = np.zeros(size, f32)
        group = heads // kv_heads
        for h in range(kv * group, (kv + 1) * group):
            for first in range(0, queries, 256):
                rows = range(first, min(first + 256, queries))
                sums_k, sums_w = np.zeros((keys, size), f32), np.zeros(size, f32)
                seen = (p[b, h, list(rows)] != 0).any(0)
                sums_v = np.zeros((keys, v.shape[3]), f32)
                for i in rows:
                    d = np.broadcast_to(dout[b, h, i], sums_v.shape)
                    hidden = (p[b, h, i] == 0)[:, None] & ~np.isfinite(d)
                    sums_v = fma(p[b, h, i][:, None], np.where(hidden, ZERO, d), sums_v)
                    g, of_row = additive_row(q[b, h, i], k[b, kv], v[b, kv], dout[b, h, i], p[b, h, i], scale, sums_k)
                    dq[b, h, i] = dq[b, h, i] + g * weights
                    sums_w = sums_w + of_row
                dv[b, kv, seen] = dv[b, kv, seen] + sums_v[seen]
                dk[b, kv, seen] = dk[b, kv, seen] + weights * sums_k[seen]
                of_head = of_head + sums_w
        dweights = dweights + of_head
    return {"dq": canonical(dq), "dk": canonical(dk), "dv": canonical(dv), "dweights": canonical(dweights)}


def additive_row(q, k, v, dout, p, scale, sums_k):
    """g and h of a query; adds to the sums of the keys."""
    keys = np.flatnonzero(p != 0)
    dp = segments(v[keys], np.broadcast_to(dout, (len(keys), len(dout))), len(dout), COLUMNS, np.zeros(len(keys)))
    mean = f64(0)
    for x, j in enumerate(keys):
        mean += f64(p[j]) * f64(dp[x])
    x = flush(p[keys] * (dp - f32(mean)), LEAST_GRADIENT) * scale
    t = tanh(q + k[keys])
    u = (1 - t) * (1 + t)
    g, h = np.zeros(len(q), f32), np.zeros(len(q), f32)
    for n in np.unique(keys // 256):
        part = np.flatnonzero(keys // 256 == n)
        of_g, of_h = np.zeros(len(q), f32), np.zeros(len(q), f32)
        for y in part:
            of_g, of_h = fma(x[y], u[y], of_g), fma(x[y], t[y], of_h)
        g, h = g + of_g, h + of_h
    for y, j in enumerate(keys):
        sums_k[j] = sums_k[j] + x[y] * u[y]
    return g, h


FUNCTIONS = {"attention_backward": attention_backward, "additive_backward": additive_backward}
