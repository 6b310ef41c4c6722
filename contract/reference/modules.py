"""What package layer composes: General, Additive and MultiHead, with their gradients."""

import numpy as np

from .attention import attention
from .gradients import additive_backward, attention_backward
from .linear import linear_backward, product
from .numbers import ONE, canonical, flush


def flat(x):
    """The rows of a tensor, numbered as in [B, H, L]."""
    return x.reshape(-1, x.shape[-1])


def project(x, w, bias=None):
    """A linear layer of all rows, or x itself without weights."""
    if w is None:
        return x
    y = product(flat(x), flush(w))
    return canonical(y if bias is None else y + bias).reshape(x.shape[:-1] + (len(w),))


def project_backward(dy, x, w, held=None):
    """The gradients of x, added to what is held, of the weights and of the bias."""
    a = {"dy": flat(dy), "x": flat(x), "w": w}
    g = linear_backward(a)
    dx = g["dx"] if held is None else product(a["dy"], w.T, flat(held))
    return dx.reshape(x.shape), g["dw"], g["dbias"]


def of_general(a):
    """The arguments of the attention over p = q·W, whose scale is 1 by default."""
    return {"scale": ONE, **a, "q": project(a["q"], a["w"].T)}


def general_backward(a):
    g = attention_backward(of_general(a))
    dp = flat(g["dq"])
    g["dw"] = product(flat(a["q"]).T, dp.T)
    g["dq"] = product(dp, a["w"]).reshape(a["q"].shape)
    return g


def of_network(a):
    return {**a, "q": project(a["q"], a.get("wq"), a.get("bq")), "k": project(a["k"], a.get("wk"), a.get("bk")), "weights": a["scoring"]}


def network_backward(a):
    g = additive_backward(of_network(a))
    g["dscoring"] = g.pop("dweights")
    for name in ("q", "k"):
        if "w" + name in a:
            g["d" + name], g["dw" + name], bias = project_backward(g["d" + name], a[name], a["w" + name])
            if "b" + name in a:
                g["db" + name] = bias
    return g


INPUTS = {"q": "query", "k": "key", "v": "value"}


def split(x, heads):
    """[B, 1, L, heads·D] as [B, heads, L, D]."""
    b, _, l, width = x.shape
    return np.moveaxis(x.reshape(b, l, heads, width // heads), 2, 1)


def join(x):
    b, h, l, d = x.shape
    return np.moveaxis(x, 1, 2).reshape(b, 1, l, h * d)


def heads_of(a):
    """The arguments of the attention of the heads."""
    heads = {"q": a["heads"], "k": a["kv_heads"], "v": a["kv_heads"]}
    parts = {name: split(project(a[tokens], a.get("w" + name), a.get("b" + name)), heads[name]) for name, tokens in INPUTS.items()}
    return {**{name: a[name] for name in ("visible",) if name in a}, **parts}


def multi_head(a):
    result = attention(heads_of(a))
    return {"out": project(join(result["out"]), a.get("wo"), a.get("bo")), "lse": result["lse"]}


def multi_head_backward(a):
    inner = heads_of(a)
    forward = attention(inner)
    g = {}

    def through(name, dy, x, held=None):
        """The gradient of x, added to what is held. Those of the parameters are results."""
        if "w" + name not in a:
            return dy if held is None else canonical(held + dy)
        dx, g["dw" + name], bias = project_backward(dy, x, a["w" + name], held)
        if "b" + name in a:
            g["db" + name] = bias
        return dx

    dheads = through("o", a["dout"], join(forward["out"]))
    d = attention_backward({**inner, "lse": forward["lse"], "dout": split(dheads, a["heads"])})
    for name, tokens in INPUTS.items():
        to = "dquery" if a.get("joint") else "d" + tokens
        g[to] = through(name, join(d["d" + name]), a[tokens], g.get(to))
    return g


FUNCTIONS = {
    "general": lambda a: attention(of_general(a)),
    "general_backward": general_backward,
    "additive_network": lambda a: attention(of_network(a), additive=True),
    "additive_network_backward": network_backward,
    "multi_head": multi_head,
    "multi_head_backward": multi_head_backward,
}
