"""Loss and optimizer: "Contract: training"."""

import numpy as np

from .layers import CHAINS, chains, sum_of_products
from .numbers import INF, LN2, LOG2E, NAN, ONE, canonical, exp2, f32, f64, flush, log2


def cross_entropy(a):
    x, targets = a["logits"].reshape(-1, a["n"]), a["targets"]
    count = max(int((targets >= 0).sum()), 1)
    d, total = np.zeros(x.shape, f32), f64(0)
    g = ONE / f32(count)
    for r, t in enumerate(targets):
        if t < 0:
            continue
        row = x[r]
        numbers = row[~np.isnan(row)]
        top = numbers.max() if len(numbers) else -INF
        p = exp2((row - top) * LOG2E)
        S = chains(p, CHAINS, lambda x, acc: acc + x)
        if np.isnan(S):
            d[r], total = NAN, f64(np.nan)
            continue
        inv = ONE / S
        d[r] = (p * inv) * g
        d[r, t] = (p[t] * inv - ONE) * g
        total += f64(f32(f32(top - row[t]) + f32(log2(S) * LN2)))
    return {"loss": canonical(f32(total / count)), "dlogits": canonical(d).ravel()}


def power(x, n):
    y = f64(1)
    while n:
        if n & 1:
            y = y * x
        x, n = x * x, n >> 1
    return y


def adamw(a):
    rate, beta1, beta2, epsilon, decay = (a[name] for name in ("rate", "beta1", "beta2", "epsilon", "decay"))
    keep, c1, b2, c2 = f32(1 - rate * decay), f32(1 - beta1), f32(beta2), f32(1 - beta2)
    root = f32(np.sqrt(1 - power(beta2, a["step"])))
    rate = f32(rate / (1 - power(beta1, a["step"])))
    m = flush(a["m"] + c1 * (a["g"] - a["m"]))
    v = flush(b2 * a["v"] + (c2 * a["g"]) * a["g"])
    w = flush(a["w"] * keep - rate * (m / (np.sqrt(v) / root + f32(epsilon))))
    return {"w": canonical(w), "m": canonical(m), "v": canonical(v)}


def clip(a):
    gradients = {name: a[name] for name in ("g0", "g1")}
    total = f64(0)
    for g in gradients.values():
        total += sum_of_products(g, g)
    root = np.sqrt(total)
    norm = f32(root)
    if np.isfinite(norm) and root > f64(a["most"]):
        factor = f32(f64(a["most"]) / root)
        gradients = {name: g * factor for name, g in gradients.items()}
    return {"norm": canonical(norm), **{name: canonical(g) for name, g in gradients.items()}}


FUNCTIONS = {"cross_entropy": cross_entropy, "adamw": adamw, "clip": clip}
