#!/usr/bin/env python3
"""What PyTorch makes of models/gobytes: the same model, the same greedy text, tokens/s.

usage: generate.py [THREADS] [PROMPT]      needs: pip install torch numpy safetensors
Keys and values are kept in a preallocated cache, as models/gobytes does; weights are widened to float32 once.
"""
import json, os, statistics, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/gobytes/data"))
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file
from train import Model

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/gobytes/data/gobytes.safetensors")


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Decoder:
    def __init__(self, model, cfg):
        self.m, self.c = model, cfg
        d = cfg["head_size"]
        f = cfg["rope_theta"] ** (-torch.arange(0, d // 2, dtype=torch.float64) * 2 / d)
        a = torch.arange(cfg["context"], dtype=torch.float64)[:, None] * f
        self.cos, self.sin = a.cos().float(), a.sin().float()
        shape = (cfg["layers"], 2, 1, cfg["kv_heads"], cfg["context"], d)
        self.cache, self.n = torch.zeros(shape), 0

    def forward(self, tokens):
        c, lo, hi = self.c, self.n, self.n + len(tokens)
        x = self.m.embed(torch.tensor([tokens]))
        cos, sin = self.cos[lo:hi], self.sin[lo:hi]
        for i, b in enumerate(self.m.blocks):
            y = b.attn_norm(x)
            split = lambda t, h: t.view(1, len(tokens), h, c["head_size"]).transpose(1, 2)
            k, v = self.cache[i]
            k[:, :, lo:hi], v[:, :, lo:hi] = turn(split(b.wk(y), c["kv_heads"]), cos, sin), split(b.wv(y), c["kv_heads"])
            q = turn(split(b.wq(y), c["heads"]), cos, sin)
            o = F.scaled_dot_product_attention(q, k[:, :, :hi], v[:, :, :hi], is_causal=lo == 0 and hi > 1, enable_gqa=True)
            x = x + b.wo(o.transpose(1, 2).reshape(1, len(tokens), -1))
            y = b.ffn_norm(x)
            x = x + b.w2(F.silu(b.w1(y)) * b.w3(y))
        self.n = hi
        return (self.m.norm(x[:, -1]) @ self.m.embed.weight.T)[0]


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    prompt = (sys.argv[2] if len(sys.argv) > 2 else "func ").encode()
    torch.set_num_threads(threads)
    cfg = json.loads(safe_open(PATH, "pt").metadata()["config"])
    model = Model(cfg)
    model.load_state_dict({k: t.float() for k, t in load_file(PATH).items()})
    rates = []
    with torch.inference_mode():
        for _ in range(6):
            d, text = Decoder(model, cfg), []
            logits = d.forward(list(prompt))
            start = time.perf_counter()
            for _ in range(240):
                text.append(int(logits.argmax()))
                logits = d.forward(text[-1:])
            rates.append(240 / (time.perf_counter() - start))
    print((prompt + bytes(text)).decode("latin1"))
    print(f"PyTorch {torch.__version__}, {threads} threads: {statistics.median(rates[1:]):.0f} tokens/s (median of 5)", file=sys.stderr)


main()
