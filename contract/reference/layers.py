"""Norms, activations, gated recurrent units and rotary positions, with their gradients."""

import decimal
import math

import numpy as np

from .numbers import EXP2, LOG2E, NAN, ONE, ZERO, bits, canonical, exp2, f32, f64, fma, halves, horner, power_of_2, tanh

CHAINS = 64


def chains(x, count, add):
    """The sums of elements i with i mod count = r, in ascending order, and then those of halves."""
    acc = np.zeros(count, x.dtype)
    for first in range(0, len(x), count):
        part = x[first : first + count]
        acc[: len(part)] = add(part, acc[: len(part)])
    return halves(acc)


def centered(x):
    """x less its mean, and that less its own."""
    for _ in range(2):
        x = x - chains(x, CHAINS, lambda x, acc: acc + x) / f32(len(x))
    return x


def normalise(a, layer):
    x, eps = a["x"], a["eps"]
    result = {}
    if "residual" in a:
        x = result["sum"] = canonical(x + a["residual"])
    size = f32(x.shape[1])
    w, bias = a.get("weight", np.ones(x.shape[1], f32)), a.get("bias", np.full(x.shape[1], -ZERO))
    out = np.zeros(x.shape, f32)
    for r, row in enumerate(x):
        if layer:
            row = centered(row)
        inv = ONE / np.sqrt(chains(row, CHAINS, lambda x, acc: fma(x, x, acc)) / size + eps)
        out[r] = fma(row * inv, w, bias) if layer else (row * inv) * w
    return {"out": canonical(out), **result}


def sum_of_products(x, y):
    """A sum in binary64 in 8 chains."""
    return chains(x.astype(f64) * y, 8, lambda x, acc: acc + x)


def in_segments(rows, held):
    """What is held and the sums of segments of 32 rows, in groups of 32 segments, each sum from +0."""
    total = held + ZERO
    for group in range(0, len(rows), 1024):
        of_group = np.zeros(rows.shape[1], f32)
        for segment in range(group, min(group + 1024, len(rows)), 32):
            acc = np.zeros(rows.shape[1], f32)
            for row in rows[segment : segment + 32]:
                acc = acc + row
            of_group = of_group + acc
        total = total + of_group
    return canonical(total)


def normalise_backward(a, layer):
    x, dy, eps = a["x"], a["dy"], f64(a["eps"])
    count, size = x.shape
    w = a.get("weight", np.ones(size, f32))
    dx, products = np.zeros(x.shape, f32), np.zeros(x.shape, f32)
    for r in range(count):
        y = centered(x[r]) if layer else x[r]
        inv = f32(1 / np.sqrt(sum_of_products(y, y) / size + eps))
        y = y * inv
        g = dy[r] * w
        center = f32(sum_of_products(g, ONE) / size) if layer else ZERO
        slope = f32(sum_of_products(g, y) / size)
        dx[r] = ((g - center) - y * slope) * inv
        if "direct" in a:
            dx[r] = dx[r] + a["direct"][r]
        products[r] = dy[r] * y
    held = lambda name: a.get(name, np.zeros(size, f32))
    result = {"dx": canonical(dx), "dweight": in_segments(products, held("dweight"))}
    if layer:
        result["dbias"] = in_segments(dy, held("dbias"))
    return result


def divided(z, n, r):
    """z / (2^-h + p(r)·2^(n-h)) · 2^-h with h = n/2, rounded down."""
    h = np.floor(n / 2)
    unit = power_of_2(np.ones(np.shape(z)), -h)
    return (z / (unit + power_of_2(horner(EXP2, r), n - h))) * unit


def keeps_nan(f):
    def g(x):
        x = np.asarray(x, f32)
        return np.where(np.isnan(x), NAN, f(np.where(np.isnan(x), ZERO, x).astype(f32))).astype(f32)

    return g


def product64(x, y):
    """A product that is not rounded."""
    return np.asarray(x, f64) * np.asarray(y, f64)


@keeps_nan
def silu(x):
    z = np.maximum(x, bits(0xC2DC0000))
    c = np.minimum(z, bits(0x41F00000))
    n = np.rint(product64(c, bits(0xBFB8AA3B))).astype(f32)
    return divided(z, n, fma(c, bits(0xB2A57060), fma(c, bits(0xBFB8AA3B), -n)))


