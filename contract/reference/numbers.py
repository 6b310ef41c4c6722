"""Numbers and functions of one number: "Contract: arithmetic", "exp2, tanh and log2", conversions."""

import numpy as np

f32, f64 = np.float32, np.float64


def bits(*words):
    """The float32 with these bits, one or an array of them."""
    x = np.array(words, np.uint32).view(f32)
    return x[0] if len(words) == 1 else x


LOG2E, LN2, NAN = bits(0x3FB8AA3B), bits(0x3F317218), bits(0x7FC00000)
LOG2E64 = np.array([0x3FF71547652B82FE], np.uint64).view(f64)[0]
INF, ZERO, ONE = f32(np.inf), f32(0), f32(1)


def fma(x, y, z):
    """x·y + z of float32, rounded once.

    The product is exact in binary64. The sum is rounded to odd there: an inexact one gets a last bit of 1,
    so that rounding it to binary32, with 29 bits less, or more for a subnormal, sees on which side of a tie it is.
    """
    x, y, z = np.broadcast_arrays(f32(x), f32(y), f32(z))
    p, z = x.astype(f64) * y.astype(f64), z.astype(f64)
    s = p + z
    t = s - p
    lost = (p - (s - t)) + (z - t)
    even = np.asarray(s).view(np.uint64) & np.uint64(1) == 0
    odd = np.nextafter(s, np.where(lost > 0, np.inf, -np.inf))
    return np.where(np.isfinite(s) & (lost != 0) & even, odd, s).astype(f32)


def chain(pairs, like):
    """An fma chain from +0 over (x, y) pairs, in the shape of like."""
    acc = np.zeros(np.shape(like), f32)
    for x, y in pairs:
        acc = fma(x, y, acc)
    return acc


def canonical(x):
    """x with every NaN replaced by 7fc00000."""
    x = np.asarray(x, f32)
    return np.where(np.isnan(x), NAN, x).astype(f32)


LEAST_NORMAL, LEAST_GRADIENT = f32(2.0**-126), f32(2.0**-100)


def flush(x, least=LEAST_NORMAL):
    """x with +0 for numbers of a magnitude below least: "Contract: subnormal numbers"."""
    x = np.asarray(x, f32)
    return np.where(np.abs(x) < least, ZERO, x).astype(f32)


