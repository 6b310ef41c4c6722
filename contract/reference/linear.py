"""Linear layers and their gradients. The places of bits in blocks are those of ggml-common.h of ggml."""

import numpy as np

from .layers import ACTIVATIONS
from .numbers import NAN, WIDEN, ZERO, bits, canonical, f32, flush, fma, round_bf16, to_f16

INPUTS = 128


def product(a, b, held=None):
    """[M, N] of a [M, K] and b [N, K]: fma chains over segments of K, added from left to right, to what is held."""
    m, n, k = len(a), len(b), a.shape[1]
    total = np.zeros((m, n), f32) if held is None else held
    for first in range(0, max(k, 1), INPUTS):
        acc = np.zeros((m, n), f32)
        for x in range(first, min(first + INPUTS, k)):
            acc = fma(a[:, x, None], b[None, :, x], acc)
        total = acc if first == 0 and held is None else total + acc
    return canonical(total)


def product_bf16(a, b):
    """[M, N] of a [M, K] and b [N, K], which are rounded: chains over the even and the odd places of 32."""
    a, b = round_bf16(a), round_bf16(b)
    total = np.zeros((len(a), len(b)), f32)
    for first in range(0, a.shape[1], 32):
        sums = np.zeros((2, len(a), len(b)), f32)
        for x in range(first, min(first + 32, a.shape[1])):
            sums[x % 2] = fma(a[:, x, None], b[None, :, x], sums[x % 2])
        total = total + (sums[0] + sums[1])
    return total


def finish(a, y):
    """Adds the bias and applies the activation."""
    if "bias" in a:
        y = y + a["bias"]
    y = canonical(y)
    return {"out": ACTIVATIONS[a["activation"]](y) if a.get("activation") else y}


def linear_backward(a):
    dy, x, w = a["dy"], a["x"], a["w"]
    bias = a.get("dbias", np.zeros(dy.shape[1], f32))
    for group in range(0, max(len(dy), 1), 1024):
        total = np.zeros(dy.shape[1], f32)
        for segment in range(group, min(group + 1024, len(dy)), 32):
            acc = np.zeros(dy.shape[1], f32)
            for row in dy[segment : segment + 32]:
                acc = acc + row
            total = acc if segment == group else total + acc
        bias = bias + total
    return {"dx": product(dy, w.T, a.get("dx")), "dw": product(dy.T, x.T, a.get("dw")), "dbias": canonical(bias)}


def add_rows(a):
    out = a["out"].copy()
    for i, row in enumerate(a["rows"]):
        out[row] = canonical(out[row] + a["x"][i])
    return {"out": out}


def half(block, at):
    return WIDEN["f16"](np.array(int(block[at]) | int(block[at + 1]) << 8))[()]


def nibbles(b):
    return np.concatenate([b & 15, b >> 4])


def fifths(b, high):
    word = int.from_bytes(bytes(high.tolist()), "little")
    return nibbles(b) | np.array([(word >> i & 1) << 4 for i in range(32)])


def scales_of_6_bits(x):
    """The 8 s and 8 t of Q4_K and Q5_K."""
    s = [int(x[i] & 63) if i < 4 else int(x[i + 4] & 15 | x[i - 4] >> 6 << 4) for i in range(8)]
    t = [int(x[i + 4] & 63) if i < 4 else int(x[i + 4] >> 4 | x[i] >> 6 << 4) for i in range(8)]
    return s, t


class Block:
    """32 weights: their integers q, d, a minimum c, and for each of the two halves the integers s and t."""

    def __init__(self, q, d, c=None, s=(1, 1), t=None):
        self.q, self.d, self.c, self.s, self.t = np.asarray(q, int), d, c, s, t