@keeps_nan
def gelu_tanh(x):
    z = np.maximum(x, bits(0xC12E6666))
    c = np.minimum(z, bits(0x40C00000))
    c0, c1 = bits(0xC0135760), bits(0xBDD2D3E8)
    s = c * c
    e = fma(c, c, -s)
    u = fma(s, c1, c0)
    v = fma(e, c1, fma(s, bits(0x310A8D56), fma(s, c1, c0 - u))) + bits(0xB486F39D)
    n = np.rint(product64(c, u)).astype(f32)
    return divided(z, n, fma(c, v, fma(c, u, -n)))


GELU_C = bits(0x00000000, 0x3F2E4A17, 0x3FAE61E6, 0x401484A2, 0x406C3827, 0x40B30E31, 0x41050E21, 0x41433670)
GELU_T = [
    bits(0x00000000, 0x3E59FB84, 0x3E98B188, 0x3EB231D3, 0x3EBFBDF4, 0x3EC64702, 0x3EC96CAD, 0x3ECAE9BE),
    bits(0x3F000000, 0x3E3E7545, 0x3DA751B2, 0x3D027030, 0x3C3812EC, 0x3B7BF105, 0x3AA79641, 0x39DD7CBD),
    bits(0xBECC41ED, 0xBDFB66EC, 0xBD389250, 0xBC64A81C, 0xBB735030, 0xBA72E082, 0xB965655D, 0xB8545248),
    bits(0x3E7FEF6C, 0x3D856371, 0x3CA6F38E, 0x3BA7E8DA, 0x3A897551, 0x394B38B6, 0x3809A63D, 0x36B37E2F),
    bits(0xBE0769BE, 0xBCF448F1, 0xBC043E5C, 0xBADBBA97, 0xB98CA690, 0xB81C4D54, 0xB699481A, 0xB50D64D1),
    bits(0x3D70308E, 0x3C4BDD1D, 0x3B432920, 0x3A09540C, 0x388D92DA, 0x36F18D91, 0x352E2774, 0x33658A63),
    bits(0xBC8B8D3A, 0xBB9AEDF1, 0xBA82F329, 0xB918D8CD, 0xB7820B21, 0xB5A6AED1, 0xB3B1CA7F, 0xB1AC238B),
]


@keeps_nan
def gelu(x):
    c = np.minimum(np.maximum(x, bits(0xC1666666)), bits(0x40C00000))
    a = np.abs(c)
    half = bits(0xBF38AA3B)
    s = a * a
    e = fma(a, a, -s)
    n = np.rint(product64(s, half)).astype(f32)
    r = fma(e, half, fma(s, bits(0xB2257060), fma(s, half, -n)))
    i = (np.asarray(fma(a, bits(0x3FA09CEA), bits(0x3F9A8279))).view(np.uint32) - np.uint32(0x3F9A8279)) >> np.uint32(22)
    t = horner([t[i] for t in GELU_T], a - GELU_C[i])
    return fma(-t, power_of_2(horner(EXP2, r), n), np.where(x < 0, ZERO, x))


