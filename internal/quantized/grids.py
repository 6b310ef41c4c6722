#!/usr/bin/env python3
"""Writes grids.bin: the codebooks of IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S and IQ1_S of ggml, as the gguf package of the
ggml project packs them, one after the other: 16 bits for each row. usage: grids.py > grids.bin (needs gguf 0.19.0)"""
import sys
from gguf import quants as q

for kind in (q.IQ2_XXS, q.IQ2_XS, q.IQ2_S, q.IQ3_XXS, q.IQ3_S, q.IQ1_S):
    rows = bytes.fromhex(kind.grid_hex.decode())
    assert len(rows) == 2 * kind.grid_shape[0]
    sys.stdout.buffer.write(rows)
