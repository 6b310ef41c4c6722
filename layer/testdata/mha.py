#!/usr/bin/env python3
"""Writes mha.json: what PyTorch's nn.MultiheadAttention computes, in float64, with
weights and inputs that are multiples of 2^-8. usage: mha.py > mha.json"""
import json, random
import torch

torch.set_default_dtype(torch.float64)
r = random.Random(1)
def numbers(*shape):
    n = 1
    for s in shape: n *= s
    return torch.tensor([r.randrange(-256, 257) / 256 for _ in range(n)]).reshape(shape)

def case(name, embed, heads, kdim=None, vdim=None, bias=True, queries=3, keys=4, batch=2, padding=None, look_ahead=False):
    m = torch.nn.MultiheadAttention(embed, heads, bias=bias, kdim=kdim, vdim=vdim, batch_first=True)
    with torch.no_grad():
        for p in m.parameters(): p.copy_(numbers(*p.shape))
    q, k, v = numbers(batch, queries, embed), numbers(batch, keys, kdim or embed), numbers(batch, keys, vdim or embed)
    mask = torch.triu(torch.ones(queries, keys, dtype=torch.bool), 1) if look_ahead else None
    pad = torch.tensor(padding, dtype=torch.bool) if padding else None
    y, w = m(q, k, v, key_padding_mask=pad, attn_mask=mask, average_attn_weights=False)
    return dict(name=name, embed=embed, heads=heads, padding=padding, look_ahead=look_ahead,
                state={n: dict(shape=list(p.shape), data=p.flatten().tolist()) for n, p in m.state_dict().items()},
                **{n: dict(shape=list(t.shape), data=t.flatten().tolist()) for n, t in dict(query=q, key=k, value=v, out=y, weights=w).items()})

print(json.dumps([
    case("packed", 6, 2),
    case("packed, no bias, look-ahead", 4, 4, bias=False, queries=5, keys=5, look_ahead=True),
    case("separate, padding", 6, 3, kdim=5, vdim=7, padding=[[0, 0, 1, 1], [1, 0, 0, 0]]),
]))