ACTIVATIONS = {"silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh}


def slope(name, x):
    y = ACTIVATIONS[name](x)
    ratio = np.where(x == 0, f32(0.5), y / x).astype(f32)
    if name == "gelu":
        s = ratio + x * (exp2((x * x) * bits(0xBF38AA3B)) * bits(0x3ECC422A))
    else:
        factor = ONE if name == "silu" else bits(0x3FCC422A) + (x * x) * bits(0x3E5B33B6)
        s = ratio * (ONE - ACTIVATIONS[name](-x) * factor)
    return np.where(x < -100, ZERO, np.where(x > 100, ONE, s)).astype(f32)


def gated(name):
    return lambda a: {"y": canonical(ACTIVATIONS[name](a["gate"]) * a["up"])}


def gated_backward(name):
    return lambda a: {
        "dgate": canonical((a["dy"] * a["up"]) * slope(name, a["gate"])),
        "dup": canonical(a["dy"] * ACTIVATIONS[name](a["gate"])),
    }


def sigmoid(x):
    e = exp2(-np.abs(x) * LOG2E)
    return np.where(x >= 0, ONE / (ONE + e), e / (ONE + e)).astype(f32)


def thirds(x, size):
    x = x.reshape(-1, 3, size)
    return x[:, 0], x[:, 1], x[:, 2]


def joined(*parts):
    return canonical(np.stack(parts, 1)).ravel()


def gru(a):
    size = a["size"]
    state = a["state"].reshape(-1, size)
    (ir, iz, ic), (hr, hz, hc) = thirds(a["in"], size), thirds(a["hidden"], size)
    r, z = sigmoid(ir + hr), sigmoid(iz + hz)
    c = tanh(ic + r * hc)
    return {"state": canonical(c + (state - c) * z).ravel(), "gates": joined(r, z, c)}


def gru_backward(a):
    size = a["size"]
    (r, z, c), (_, _, hc) = thirds(a["gates"], size), thirds(a["hidden"], size)
    d, before = a["d"].reshape(-1, size), a["before"].reshape(-1, size)
    dc = (d * (ONE - z)) * ((ONE - c) * (ONE + c))
    dz = (d * (before - c)) * ((ONE - z) * z)
    dr = (dc * hc) * ((ONE - r) * r)
    return {"d": canonical(d * z).ravel(), "d_in": joined(dr, dz, dc), "d_hidden": joined(dr, dz, dc * r)}


COS = [f64((-1) ** i / math.factorial(2 * i)) for i in range(9)]
SIN = [f64((-1) ** i / math.factorial(2 * i + 1)) for i in range(9)]
TWO_PI64 = np.array([0x401921FB54442D18], np.uint64).view(f64)[0]
TURN = 1 << 128


def turns(a):
    """The frequencies of the pairs in turns per position, as multiples of 2^-128."""
    with decimal.localcontext() as context:
        context.prec = 120
        two_pi = 2 * decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
        scaling = decimal.Decimal(float(a.get("scaling", 0) or 1))
        base, dims = decimal.Decimal(float(a.get("base", 0) or 10000)), a["dims"]
        exact = [decimal.Decimal(float(f)) for f in a["frequencies"]] if "frequencies" in a else [(-2 * decimal.Decimal(i) / dims * base.ln()).exp() for i in range(dims // 2)]
        return [int((f / (two_pi * scaling) * TURN + decimal.Decimal("0.5")).to_integral_value(decimal.ROUND_FLOOR)) for f in exact]


def taylor(c, z):
    y = c[-1]
    for x in c[-2::-1]:
        y = y * z + x
    return y


def cos_sin(frequency, position):
    t = position * frequency % TURN
    k = (4 * t + TURN // 2) // TURN
    rest = t - k * TURN // 4
    a = abs(rest)
    drop = max(a.bit_length() - 53, 0)
    x = f64(math.ldexp(a >> drop, drop - 128)) * TWO_PI64 * (-1 if rest < 0 else 1)
    z = x * x
    c, s = taylor(COS, z), x * taylor(SIN, z)
    return [(c, s), (-s, c), (-c, -s), (s, -c)][k % 4]


def rope_cos_sin(a):
    both = np.array([[cos_sin(f, p) for f in turns(a)] for p in a["positions"]], f64).astype(f32)
    return {"cos": both[..., 0], "sin": both[..., 1]}


def rope(a):
    y, n = a["x"].copy(), a["dims"] // 2
    tables = rope_cos_sin(a)
    first = np.arange(n) * 2 if a.get("interleaved") else np.arange(n)
    second = first + (1 if a.get("interleaved") else n)
    x0, x1 = y[:, first], y[:, second]
    y[:, first] = canonical(x0 * tables["cos"] - x1 * tables["sin"])
    y[:, second] = canonical(x1 * tables["cos"] + x0 * tables["sin"])
    return {"y": y}


FUNCTIONS = {
    "rms": lambda a: normalise(a, False),
    "layer_norm": lambda a: normalise(a, True),
    "rms_backward": lambda a: normalise_backward(a, False),
    "layer_norm_backward": lambda a: normalise_backward(a, True),
    "tanh_backward": lambda a: {"dx": canonical(a["dy"] * ((ONE - a["y"]) * (ONE + a["y"])))},
    "sigmoid_backward": lambda a: {"dx": canonical(a["dy"] * ((ONE - a["y"]) * a["y"]))},
    "gru": gru,
    "gru_backward": gru_backward,
    "rope_cos_sin": rope_cos_sin,
    "rope": rope,
}
for name, gate in (("silu", "swiglu"), ("gelu", "geglu"), ("gelu_tanh", "geglu_tanh")):
    FUNCTIONS[name] = lambda a, name=name: {"y": ACTIVATIONS[name](a["x"])}
    FUNCTIONS[name + "_backward"] = lambda a, name=name: {"dx": canonical(a["dy"] * slope(name, a["x"]))}
    FUNCTIONS[gate], FUNCTIONS[gate + "_backward"] = gated(name), gated_backward(name)
