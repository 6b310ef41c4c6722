#!/usr/bin/env python3
"""Writes tiny.gguf with the gguf package of the ggml project (0.19.0): a few metadata, a
matrix in F32 and one in Q8_0. usage: tiny.py"""
import pathlib
import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

w = GGUFWriter(pathlib.Path(__file__).parent / "tiny.gguf", "llama")
w.add_name("tiny")
w.add_block_count(2)
w.add_layer_norm_rms_eps(2**-17)
w.add_token_list(["<s>", "a", "Ġthe"])
w.add_token_types([3, 1, 1])
w.add_tensor("output_norm.weight", np.array([1, 0.5, -2], np.float32))
x = np.arange(64, dtype=np.float32).reshape(2, 32) - 31
w.add_tensor("token_embd.weight", quantize(x, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