def round_bf16(x):
    """bf(x) as float32: "Contract: products in bfloat16"."""
    x = np.asarray(x, f32)
    b = np.where(np.isnan(x), NAN, x).astype(f32).view(np.uint32).astype(np.uint64)
    b = (b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000
    return flush(b.astype(np.uint32).view(f32), f32(2.0**-56))


def horner(coefficients, r):
    acc = np.broadcast_to(coefficients[-1], np.shape(r))
    for c in coefficients[-2::-1]:
        acc = fma(acc, r, c)
    return acc


EXP2 = bits(0x3F800000, 0x3F317218, 0x3E75FDEE, 0x3D6357BE, 0x3C1D96F0, 0x3AAF8418, 0x3920B5AE)


def power_of_2(p, n):
    """p·2^n, rounded once: exact where the contract says so."""
    return np.ldexp(np.asarray(p, f64), np.asarray(n).astype(int)).astype(f32)


def exp2(x):
    x = np.asarray(x, f32)
    inside = (x >= -126) & (x < 128)
    y = np.where(inside, x, ZERO)
    n = np.rint(y)
    y = power_of_2(horner(EXP2, y - n), n)
    y = np.where(inside, y, np.where(x < 0, ZERO, INF))
    return np.where(np.isnan(x), NAN, y).astype(f32)


def weight(x):
    x = np.asarray(x, f32)
    return np.where(x < -100, ZERO, exp2(x)).astype(f32)


TANH_B = bits(0x3F800000, 0x3EAAAA79, 0xBCB5D1E4, 0x3B01B40B)
TANH_C = bits(0x00000000, 0x3F9960B9, 0x401973B4, 0x40669340, 0x4099A70B, 0x40C05395, 0x40E7034E, 0x410AA123)
TANH_T = bits(0x00000000, 0x3F5547A4, 0x3F7BCD32, 0x3F7F9EC0, 0x3F7FF727, 0x3F7FFF36, 0x3F7FFFEE, 0x3F7FFFFF)
TANH_V = bits(0x3F800000, 0x3E9C9F6A, 0x3D053FB8, 0x3B425B0E, 0x398D8D8E, 0x37C9FFB0, 0x360FFFFB, 0x34000000)


def tanh(x):
    x = np.asarray(x, f32)
    a = np.minimum(np.abs(np.where(np.isnan(x), ZERO, x)), bits(0x41103000))
    k = np.rint(a.astype(f64) * f64(bits(0x3F550000))).astype(int)
    t, r = TANH_T[k], a - TANH_C[k]
    h = horner(TANH_B, r * r)
    y = t + (TANH_V[k] * r) / fma(t, r, h)
    return np.where(np.isnan(x), NAN, np.copysign(y, x)).astype(f32)


LOG2_D = bits(0x3FB8AA3B, 0xBF38AA3C, 0x3EF637FA, 0xBEB8A994, 0x3E93D2E3, 0xBE767A03, 0x3E4E8A17, 0xBE3377F7, 0x3E501DD4, 0xBE405761)


def log2(x):
    x = np.asarray(x, f32)
    normal = (x > 0) & (x < INF)
    m, e = np.frexp(np.where(normal, x, ONE).astype(f64))  # m in [1/2, 1)
    below = np.asarray(m.astype(f32)).view(np.uint32) < 0x3F2AAAAB
    m, e = np.where(below, 2 * m, m), np.where(below, e - 1, e)
    f = (m - 1).astype(f32)
    y = fma(f, horner(LOG2_D, f), e.astype(f32))
    y = np.where(normal, y, np.where(x == 0, -INF, INF))
    return np.where(np.isnan(x) | (x < 0), NAN, y).astype(f32)


def halves(acc):
    """The sum of chains: the upper half is added to the lower until one is left."""
    while len(acc) > 1:
        acc = acc[: len(acc) // 2] + acc[len(acc) // 2 :]
    return acc[0]


def widen(x, exponent, fraction, nan_only=False):
    """The values of floats of fewer bits. nan_only: the largest exponent is an ordinary one, but for a NaN."""
    x = x.astype(np.int64)
    mantissa, e = x & ((1 << fraction) - 1), x >> fraction & ((1 << exponent) - 1)
    bias, top = (1 << exponent - 1) - 1, (1 << exponent) - 1
    y = np.where(e == 0, np.ldexp(mantissa.astype(f64), 1 - bias - fraction), np.ldexp((mantissa + (1 << fraction)).astype(f64), e - bias - fraction))
    if nan_only:
        y = np.where((e == top) & (mantissa == (1 << fraction) - 1), np.nan, y)
    else:
        y = np.where(e == top, np.where(mantissa == 0, np.inf, np.nan), y)
    return np.where(x >> exponent + fraction == 1, -y, y).astype(f32)


def narrow(x, exponent, fraction, nan, largest=None):
    """Bits of floats of fewer bits: to nearest, ties to even; beyond the largest number infinity, or that number."""
    x = np.asarray(x, f32)
    a = np.abs(np.where(np.isnan(x), ZERO, x)).astype(f64)
    bias, top = (1 << exponent - 1) - 1, ((1 << exponent) - 1) << fraction
    _, e = np.frexp(np.where(np.isinf(a), 0, a))
    unit = np.maximum(e - 1, 1 - bias) - fraction  # the last place of a number of this size is 2^unit
    n = np.rint(np.ldexp(np.where(np.isinf(a), 0, a), -unit)).astype(np.int64)  # may be one place too many
    b = np.where(n == 0, 0, ((unit + fraction + bias - 1) << fraction) + n)
    most = top if largest is None else largest
    b = np.where(np.isinf(a), most, np.minimum(b, most))
    b |= np.signbit(x).astype(np.int64) << exponent + fraction
    return np.where(np.isnan(x), nan, b)


def to_f16(x):
    return narrow(x, 5, 10, 0x7E00)


def to_bf16(x):
    return narrow(x, 8, 7, 0x7FC0)


WIDEN = {
    "f16": lambda x: widen(x, 5, 10),
    "bf16": lambda x: widen(x, 8, 7),
    "f8e4m3": lambda x: widen(x, 4, 3, nan_only=True),
    "f8e5m2": lambda x: widen(x, 5, 2),
}


def quantize_int8(x, group):
    x = x.reshape(-1, group)
    scales = flush(np.minimum(np.abs(x).max(1), bits(0x7F7FFFFE)) / f32(127))
    codes = np.zeros(x.shape, np.int8)
    used = scales != 0
    codes[used] = np.rint(x[used] / scales[used, None])
    return codes.ravel(), scales


def quantize_int4(x, group):
    x = x.reshape(-1, group)
    largest = np.maximum(x.max(1), -x.min(1))
    largest = np.where(x.max(1) == largest, largest, -largest)  # the positive one if there are two
    scales = flush(largest / f32(-8))
    codes = np.zeros(x.shape, np.int8)
    used = scales != 0
    codes[used] = np.clip(np.rint(x[used] / scales[used, None]), -8, 7)
    return codes.ravel(), scales


def philox(seed, counter):
    """Philox4x32-10."""
    mask = 0xFFFFFFFF
    k, c = [seed & mask, seed >> 32], list(counter)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & mask, first >> 32 ^ c[3] ^ k[1], first & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def unary(f):
    return lambda a: {"y": canonical(f(a["x"]))}


def converts(f):
    return lambda a: {"y": f(a["x"])}


def hadamard(x, n):
    y = np.asarray(x, f32).reshape(-1, n) * f32(1 / np.sqrt(f64(n)))
    h = 1
    while h < n:
        y = y.reshape(-1, n // (2 * h), 2, h)
        y = np.stack([y[:, :, 0] + y[:, :, 1], y[:, :, 0] - y[:, :, 1]], axis=2)
        h *= 2
    return canonical(y.reshape(-1))


FUNCTIONS = {
    "exp2": unary(exp2),
    "tanh": unary(tanh),
    "log2": unary(log2),
    "fma": lambda a: {"y": canonical(fma(a["x"], a["y"], a["z"]))},
    "add": lambda a: {"y": canonical(a["x"] + a["y"])},
    "hadamard": lambda a: {"y": hadamard(a["x"], int(a["n"]))},
    "to_f16": converts(to_f16),
    "to_bf16": converts(to_bf16),
    "to_f8e4m3": converts(lambda x: narrow(x, 4, 3, 0x7F, 0x7E)),
    "to_f8e5m2": converts(lambda x: narrow(x, 5, 2, 0x7E, 0x7B)),
    "from_f16": unary(lambda x: x),
    "from_bf16": unary(lambda x: x),
    "from_f8e4m3": unary(lambda x: x),
    "from_f8e5m2": unary(lambda x: x),
    "quantize_int4": lambda a: dict(zip(("codes", "scales"), quantize_int4(a["x"], a["group"]))),
    "quantize_int8": lambda a: dict(zip(("codes", "scales"), quantize_int8(a["x"], a["group"]))),
    "philox": lambda a: {"words": np.array(philox(int(a["seed"]), [int(x) & 0xFFFFFFFF for x in a["counter"]]), np.uint32)},
}
