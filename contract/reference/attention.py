"""Attention: "Contract: scores" to "Contract: dropout", and "additive scores"."""

import numpy as np

from .linear import product_bf16
from .numbers import INF, LN2, LOG2E, LOG2E64, NAN, ONE, ZERO, bits, canonical, f32, f64, fma, log2, philox, round_bf16, tanh, to_bf16, to_f16, weight

BLOCK, COLUMNS, KEYS = 256, 64, 32
MOST_BIAS, MOST_SLOPE = bits(0x7F317217), bits(0x63800000)


def segments(x, y, n, size, like):
    """The sum of x[d]·y[d] in fma chains over segments of so many d, added from left to right."""
    total = np.zeros(np.shape(like), f32)
    for first in range(0, n, size):
        acc = np.zeros(np.shape(like), f32)
        for d in range(first, min(first + size, n)):
            acc = fma(x[..., d], y[..., d], acc)
        total = acc if first == 0 else total + acc
    return total


def to_bits(x, bits):
    """Numbers rounded to multiples of 2^(e-bits), 2^e the power of two of the largest magnitude, along the last axis."""
    a = np.abs(x.astype(f64)).max(-1, keepdims=True)
    unit = np.ldexp(1.0, np.frexp(np.where((a > 0) & (a < 2.0**100), a, 1))[1] - 1 - bits)
    r = np.rint(x.astype(f64) / unit) * unit + 0.0
    return np.where(a < 2.0**100, np.where(a < 2.0**-100, 0.0, r), np.nan).astype(f32)


def exact(x, y):
    """Sums of the products of numbers of to_bits and integers over the last axis: binary64 holds them, and binary32, too."""
    s = (x.astype(f64) * y.astype(f64)).sum(-1)
    assert np.array_equal(s, s.astype(f32), equal_nan=True)
    return s.astype(f32) + ZERO


