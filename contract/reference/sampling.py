"""The choice of tokens: "Contract: sampling"."""

import math

import numpy as np

from .numbers import LOG2E64, ZERO, exp2, f32, f64

FEW = 256
MASK64, MASK128 = (1 << 64) - 1, (1 << 128) - 1


class Random:
    """PCG-DXSM with 128 bits of state."""

    def __init__(self, seed):
        self.state = seed << 64

    def word(self):
        self.state = (self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & MASK128
        hi, lo = self.state >> 64, self.state & MASK64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & MASK64
        hi ^= hi >> 48
        return hi * (lo | 1) & MASK64


def total_of(p):
    total = f64(0)
    for x in p:
        total = total + f64(x)
    return total


def logarithm(x):
    m, e = math.frexp(float(x))
    t = (f64(m) - 1) / (f64(m) + 1)
    power, total = t, f64(0)
    for n in range(1, 60, 2):
        total = total + power / n
        power = power * (t * t)
    return 2 * total + e * f64(math.log(2))


def penalized(x, a, text):
    repetition, frequency, presence = (f32(a.get(name, 0)) for name in ("repetition_penalty", "frequency_penalty", "presence_penalty"))
    x, window = x.copy(), a.get("penalty_window", 0)
    for token in set(text[-window:] if window else text):
        n = f32((text[-window:] if window else text).count(token))
        y = x[token]
        if repetition != 0:
            y = y / repetition if y > 0 else y * repetition
        x[token] = y - (n * frequency + presence)
    return x


def left(x, top, a):
    """The tokens that are left, in their order, and their p."""
    n, k, top_p = len(x), a.get("top_k", 0), a.get("top_p", f64(0))
    p = exp2((x - top) * f32(LOG2E64 / a["temperature"]))
    ids, rest = list(range(n)), ZERO
    nucleus = 0 < top_p < 1
    if 0 < min(k, n) <= FEW:
        ids = sorted(ids, key=lambda j: (-x[j], j))[:k]
    elif 0 < k < n or nucleus:
        least = ZERO if k else f32((1 - top_p) * total_of(p) / n)
        ids = sorted((j for j in ids if p[j] >= least), key=lambda j: (-p[j], j))
        if k:
            ids = ids[:k]
        else:
            rest = f32(max(f64(0), total_of(p) - total_of(p[ids])))
    if nucleus:
        want, have = top_p * (total_of(p[ids]) + f64(rest)), f64(0)
        for i, j in enumerate(ids):
            have = have + f64(p[j])
            if have >= want:
                ids = ids[: i + 1]
                break
    if a.get("min_p", 0) > 0:
        least = min(f32(logarithm(a["min_p"])), ZERO)
        p = np.where(x - top < least, ZERO, p)
    return ids, p[ids]


def choose(x, text, a, random):
    """The token, and those that were left with their p."""
    x = penalized(x, a, text)
    best = int(np.nanargmax(x))
    if a.get("temperature", 0) == 0:
        return best, [], []
    ids, p = left(x, x[best], a)
    at = (f64(random.word() >> 11) * 2.0**-53) * total_of(p)
    have, last = f64(0), None
    for j, y in zip(ids, p):
        if y != 0:
            last, have = j, have + f64(y)
            if at < have:
                break
    return last, ids, p


def sample(a):
    text, random = list(a["text"]), Random(int(a.get("seed", 0)))
    all_left, all_p = [], []
    for row in a["logits"]:
        token, ids, p = choose(row, text, a, random)
        text.append(token)
        all_left.extend(ids)
        all_p.extend(p)
    tokens = np.array(text[len(a["text"]) :], np.int32)
    if not all_left:
        return {"tokens": tokens}
    return {"tokens": tokens, "left": np.array(all_left, np.int32), "p": np.array(all_p, f32)}


FUNCTIONS = {"sample": sample}