def read(name, b):
    """The blocks of 32 weights of a block of a file."""
    b = b.astype(int)
    if name == "Q8_0":
        return [Block(b[2:34].astype(np.uint8).view(np.int8), half(b, 0))]
    if name == "Q4_0":
        return [Block(nibbles(b[2:18]), half(b, 0))]
    if name == "Q4_1":
        return [Block(nibbles(b[4:20]), half(b, 0), half(b, 2))]
    if name == "Q5_0":
        return [Block(fifths(b[6:22], b[2:6]), half(b, 0), half(b, 0), t=(16, 16))]
    if name == "Q5_1":
        return [Block(fifths(b[8:24], b[4:8]), half(b, 0), half(b, 2), t=(-1, -1))]
    if name == "IQ4_NL":
        return [Block(IQ4_VALUES[nibbles(b[2:18])], half(b, 0))]
    if name == "NVFP4":
        pairs = [(nibbles(b[4 + 8 * i : 12 + 8 * i]), WIDEN["f8e4m3"](np.array(b[i]))[()]) for i in range(4)]
        return [Block(np.concatenate([MX4_VALUES[q] for q, _ in pairs[i : i + 2]]), None, s=[d for _, d in pairs[i : i + 2]]) for i in (0, 2)]
    if name == "MXFP4":
        v, d = MX4_VALUES[nibbles(b[1:17])], 2.0 ** (int(b[0]) - 128)
        v = np.where(np.abs(v) * d < 2.0**-126, 0, v)
        d = NAN if b[0] == 255 else f32(d)
        d = d if MX4_VALUES[nibbles(b[1:17])].any() else ZERO
        return [Block(v + 16, d, d, t=(16, 16))]
    return [BLOCKS_OF_256[name](b, part) for part in range(8)]