class Call:
    """A call of attention: its arguments, and what follows from them for a query head of a batch row."""

    def __init__(self, a, additive=False):
        self.a, self.additive, self.first_head = a, additive, a.get("first_head", 0)
        self.bfloat16 = a.get("bfloat16", 0)
        self.q, self.k, self.v = a["q"], self.scaled("k"), self.scaled("v")
        self.batch, self.heads, self.queries, self.size = self.q.shape
        self.kv_heads, self.keys = self.k.shape[1:3]
        self.group = self.heads // self.kv_heads
        self.scale = a.get("scale", ONE if additive else f32(1 / np.sqrt(f64(self.size))))
        if self.scale == 0 and not np.signbit(self.scale):  # -0 is 0
            self.scale = ONE if additive else f32(1 / np.sqrt(f64(self.size)))

    def scaled(self, name):
        """k or v; float32(element)·scale of int8, where a scale belongs to neighbouring elements of a row."""
        x = self.a[name]
        if x.dtype != np.int8:
            return x
        scales = self.a[name + "_scales"]
        return x.astype(f32) * np.repeat(scales, x.shape[3] // scales.shape[3], 3)

    def positions(self, b):
        """The positions of the queries and of the keys of a batch row."""
        start = lambda name: (lambda s: s[b] if len(s) > 1 else s[0] if s else 0)(self.a.get(name) or [])
        keys = self.a.get("key_positions")
        return np.arange(self.queries) + start("query_start"), np.arange(self.keys) + start("key_start") if keys is None else keys

    def places(self, b):
        """By what the keys of a batch row are cut into blocks: their positions, or the numbers of a list's entries."""
        return self.a["key_places"] if "key_places" in self.a else self.positions(b)[1]

    def of(self, name, b, h):
        """The part [Lq, Lk or less] of a broadcast argument."""
        x = self.a[name]
        return np.broadcast_to(x[min(b, x.shape[0] - 1), min(h, x.shape[1] - 1)], (self.queries, x.shape[3]))

    def products(self, b, h):
        """The scores of a head before all options, [Lq, Lk]."""
        q, k = self.q[b, h], self.k[b, h // self.group]
        shape = (self.queries, self.keys)
        if not self.additive:
            c = f32(f64(self.scale) * LOG2E64)
            if self.bfloat16:
                return product_bf16(q, k) * c
            if self.a.get("quantized"):
                return self.integer_products(to_bits(q * c, 10), b, h // self.group)
            return segments((q * c)[:, None], k[None], self.size, COLUMNS, np.zeros(shape))
        w = (self.a["weights"].astype(f64) * f64(self.scale) * LOG2E64).astype(f32)
        pad = -self.size % 16
        q, k, w = np.pad(q, ((0, 0), (0, pad))), np.pad(k, ((0, 0), (0, pad))), np.pad(w, (0, pad))
        acc = np.zeros(shape + (16,), f32)
        for d in range(0, len(w), 16):
            acc = fma(w[d : d + 16], tanh(q[:, None, d : d + 16] + k[None, :, d : d + 16]), acc)
        for n in (8, 4, 2, 1):
            acc = acc[..., :n] + acc[..., n : 2 * n]
        return acc[..., 0]

    def integer_products(self, q, b, h):
        """The scores of rounded queries and the integers of key head h, [Lq, Lk]."""
        k, t = self.a["k"][b, h], self.a["k_scales"][b, h]
        size, s = self.size // t.shape[1], None
        for g in range(t.shape[1]):
            total = None
            for d in range(g * size, (g + 1) * size, COLUMNS):
                part = slice(d, min(d + COLUMNS, (g + 1) * size))
                a = exact(q[:, None, part], k[None, :, part])
                total = a if total is None else total + a
            s = total * t[:, g] if s is None else fma(total, t[:, g], s)
        return s

    def integer_values(self, p, seen, b, h):
        """The sum of the values of the keys seen of a block, by position in segments, with weights p."""
        v, t = self.a["v"][b, h], self.a["v_scales"][b, h]
        size, o = v.shape[1] // t.shape[1], None
        segment = self.places(b)[seen] // KEYS
        for n in sorted(set(segment)):
            x, j = p[segment == n], seen[segment == n]
            parts = [exact(to_bits(x * t[j, g], 11), v[j, g * size : (g + 1) * size].T) for g in range(t.shape[1])]
            a = np.concatenate(parts)
            o = a if o is None else o + a
        return o

    def weight(self, x):
        """Weights as sums take them."""
        return round_bf16(weight(x)) if self.bfloat16 else weight(x)

    def rounded_values(self, p, seen, b, h):
        """The sum of the values of the keys seen of a block, with weights p, each at its place in the block."""
        x, v = np.zeros((1, BLOCK), f32), np.zeros((self.v.shape[3], BLOCK), f32)
        places = self.places(b)[seen] % BLOCK
        x[0, places], v[:, places] = p, self.v[b, h][seen].T
        return product_bf16(x, v)[0]

    def scores(self, b, h):
        """The scores of a head at the stages scaled, capped and final, and what is visible, all [Lq, Lk]."""
        a, s = self.a, self.products(b, h)
        i, j = self.positions(b)
        stages = {"scaled": s}
        if "softcap" in a:
            C, inverse = f32(f64(a["softcap"]) * LOG2E64), f32(1 / (f64(a["softcap"]) * LOG2E64))
            s = C * tanh(s * inverse)
        stages["capped"] = s
        if "alibi" in a:
            slope = np.clip(f32(f64(a["alibi"][h]) * LOG2E64), -MOST_SLOPE, MOST_SLOPE)
            s = fma(slope, -np.abs(i[:, None] - j).astype(f32), s)
        exists = np.arange(self.keys) < (a["key_lengths"][b] if "key_lengths" in a else self.keys)
        visible = np.broadcast_to(exists, s.shape).copy()
        if "bias" in a:
            bias = self.of("bias", b, h)
            n = bias.shape[1]
            visible[:, n:] = False
            visible[:, :n] &= bias != -INF
            biased = fma(np.clip(bias, -MOST_BIAS, MOST_BIAS), LOG2E, s[:, :n])
            s = np.concatenate([np.where(np.isfinite(bias), biased, bias), s[:, n:]], 1)
        if "visible" in a:
            visible &= self.of("visible", b, h)
        visible &= s != -INF
        stages["masked"] = np.where(visible, s, -INF).astype(f32)
        for name in ("scaled", "capped"):
            stages[name] = np.where(exists, stages[name], -INF).astype(f32)
        return stages, visible

    def dropout(self, b, h):
        """By what a weight is multiplied, or 0 if it is dropped; None without dropout. [Lq, Lk]"""
        if "dropout_rate" not in self.a:
            return None
        rate, mask = f64(self.a["dropout_rate"]), 0xFFFFFFFF
        below, keep = int(np.rint(rate * 2.0**32)), f32(1 / (1 - rate))
        sequences = self.a.get("dropout_sequences", range(self.batch))
        factor = np.zeros((self.queries, self.keys), f32)
        i, j = self.positions(b)
        for x in range(self.queries):
            for y in range(self.keys):
                c = philox(int(self.a["dropout_seed"]), [int(sequences[b]) & mask, self.first_head + h, int(i[x]) & mask, int(j[y]) // 4 & mask])
                factor[x, y] = ZERO if c[j[y] % 4] < below else keep
        return factor

    def sink(self, h):
        return f32(f64(self.a["sinks"][h]) * LOG2E64) if "sinks" in self.a else None


def dropped(p, factor):
    """Weights after dropout: +0 or the product."""
    return p if factor is None else np.where(factor == 0, ZERO, p * factor).astype(f32)


def reference_of(m):
    return ZERO if m == -INF else m


def block(s, visible, v, factor, weight, values=None):
    """m, l and o of a block that has a visible key, for one row. values, if given, makes o of weights and their keys."""
    seen = np.flatnonzero(visible)
    finite = s[seen][~np.isnan(s[seen])]
    m = finite.max() if len(finite) else -INF
    p = weight(s[seen] - reference_of(m))
    l, o = ZERO, np.zeros(v.shape[1], f32)
    used = dropped(p, None if factor is None else factor[seen])
    for x, j in enumerate(seen):
        l = f32(l + p[x])
        if values is None:
            o = fma(used[x], v[j], o)
    return m, l, o if values is None else values(used, seen)


def merge(state, other):
    if state is None:
        return other
    (m, l, o), (mb, lb, ob) = state, other
    top = max(m, mb)
    a, b = weight(m - reference_of(top)), weight(mb - reference_of(top))
    return top, fma(lb, b, l * a), fma(ob, b, o * a)


def blocks(call, b, h, stages, visible, factor):
    """For each block of keys, by position, and each row its (m, l, o), or None if it has no visible key."""
    v = call.v[b, h // call.group]
    number = call.places(b) // BLOCK
    sums = call.integer_values if call.a.get("quantized") else call.rounded_values if call.bfloat16 else None
    for n in range(number[0], number[-1] + 1):
        part = np.flatnonzero(number == n)
        values = (lambda p, seen, part=part: sums(p, part[seen], b, h // call.group)) if sums else None
        yield [
            block(stages["masked"][i, part], visible[i, part], v[part], None if factor is None else factor[i, part], call.weight, values) if visible[i, part].any() else None
            for i in range(call.queries)
        ]


def finish(state, sees, sink, size):
    """out and LSE of a row, and its m, l and inv, or None without a key and a sink."""
    if sink is not None and not np.isneginf(sink):
        state = merge(state, (sink, ONE, np.zeros(size, f32)))
    if state is None:
        return np.zeros(size, f32), -INF, None
    m, l, o = state
    inv = ONE / l
    out, lse = o * inv + ZERO, f32(f32(f32(m + log2(l)) * LN2) + ZERO)
    if not sees:
        return np.zeros(size, f32), lse, None
    if np.isnan(out).any() or np.isnan(lse):
        out, lse = np.full(size, NAN), NAN
    return out, lse, (m, l, inv)


def row_of(a, b, h, i, rows, before, positions, places):
    """The arguments of a call of one query, so many positions after the first, whose keys are some rows."""
    kv = h // (a["q"].shape[1] // a["k"].shape[1])
    at = lambda x, *index: x[tuple(slice(min(n, m - 1), min(n, m - 1) + 1) for n, m in zip(index, x.shape))]
    of = lambda name: a[name][min(b, len(a[name]) - 1)] if a.get(name) else 0
    one = {name: x for name, x in a.items() if name not in ("key_rows", "parents", "key_start", "out_type")}
    one["q"] = at(a["q"], b, h, i)
    for name in ("k", "v", "k_scales", "v_scales"):
        if name in a:
            one[name] = at(a[name], b, kv)[:, :, rows]
    for name in ("bias", "visible"):
        if name in a:
            one[name] = at(a[name], b, h, i)[..., : len(rows)]
    for name in ("alibi", "sinks"):
        if name in a:
            one[name] = a[name][h : h + 1]
    if "key_lengths" in a:
        one["key_lengths"] = [a["key_lengths"][b]]
    one["dropout_sequences"] = [a["dropout_sequences"][b] if "dropout_sequences" in a else b]
    one["query_start"], one["first_head"] = [of("query_start") + before], h
    one["key_positions"], one["key_places"] = of("key_start") + positions, places
    return one


def of_list(a, b, h, i):
    """The rows of a query's list, its distance from the first query, the positions of the keys from the first row on, and their places."""
    index = (b, h // (a["q"].shape[1] // a["k"].shape[1]), i)
    rows = a["key_rows"][tuple(min(x, m - 1) for x, m in zip(index, a["key_rows"].shape))].astype(np.int64)
    rows = rows[: (rows < 0).argmax() if (rows < 0).any() else len(rows)]
    return rows, i, rows, np.arange(len(rows))


def of_tree(a, b, h, i):
    """The same of a tree."""
    at = lambda name: a[name][min(b, len(a[name]) - 1)] if a.get(name) else 0
    past, queries, keys = at("query_start") - at("key_start"), a["q"].shape[2], a["k"].shape[2]
    tree = a["parents"].reshape(-1, queries)
    tree, path = tree[min(b, len(tree) - 1)], []
    while i >= 0:
        path.insert(0, i)
        i = tree[i]
    rows = np.concatenate([np.arange(past), past + np.array(path)])
    rows = rows[rows < keys]
    count = np.arange(len(rows))
    return rows, len(path) - 1, count, at("key_start") + count


def by_rows(a, additive):
    """A call in which each query has its own keys: each row is a call of its own."""
    batch, heads, queries, _ = a["q"].shape
    row, size, n = (batch, heads, queries), a["v"].shape[3], a["key_rows"].shape[3] if "key_rows" in a else a["k"].shape[2]
    out = {"out": np.zeros(row + (size,), f32), "lse": np.full(row + (1,), -INF, f32), "weights": np.zeros(row + (n,), f32)}
    out.update({"scores_" + name: np.full(row + (n,), -INF, f32) for name in ("scaled", "capped", "masked")})
    for b, h, i in np.ndindex(row):
        rows, *where = (of_list if "key_rows" in a else of_tree)(a, b, h, i)
        if len(rows) == 0:
            sink = f32(f64(a["sinks"][h]) * LOG2E64) if "sinks" in a else None
            out["lse"][b, h, i, 0] = finish(None, False, sink, size)[1]
            continue
        for name, x in attention(row_of(a, b, h, i, rows, *where), additive).items():
            if name == "weights" and np.isnan(x).any():
                out[name][b, h, i] = NAN
            out[name][b, h, i, : x.shape[3]] = x[0, 0, 0]
    return {**out, "out": rounded(out["out"], a)}


def rounded(out, a):
    return {"f16": to_f16, "bf16": to_bf16}.get(a.get("out_type"), canonical)(out)


def attention(a, additive=False):
    if "key_rows" in a or "parents" in a:
        return by_rows(a, additive)
    call = Call(a, additive)
    size = call.v.shape[3]
    row = (call.batch, call.heads, call.queries)
    out, lse = np.zeros(row + (size,), f32), np.zeros(row + (1,), f32)
    weights = np.zeros(row + (call.keys,), f32)
    scores = {name: np.zeros(row + (call.keys,), f32) for name in ("scaled", "capped", "masked")}
    for b in range(call.batch):
        for h in range(call.heads):
            stages, visible = call.scores(b, h)
            for name in scores:
                scores[name][b, h] = canonical(stages[name] * LN2 + ZERO)
            factor = call.dropout(b, h)
            state = [None] * call.queries
            for rows in blocks(call, b, h, stages, visible, factor):
                state = [s if r is None else merge(s, r) for s, r in zip(state, rows)]
            for i in range(call.queries):
                out[b, h, i], lse[b, h, i, 0], whole = finish(state[i], visible[i].any(), call.sink(h), size)
                if whole is None:
                    continue
                m, l, inv = whole
                p = dropped(call.weight(stages["masked"][i] - reference_of(m)), None if factor is None else factor[i])
                weights[b, h, i] = NAN if np.isnan(l) else np.where(visible[i], canonical(p * inv + ZERO), ZERO)
    return {"out": rounded(out, a), "lse": lse, "weights": weights, **{"scores_" + name: x for name, x in scores.items()}}


def partials(a):
    call = Call(a)
    result = {}
    for b in range(call.batch):
        for h in range(call.heads):
            stages, visible = call.scores(b, h)
            for n, rows in enumerate(blocks(call, b, h, stages, visible, call.dropout(b, h))):
                for i, r in enumerate(rows):
                    result[n, b, h, i] = (-INF, ZERO, np.zeros(call.v.shape[3], f32)) if r is None else r
    shape = tuple(max(key[d] for key in result) + 1 for d in range(4))
    parts = [np.zeros(shape + like.shape, f32) for like in map(np.asarray, result[0, 0, 0, 0])]
    for at, r in result.items():
        for part, x in zip(parts, r):
            part[at] = canonical(x + ZERO)
    return dict(zip(("max", "sum", "out"), parts))


def merge_partials(a):
    count, batch, heads, queries, size = a["out"].shape
    out, lse = np.zeros((batch, heads, queries, size), f32), np.zeros((batch, heads, queries, 1), f32)
    for at in np.ndindex(batch, heads, queries):
        state = None
        for n in range(count):
            m, l, o = (a[name][(n,) + at] for name in ("max", "sum", "out"))
            if not (m == -INF and l == 0):
                state = merge(state, (m, l, o))
        sink = f32(f64(a["sinks"][at[1]]) * LOG2E64) if "sinks" in a else None
        out[at], lse[at + (0,)], _ = finish(state, state is not None, sink, size)
    return {"out": out, "lse": lse}


FUNCTIONS = {
    "attention": attention,
    "additive": lambda a: attention(a, additive=True),
    "partials": partials,
    "merge": merge_partials,
}
