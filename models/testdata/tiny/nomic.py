#!/usr/bin/env python3
"""make.py for nomic-embed-text-v2-moe, whose code is not in transformers: its model_type is nomic_bert, and its keys are those of nomic-ai.

usage: nomic.py nomic-moe SEED OUTDIR

The encoder below computes what modeling_hf_nomic_bert.py of nomic-ai/nomic-bert-2048 does with experts: BERT with norms after each part, rotations of halves,
biases, GELU, and in every second layer experts without biases. A token has those with the largest softmax of scores, times that softmax, and a vector is added to their sum.
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("if __name__ == \"__main__\": ").removesuffix("main()"))
from torch import nn
import torch.nn.functional as F

class Config:
    def __init__(self, s, vocab):
        e = enc(s); self.__dict__ = dict(model_type="nomic_bert", architectures=["NomicBertModel"], vocab_size=vocab, n_embd=e["hidden_size"], n_inner=e["intermediate_size"], n_layer=4, n_head=e["num_attention_heads"], n_positions=160,
            layer_norm_epsilon=1e-5, activation_function="gelu", type_vocab_size=1, rotary_emb_base=10000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_scaling_factor=None, prenorm=False, causal=False,
            use_rms_norm=None, qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, num_experts=5, moe_every_n_layers=2, moe_top_k=2, moe_normalize_expert_weights=False, moe_impl="megablocks", moe_resid_pdrop=0.0, num_shared_experts=0,
            expert_choice_router=False, ffn_div=1, router_aux_loss_coef=.1, add_pooling_layer=False, pad_token_id=0, max_trained_positions=2048, scale_attn_weights=True)

class Layer(nn.Module):
    def __init__(self, c, i):
        super().__init__(); w, n, self.c = c.n_embd, c.n_inner, c; a = self.attn = nn.Module(); m = self.mlp = nn.Module(); self.moe = i % c.moe_every_n_layers == 1
        a.Wqkv, a.out_proj, self.norm1, self.norm2 = nn.Linear(w, 3 * w), nn.Linear(w, w), nn.LayerNorm(w, eps=c.layer_norm_epsilon), nn.LayerNorm(w, eps=c.layer_norm_epsilon)
        if not self.moe: m.fc1, m.fc2 = nn.Linear(w, n), nn.Linear(n, w); return
        m.router, m.experts = nn.Module(), nn.Module(); m.router.layer = nn.Linear(w, c.num_experts, bias=False); m.experts.mlp = nn.Module(); m.experts.bias = nn.Parameter(torch.zeros(w))
        m.experts.mlp.w1, m.experts.mlp.w2 = (nn.Parameter(torch.zeros(c.num_experts * n, w)) for _ in range(2))
    def turn(self, x):
        d = x.shape[-1]; f = torch.arange(x.shape[1], dtype=x.dtype)[:, None] / self.c.rotary_emb_base ** (torch.arange(0, d, 2, dtype=x.dtype) / d); f = torch.cat([f, f], -1); a, b = x.chunk(2, -1)
        return x * f.cos() + torch.cat([-b, a], -1) * f.sin()
    def feed(self, x):
        m, c = self.mlp, self.c
        if not self.moe: return m.fc2(F.gelu(m.fc1(x)))
        share, chosen = m.router.layer(x).softmax(-1).topk(c.moe_top_k, -1); w1, w2 = (w.view(c.num_experts, c.n_inner, c.n_embd) for w in (m.experts.mlp.w1, m.experts.mlp.w2))
        return torch.stack([sum(s * (F.gelu(w1[e] @ y) @ w2[e]) for s, e in zip(share[i], chosen[i])) for i, y in enumerate(x)]) + m.experts.bias
    def forward(self, x):
        n, w = x.shape; h = self.c.n_head; q, k, v = self.attn.Wqkv(x).view(n, 3, h, w // h).permute(1, 2, 0, 3); q, k = self.turn(q), self.turn(k)
        p = torch.softmax(q @ k.transpose(1, 2) / (w // h) ** .5, -1); x = self.norm1(x + self.attn.out_proj((p @ v).transpose(0, 1).reshape(n, w))); return self.norm2(x + self.feed(x))

class Nomic(nn.Module):
    def __init__(self, c):
        super().__init__(); e, w = nn.Module(), c.n_embd; self.embeddings, self.encoder = e, nn.Module(); e.word_embeddings, e.token_type_embeddings, self.emb_ln = nn.Embedding(c.vocab_size, w), nn.Embedding(1, w), nn.LayerNorm(w, eps=c.layer_norm_epsilon)
        self.encoder.layers = nn.ModuleList(Layer(c, i) for i in range(c.n_layer))
    def forward(self, ids):
        e = self.embeddings; x = self.emb_ln(e.word_embeddings(ids) + e.token_type_embeddings(torch.zeros_like(ids))); states = [x]
        for l in self.encoder.layers: x = l(x); states.append(x)
        return torch.stack(states)

def write(path, x):
    os.makedirs(os.path.dirname(path), exist_ok=True); json.dump(x, open(path, "w"), indent=1)

def main():
    arch, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]; os.makedirs(out, exist_ok=True); t = wordpiece(); t.save_pretrained(out); torch.manual_seed(seed)
    c = Config(seed, len(t)); write(f"{out}/config.json", c.__dict__); m32 = Nomic(c).eval(); g = torch.Generator().manual_seed(seed)
    for n, p in m32.named_parameters(): p.data = torch.randn(p.shape, generator=g) * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and ("norm" in n or "emb_ln" in n) and "bias" not in n else 0.0)
    state = m32.state_dict(); save_file({n: p.contiguous() for n, p in state.items()}, f"{out}/model.safetensors", metadata={"format": "pt"}); m64 = Nomic(c).eval().double(); m64.load_state_dict({n: p.double() for n, p in state.items()}); how = POOL[seed % 5]
    refs = {"arch": arch, "kind": "encoder", "seed": seed, "texts": TEXTS, "ids": [], "pooling": how}; tensors = {}
    def put(name, f):
        a, b = f(m64), f(m32).double(); tensors[name] = a.float().contiguous(); tensors[name + ".error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
    with torch.no_grad():
        for i, x in enumerate(TEXTS): ids = t(x, return_tensors="pt", truncation=True, max_length=128)["input_ids"][0]; refs["ids"].append(ids.tolist()); put(f"{i}.hidden", lambda q: q(ids)); put(f"{i}.embedding", lambda q: pool(q(ids)[-1], how))
    names = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "lasttoken": "lasttoken", "weightedmean": "weightedmean_tokens"}
    write(f"{out}/1_Pooling/config.json", {"word_embedding_dimension": c.n_embd} | {"pooling_mode_" + n: k == how for k, n in names.items()})
    write(f"{out}/modules.json", [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + k} for i, (p, k) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])])
    json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors")
    worst = max(float(v[0]) for k, v in tensors.items() if k.endswith(".error")); print(f"{arch} seed {seed}: {sum(p.numel() for p in m32.parameters())} weights, {len(t)} tokens, {len(tensors) // 2} references, largest float32 error {worst:.2g}")
main()