def read_q2(b, part):
    q = b[16 + part // 4 * 32 :][:32] >> part % 4 * 2 & 3
    return Block(q, half(b, 80), half(b, 82), [b[2 * part + i] & 15 for i in (0, 1)], [b[2 * part + i] >> 4 for i in (0, 1)])


def read_q3(b, part):
    q = (b[32 + part // 4 * 32 :][:32] >> part % 4 * 2 & 3) | (b[:32] >> part & 1) << 2
    s = [(b[96 + n % 8] >> n // 8 * 4 & 15 | (b[104 + n % 4] >> n // 4 * 2 & 3) << 4) - 32 for n in (2 * part, 2 * part + 1)]
    return Block(q, half(b, 108), half(b, 108), s, [4 * x for x in s])


def read_q4(b, part):
    s, t = scales_of_6_bits(b[4:16])
    q = b[16 + part // 2 * 32 :][:32] >> part % 2 * 4 & 15
    return Block(q, half(b, 0), half(b, 2), [s[part]] * 2, [t[part]] * 2)


def read_q5(b, part):
    s, t = scales_of_6_bits(b[4:16])
    q = (b[48 + part // 2 * 32 :][:32] >> part % 2 * 4 & 15) | (b[16:48] >> part & 1) << 4
    return Block(q, half(b, 0), half(b, 2), [s[part]] * 2, [t[part]] * 2)


def read_q6(b, part):
    low = b[part // 4 * 64 + part % 2 * 32 :][:32] >> part % 4 // 2 * 4 & 15
    high = b[128 + part // 4 * 32 :][:32] >> part % 4 * 2 & 3
    s = b[192:208].astype(np.uint8).view(np.int8).astype(int)
    return Block(low | high << 4, half(b, 208), s=s[2 * part : 2 * part + 2])


def read_iq4_xs(b, part):
    s = (b[4 + part // 2] >> part % 2 * 4 & 15 | ((b[2] | b[3] << 8) >> 2 * part & 3) << 4) - 32
    d = half(b, 0) * f32(s) if np.isfinite(half(b, 0)) else NAN
    return Block(IQ4_VALUES[nibbles(b[8 + 16 * part :][:16])], None, s=[d, d])


def read_tq1(b, part):
    digits = [(k, n) for n in range(5) for k in range(32)] + [(32 + k, n) for n in range(5) for k in range(16)] + [(48 + k, n) for n in range(4) for k in range(4)]
    return Block(np.array([(b[k] * 3**n & 255) * 3 >> 8 for k, n in digits[32 * part :][:32]]) + 7, half(b, 52))


def read_tq2(b, part):
    return Block((b[part // 4 * 32 :][:32] >> part % 4 * 2 & 3) + 7, half(b, 64))


BLOCKS_OF_256 = {"Q2_K": read_q2, "Q3_K": read_q3, "Q4_K": read_q4, "Q5_K": read_q5, "Q6_K": read_q6, "IQ4_XS": read_iq4_xs, "TQ1_0": read_tq1, "TQ2_0": read_tq2}
LIKE = {"IQ4_NL": "Q8_0", "IQ4_XS": "NVFP4", "TQ1_0": "Q4_0", "TQ2_0": "Q4_0"}  # formats whose blocks are computed as those of others
BYTES = {"Q8_0": 34, "Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q2_K": 84, "Q3_K": 110, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210, "IQ4_NL": 18, "MXFP4": 17, "NVFP4": 36, "IQ4_XS": 136, "TQ1_0": 54, "TQ2_0": 66}
IQ4_VALUES = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
MX4_VALUES = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])  # doubled


def rows_of_blocks(a):
    """The blocks of 32 weights of each output."""
    size = BYTES[a["format"]]
    rows = [[x for at in range(0, len(row), size) for x in read(a["format"], row[at : at + size])] for row in a["blocks"]]
    if a["format"] == "NVFP4":
        scales = a.get("scales", [f32(1)])
        for i, row in enumerate(rows):
            for x in row:  # half of D, as q is 2v
                x.s = [f32(d * scales[i % len(scales)]) / f32(2) for d in x.s]
    return rows


def weights(name, x):
    """The 32 weights of a block as float32."""
    name, q = LIKE.get(name, name), x.q.astype(f32)
    if name == "NVFP4":
        return np.repeat(np.array(x.s, f32), 16) * q + ZERO  # a zero is +0
    if name == "Q8_0":
        return fma(x.d, q + 128, -128 * x.d)
    if name == "Q4_0":
        return fma(x.d, q, -8 * x.d)
    if name == "Q4_1":
        return fma(x.d, q, x.c)
    ds = np.repeat(np.array([f32(x.d * f32(s)) for s in x.s], f32), 16)
    if name == "Q6_K":
        return fma(ds, q, f32(-32) * ds)
    if name == "MXFP4":
        return (q - 16) * ds  # rounded once, also where 16·d is beyond float32
    ct = np.repeat(np.array([f32(x.c * f32(t)) for t in x.t], f32), 16)
    return fma(ds, q, -ct)


def widened(a):
    w = [np.concatenate([weights(a["format"], x) for x in row]) for row in rows_of_blocks(a)]
    return canonical(np.array(w))


def quantized_rows(x):
    """d' of the blocks of 32 inputs of a row, and the integers q'."""
    x = x.reshape(-1, 32)
    a = np.abs(x).max(1)
    finite = np.isfinite(x).all(1)
    used = finite & (a >= f32(2.0**-100))
    d = np.where(finite, np.where(used, a * bits(0x3C010204), ZERO), NAN).astype(f32)
    q = np.zeros(x.shape, int)
    q[used] = np.rint(x[used] * (f32(127) / a[used])[:, None])
    return d, q


def integer_output(name, blocks, d1, q1):
    """An output of quantized rows."""
    name, acc = LIKE.get(name, name), ZERO
    for x, d, q in zip(blocks, d1, q1):
        if name == "NVFP4":
            t = ZERO
            for half in (1, 0):
                at = slice(16 * half, 16 * half + 16)
                t = fma(f32(q[at] @ x.q[at]), x.s[half], t)[()]
            acc = fma(t, d, acc)[()]
            continue
        if name in ("Q8_0", "Q4_0", "Q4_1"):
            acc = fma(f32(q @ (x.q - {"Q4_0": 8}.get(name, 0))), d * x.d, acc)[()]
            if name == "Q4_1":
                acc = fma(x.c, f32(d * f32(q.sum())), acc)[()]
            continue
        s = np.repeat(np.asarray(x.s, int), 16)
        acc = fma(f32(q @ (s * (x.q - {"Q6_K": 32}.get(name, 0)))), d * x.d, acc)[()]
        if name != "Q6_K":
            acc = fma(f32(-(q @ np.repeat(np.asarray(x.t, int), 16))), d * x.c, acc)[()]
    return acc


def linear_quantized(a):
    if not a.get("int8"):
        return finish(a, product(a["x"], widened(a)))
    rows = rows_of_blocks(a)
    y = [[integer_output(a["format"], blocks, *quantized_rows(x)) for blocks in rows] for x in a["x"]]
    return finish(a, np.array(y, f32))


def to_q8_0(a):
    w = a["w"]
    x = w.reshape(-1, 32)
    d = WIDEN["f16"](to_f16(np.abs(x).max(1) / f32(127)))
    used = d != 0
    q = np.zeros(x.shape, f32)
    q[used] = np.clip(np.rint(x[used] / d[used, None]), -127, 127)
    return {"w": canonical(fma(d[:, None], q + 128, -128 * d[:, None])).reshape(w.shape)}


FUNCTIONS = {
    "linear": lambda a: finish(a, product(a["x"], flush(a["w"]))),
    "linear_bf16": lambda a: finish(a, product_bf16(a["x"], a["w"])),
    "linear_quantized": linear_quantized,
    "weights_quantized": lambda a: {"w": widened(a)},
    "weights_to_q8_0": to_q8_0,
    "product": lambda a: {"out": product(a["a"], a["b"], a.get("out"))},
    "linear_backward": linear_backward,
    "add_rows": add_rows,
}
