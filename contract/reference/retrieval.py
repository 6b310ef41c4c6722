"""Scores of passages by the vectors of their tokens: "Contract: late interaction"."""

import numpy as np

from .numbers import canonical, chain, f32, f64

SEGMENT = 64


def product(q, p):
    """The products of a vector and the rows of p."""
    total = np.zeros(len(p), f32)
    for at in range(0, len(q), SEGMENT):
        total = total + chain(zip(p.T[at:at + SEGMENT], q[at:at + SEGMENT]), total)
    return total


def max_sim(a):
    q, p, starts = a["q"], a["p"], a["starts"]
    scores = np.zeros(len(starts) - 1, f32)
    for i in range(len(scores)):
        total = f64(0)
        for row in q:
            s = product(row, p[starts[i]:starts[i + 1]])
            total += f64(max((x for x in s if x == x), default=f32(-np.inf)))
        scores[i] = f32(total)
    return {"scores": canonical(scores)}


FUNCTIONS = {"max_sim": max_sim}
