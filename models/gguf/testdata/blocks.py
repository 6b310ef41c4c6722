#!/usr/bin/env python3
"""Writes blocks.safetensors: for each type random blocks, and what gguf.quants.dequantize of
the ggml project's gguf package makes of them. The scales in binary16 are random too, but
finite. usage: blocks.py > blocks.safetensors (needs gguf 0.19.0)"""
import json, struct, sys
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize

BYTES = 600  # about, for each type

# Where the numbers in binary16 lie in a block.
HALVES = {T.F16: [0], T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q2_K: [80, 82],
          T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.F32: [], T.BF16: [],
          T.IQ4_NL: [0], T.MXFP4: [], T.NVFP4: [], T.IQ4_XS: [0], T.IQ3_S: [0], T.IQ3_XXS: [0], T.IQ2_XXS: [0],
          T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ1_S: [0], T.IQ1_M: [], T.TQ1_0: [52], T.TQ2_0: [64]}

def blocks(r, kind):
    size = GGML_QUANT_SIZES[kind][1]
    b = r.integers(0, 256, (max(2, BYTES // size), size), dtype=np.uint8)
    for at in HALVES[kind]:
        while (bad := (b[:, at + 1] & 0x7c) == 0x7c).any():  # infinite or a NaN
            b[bad, at + 1] = r.integers(0, 256, bad.sum(), dtype=np.uint8)
    if kind == T.MXFP4:  # scales that are binary16, too
        b[:, 0] = r.integers(104, 144, len(b))
    if kind == T.NVFP4:  # scales without a sign, and no NaN
        b[:, :4] = r.integers(0, 127, (len(b), 4))
    if kind == T.IQ1_M:  # d is in the upper halves of 4 bytes
        b[:, 55] &= 0xbf
    if kind in (T.F32, T.BF16):
        b[:, -1] &= 0xbf  # finite
    return b

r = np.random.default_rng(1)
tensors = {}
for kind in HALVES:
    b = blocks(r, kind)
    x = dequantize(b, kind).astype("<f4").ravel()
    assert np.isfinite(x).all()
    tensors[kind.name + ".blocks"] = "U8", b.ravel()
    tensors[kind.name + ".floats"] = "F32", x

header, data = {}, b""
for name, (dtype, x) in tensors.items():
    header[name] = dict(dtype=dtype, shape=list(x.shape), data_offsets=[len(data), len(data) + x.nbytes])
    data += x.tobytes()
header = json.dumps(header).encode()
sys.stdout.buffer.write(struct.pack("<Q", len(header)) + header + data)
