#!/usr/bin/env python3
"""Writes quantized.safetensors and quantized.json: for each case the tensors of a module of random weights as a quantizing
library saves them, the quantization_config, and the weights that its own function makes of the tensors, with scales as float32.
usage: quantized.py AWQ FOLDER, where AWQ is packing_utils.py of AutoAWQ 0.2.9 (needs torch, safetensors, compressed-tensors 0.20.1)"""
import importlib.util, json, sys
import torch
from safetensors.torch import save_file
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationScheme

spec = importlib.util.spec_from_file_location("awq", sys.argv[1])
awq = importlib.util.module_from_spec(spec)
spec.loader.exec_module(awq)

torch.manual_seed(1)
N, K = 16, 96
tensors, configs = {}, {}

def case(name, module, config, weight):
    assert torch.isfinite(weight).all() and weight.shape == (N, K), (name, weight.shape)
    for kind, x in module.items():
        tensors[f"{name}.{kind}"] = x.contiguous()
    tensors[f"{name}.wanted"] = weight.to(torch.float32).contiguous()
    configs[name] = config

def scales(*shape, dtype=torch.float32):
    return (torch.rand(*shape) * 0.02 + 0.001).to(dtype)

def float8():
    return (torch.randn(N, K) * 100).clamp(-448, 448).to(torch.float8_e4m3fn)

# DeepSeek's formula (weight_dequant of its kernel.py): each block of weights times its scale.
def blocks(w, s, rows, columns):
    return w.float() * s.float().repeat_interleave(rows, 0)[:N].repeat_interleave(columns, 1)[:, :K]

for name, rows, columns, config in (("fp8-blocks", 12, 64, dict(weight_block_size=[12, 64], fmt="e4m3")), ("fp8-tensor", N, K, dict(weight_block_size=None, activation_scheme="static"))):
    w, s = float8(), scales(-(-N // rows), -(-K // columns), dtype=torch.bfloat16)
    module = dict(weight=w, weight_scale_inv=s if name == "fp8-blocks" else s.reshape(1))
    if name == "fp8-tensor":
        module["activation_scale"] = scales(1)
    case(name, module, dict(quant_method="fp8", activation_scheme="dynamic") | config, blocks(w, s, rows, columns))

# compressed-tensors: its own compressors.
def compressed(name, form, weights, module):
    scheme = QuantizationScheme(targets=["Linear"], weights=weights)
    float32 = {k: v.float() if k == "weight_scale" else v for k, v in module.items()}
    weight = BaseCompressor.get_value_from_registry(form).decompress(float32, scheme)["weight"]
    config = dict(quant_method="compressed-tensors", format=form, quantization_status="compressed", ignore=["lm_head", "re:.*gate$"], kv_cache_scheme=None,
                  config_groups=dict(group_0=dict(targets=["Linear"], weights=dict(dynamic=False, observer="minmax") | weights, input_activations=None, output_activations=None)))
    case(name, module, config, weight)

def codes(bits, *shape):
    return torch.randint(-(1 << bits - 1), 1 << bits - 1, shape, dtype=torch.int8)

from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
int8 = dict(num_bits=8, type="int", symmetric=True)
float8_args = dict(num_bits=8, type="float", symmetric=True)
compressed("ct-fp8-channel", "float-quantized", float8_args | dict(strategy="channel"), dict(weight=float8(), weight_scale=scales(N, 1, dtype=torch.bfloat16)))
compressed("ct-fp8-tensor", "float-quantized", float8_args | dict(strategy="tensor"), dict(weight=float8(), weight_scale=scales(1)))
compressed("ct-fp8-block", "float-quantized", float8_args | dict(strategy="block", block_structure=[6, 32]), dict(weight=float8(), weight_scale=scales(3, 3, dtype=torch.bfloat16)))
compressed("ct-int8-channel", "int-quantized", int8 | dict(strategy="channel"), dict(weight=codes(8, N, K), weight_scale=scales(N, 1)))
compressed("ct-int8-half", "int-quantized", int8 | dict(strategy="tensor"), dict(weight=codes(8, N, K), weight_scale=scales(1, dtype=torch.float16)))
compressed("ct-int8-zeros", "int-quantized", int8 | dict(strategy="channel", symmetric=False), dict(weight=codes(8, N, K), weight_scale=scales(N, 1), weight_zero_point=codes(8, N, 1)))
for bits, size, zeros, dtype in ((4, 32, False, torch.bfloat16), (4, 32, True, torch.float16), (4, None, True, torch.float32), (8, 32, False, torch.float16), (2, 48, False, torch.float32)):
    groups = K // (size or K)
    args = dict(num_bits=bits, type="int", symmetric=not zeros, strategy="group" if size else "channel", group_size=size)
    module = dict(weight_packed=pack_to_int32(codes(bits, N, K), bits), weight_scale=scales(N, groups, dtype=dtype), weight_shape=torch.tensor([N, K]))
    if zeros:
        module["weight_zero_point"] = pack_to_int32(codes(bits, N, groups), bits, packed_dim=0)
    compressed(f"ct-pack{bits}-{size}-{'zeros-' if zeros else ''}{str(dtype)[6:]}", "pack-quantized", args, module)

def word(*shape):
    return torch.randint(-(1 << 31), 1 << 31, shape, dtype=torch.int64).to(torch.int32)

# GPTQ: the formula of QuantLinear of AutoGPTQ (nn_modules/qlinear/qlinear_cuda_old.py), scales[g_idx] * (weight - zeros[g_idx]),
# where zeros are those of the file, plus 1 in its first form, modulo 2^bits.
def gptq(name, bits, size, order=False, more=1, dtype=torch.float16):
    groups, shifts = K // size, torch.arange(0, 32, bits, dtype=torch.int32)
    module = dict(qweight=word(K * bits // 32, N), qzeros=word(groups, N * bits // 32), scales=scales(groups, N, dtype=dtype))
    module["g_idx"] = torch.arange(K, dtype=torch.int32) // size
    if order:
        module["g_idx"] = module["g_idx"][torch.randperm(K)]
    most, index = (1 << bits) - 1, module["g_idx"].long()
    zeros = ((module["qzeros"].unsqueeze(2) >> shifts) & most).reshape(groups, N) + more & most
    weight = ((module["qweight"].unsqueeze(1) >> shifts.unsqueeze(1)) & most).reshape(K, N)
    w = module["scales"].float()[index] * (weight - zeros[index]).float()
    case(name, module, dict(quant_method="gptq", bits=bits, group_size=size if size < K else -1, desc_act=order, sym=False, checkpoint_format="gptq" if more else "gptq_v2", damp_percent=0.1, true_sequential=True), w.T)

gptq("gptq-4", 4, 32)
gptq("gptq-4-order", 4, 32, order=True)
gptq("gptq-4-all", 4, K, more=0, dtype=torch.bfloat16)
gptq("gptq-8", 8, 48)
gptq("gptq-2", 2, 32, more=0)

# AWQ: dequantize_gemm of AutoAWQ.
module = dict(qweight=word(K, N // 8), qzeros=word(3, N // 8), scales=scales(3, N, dtype=torch.float16))
w = awq.dequantize_gemm(module["qweight"], module["qzeros"], module["scales"].float(), 4, 32)
case("awq", module, dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm", modules_to_not_convert=None), w.T)

save_file(tensors, sys.argv[2] + "/quantized.safetensors")
json.dump(configs, open(sys.argv[2] + "/quantized.json", "w"), indent=1)
