"""The steps of attention in package layer, and their gradients."""

import numpy as np

from .attention import attention
from .gradients import attention_backward
from .numbers import LOG2E, NAN, ONE, canonical, exp2, f32, f64


def ordered(terms):
    """The sum of the rows of terms in ascending order, from 0."""
    total = np.zeros(np.shape(terms)[1:], f64)
    for t in terms:
        total = total + t
    return total


def unit_rows(x):
    """The rows x/|x|."""
    squares = ordered(np.moveaxis(x.astype(f64) ** 2, -1, 0))
    inv = np.where(squares == 0, 0, 1 / np.sqrt(squares))
    return (x.astype(f64) * inv[..., None]).astype(f32)


def of_units(a):
    return {"scale": ONE, **a, "q": unit_rows(a["q"]), "k": unit_rows(a["k"])}


def cosine_backward(a):
    g = attention_backward(of_units(a))
    for name in ("q", "k"):
        x, dy = a[name].astype(f64), g["d" + name].astype(f64)
        dot, squares = ordered(np.moveaxis(x * dy, -1, 0)), ordered(np.moveaxis(x * x, -1, 0))
        dx = (dy - x * (dot / squares)[..., None]) * (1 / np.sqrt(squares))[..., None]
        none = (squares == 0) | (dy == 0).all(-1)
        g["d" + name] = canonical(np.where(none[..., None], 0, dx).astype(f32))
    return g


def softmax(a):
    x, n = a["x"].reshape(-1, a["n"]), a["n"]
    lengths = a.get("lengths")
    y = np.zeros(x.shape, f32)
    for r, row in enumerate(x):
        row = row if lengths is None else row[: lengths[r * len(lengths) // len(x)]]
        top = row.max() if len(row) else -np.inf
        if np.isneginf(top):
            continue
        p = exp2((row - top) * LOG2E)
        total = ordered(p.astype(f64))
        y[r, : len(row)] = NAN if np.isnan(total) else (p.astype(f64) / total).astype(f32)
    return {"y": y.ravel()}


def softmax_backward(a):
    y, dy = a["y"].reshape(-1, a["n"]).astype(f64), a["dy"].reshape(-1, a["n"]).astype(f64)
    total = ordered(np.where(y == 0, 0, y * dy).T)
    return {"dx": canonical(np.where(y == 0, 0, y * (dy - total[:, None])).astype(f32)).ravel()}


def weighted_sum(a):
    w, v = a["weights"].astype(f64), a["v"].astype(f64)
    out = np.zeros(w.shape[:3] + v.shape[3:], f64)
    for b, h, i, j in np.ndindex(w.shape):
        if w[b, h, i, j] != 0:
            out[b, h, i] += w[b, h, i, j] * v[b, h * v.shape[1] // w.shape[1], j]
    return {"out": canonical(out.astype(f32))}


def weighted_sum_backward(a):
    w, v, dout = (a[name].astype(f64) for name in ("weights", "v", "dout"))
    dw, dv = np.zeros(w.shape, f64), np.zeros(v.shape, f64)
    for b, h, i, j in np.ndindex(w.shape):
        kv = h * v.shape[1] // w.shape[1]
        dw[b, h, i, j] = ordered(dout[b, h, i] * v[b, kv, j])
        if w[b, h, i, j] != 0:
            dv[b, kv, j] += w[b, h, i, j] * dout[b, h, i]
    return {"dweights": canonical(dw.astype(f32)), "dv": canonical(dv.astype(f32))}


FUNCTIONS = {
    "cosine": lambda a: attention(of_units(a)),
    "cosine_backward": cosine_backward,
    "softmax": softmax,
    "softmax_backward": softmax_backward,
    "weighted_sum": weighted_sum,
    "weighted_sum_backward": weighted_sum_backward,
}
