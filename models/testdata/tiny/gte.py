#!/usr/bin/env python3
"""make.py for the model_type "new" of Alibaba-NLP (gte-base-en-v1.5, gte-multilingual-base and its reranker), which transformers does not have.

usage: gte.py ARCH SEED OUTDIR        `gte.py list` prints the architectures

The encoder below computes what modeling.py of Alibaba-NLP/new-impl does: BERT with norms after each part, rotary positions with NTK scaling,
queries, keys and values in one layer, and down(act(gate)·up), of which up comes first in up_gate_proj. Seeds change what make.py's do, and whether positions
rotate, are scaled, and q, k and v are packed.
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))
from torch import nn
import torch.nn.functional as F

class Config:
    def __init__(self, s, vocab):
        r = random.Random(s); c = enc(s); self.__dict__ = c | dict(vocab_size=vocab, model_type="new", architectures=["NewModel"], hidden_act=r.choice(["gelu", "silu"]), layer_norm_eps=1e-12, layer_norm_type="layer_norm",
            type_vocab_size=[1, 2, 0][s % 3], position_embedding_type="absolute" if s % 7 == 5 else "rope", rope_theta=r.choice([10000.0, 160000.0, 20000.0]), pack_qkv=s % 4 != 2,
            rope_scaling={"type": "ntk", "factor": r.choice([2.0, 8.0])} if s % 2 else None, logn_attention_scale=False, pad_token_id=0)

class Layer(nn.Module):
    def __init__(self, c):
        super().__init__(); w, n = c.hidden_size, c.intermediate_size; self.c = c; self.attention = nn.Module(); self.mlp = nn.Module()
        if c.pack_qkv: self.attention.qkv_proj = nn.Linear(w, 3 * w)
        else: self.attention.q_proj, self.attention.k_proj, self.attention.v_proj = (nn.Linear(w, w) for _ in range(3))
        self.attention.o_proj = nn.Linear(w, w); self.mlp.up_gate_proj = nn.Linear(w, 2 * n, bias=False); self.mlp.down_proj = nn.Linear(n, w)
        self.attn_ln, self.mlp_ln = nn.LayerNorm(w, eps=c.layer_norm_eps), nn.LayerNorm(w, eps=c.layer_norm_eps)
    def forward(self, x, rotate):
        a, h = self.attention, self.c.num_attention_heads; n, w = x.shape
        q, k, v = (y.view(n, h, w // h).transpose(0, 1) for y in (a.qkv_proj(x).split(w, -1) if self.c.pack_qkv else (a.q_proj(x), a.k_proj(x), a.v_proj(x))))
        q, k = rotate(q), rotate(k); p = torch.softmax(q @ k.transpose(1, 2) / (w // h) ** .5, -1)
        x = self.attn_ln(x + a.o_proj((p @ v).transpose(0, 1).reshape(n, w)))
        up, gate = self.mlp.up_gate_proj(x).split(self.c.intermediate_size, -1)
        return self.mlp_ln(x + self.mlp.down_proj((F.gelu if self.c.hidden_act == "gelu" else F.silu)(gate) * up))

class New(nn.Module):
    def __init__(self, c, reranker):
        super().__init__(); self.c = c; m = self.new = nn.Module(); e = m.embeddings = nn.Module(); m.encoder = nn.Module(); w = c.hidden_size
        e.word_embeddings = nn.Embedding(c.vocab_size, w); e.LayerNorm = nn.LayerNorm(w, eps=c.layer_norm_eps)
        if c.type_vocab_size: e.token_type_embeddings = nn.Embedding(c.type_vocab_size, w)
        if c.position_embedding_type == "absolute": e.position_embeddings = nn.Embedding(c.max_position_embeddings, w)
        m.encoder.layer = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        if reranker: m.pooler = nn.Module(); m.pooler.dense = nn.Linear(w, w); self.classifier = nn.Linear(w, 1)
    def rotation(self, n, dtype):
        c = self.c; d = c.hidden_size // c.num_attention_heads; f = (c.rope_scaling or {"factor": 1.0})["factor"]
        freq = (c.rope_theta * f) ** (-torch.arange(0, d, 2).double() / d) / f ** (2 / d); a = torch.outer(torch.arange(n).double(), freq); a = torch.cat([a, a], -1); cos, sin = a.cos().to(dtype), a.sin().to(dtype)
        return lambda x: x * cos + torch.cat([-x[..., d // 2:], x[..., :d // 2]], -1) * sin
    def forward(self, ids, types=None):
        e, c = self.new.embeddings, self.c; x = e.word_embeddings(ids)
        if c.type_vocab_size: x = x + e.token_type_embeddings(torch.zeros_like(ids) if types is None else types)
        if c.position_embedding_type == "absolute": x = x + e.position_embeddings(torch.arange(len(ids)))
        rotate = self.rotation(len(ids), x.dtype) if c.position_embedding_type == "rope" else lambda y: y
        x = e.LayerNorm(x); states = [x]
        for l in self.new.encoder.layer: x = l(x, rotate); states.append(x)
        return torch.stack(states)
    def score(self, ids, types): return self.classifier(torch.tanh(self.new.pooler.dense(self(ids, types)[-1][0])))

ARCHS = {"gte-new": "encoder", "reranker-gte-new": "reranker"}
def write(path, x):
    os.makedirs(os.path.dirname(path), exist_ok=True); json.dump(x, open(path, "w"), indent=1)

def main():
    if sys.argv[1] == "list": print(*ARCHS); return
    arch, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]; kind = ARCHS[arch]; reranker = kind == "reranker"
    os.makedirs(out, exist_ok=True); t = (unigram if reranker or seed % 2 == 0 else wordpiece)(); t.save_pretrained(out); torch.manual_seed(seed)
    c = Config(seed, len(t)); c.architectures = ["NewForSequenceClassification" if reranker else "NewModel"]; write(f"{out}/config.json", c.__dict__)
    m32 = New(c, reranker).eval(); g = torch.Generator().manual_seed(seed)
    for n, p in m32.named_parameters(): p.data = torch.randn(p.shape, generator=g) * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and ("ln" in n or "LayerNorm" in n) and "bias" not in n else 0.0)
    state = m32.state_dict(); save_file({n if reranker else n.removeprefix("new."): p.contiguous() for n, p in state.items()}, f"{out}/model.safetensors", metadata={"format": "pt"})
    m64 = New(c, reranker).eval().double(); m64.load_state_dict({n: p.double() for n, p in state.items()}); how = POOL[seed % 5]
    refs = {"arch": arch, "kind": kind, "seed": seed, "texts": TEXTS, "ids": []}; tensors = {}; pairs = [(TEXTS[0], TEXTS[i]) for i in (2, 4, 14)]
    if reranker: refs["pairs"] = pairs
    def put(name, f):
        a, b = f(m64), f(m32).double(); tensors[name] = a.float().contiguous(); tensors[name + ".error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
    for i, x in enumerate(pairs if reranker else TEXTS):
        e = t(*x, return_tensors="pt", truncation=True, max_length=128) if reranker else t(x, return_tensors="pt", truncation=True, max_length=128); ids = e["input_ids"][0]; refs["ids"].append(ids.tolist())
        if reranker: put(f"{i}.score", lambda q: q.score(ids, None)); continue
        put(f"{i}.hidden", lambda q: q(ids)); put(f"{i}.embedding", lambda q: pool(q(ids)[-1], how))
    if not reranker:
        refs["pooling"] = how; names = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "lasttoken": "lasttoken", "weightedmean": "weightedmean_tokens"}
        write(f"{out}/1_Pooling/config.json", {"word_embedding_dimension": c.hidden_size} | {"pooling_mode_" + n: k == how for k, n in names.items()})
        write(f"{out}/modules.json", [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + k} for i, (p, k) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])])
    json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors")
    worst = max(float(v[0]) for k, v in tensors.items() if k.endswith(".error")); print(f"{arch} seed {seed}: {sum(p.numel() for p in m32.parameters())} weights, {len(t)} tokens, {len(tensors) // 2} references, largest float32 error {worst:.2g}")
main()
