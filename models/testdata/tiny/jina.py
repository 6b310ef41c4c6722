#!/usr/bin/env python3
"""make.py for JinaBERT (jina-embeddings-v2-base-en, jina-reranker-v1-turbo-en), whose code is not in transformers: its model_type is bert.

usage: jina.py ARCH SEED OUTDIR        `jina.py list` prints the architectures

The encoder below computes what modeling_bert.py of jinaai/jina-bert-implementation does: BERT with norms after each part, without positions but
ALiBi to both sides, and wo(act(gate)·up), of which the gate comes first in gated_layers. Seeds change what make.py's do, and the activation.
"""
import os, math
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))
from torch import nn
import torch.nn.functional as F

class Config:
    def __init__(self, s, vocab):
        self.__dict__ = enc(s) | dict(vocab_size=vocab, model_type="bert", architectures=["JinaBertModel"], hidden_act="gelu", layer_norm_eps=1e-12, type_vocab_size=2, pad_token_id=0,
            position_embedding_type="alibi", feed_forward_type="reglu" if s % 5 == 2 else "geglu", emb_pooler="mean", attn_implementation="torch", model_max_length=160)

def slopes(n):
    def power(n): start = 2 ** (-(2 ** -(math.log2(n) - 3))); return [start * start ** i for i in range(n)]
    if math.log2(n).is_integer(): return power(n)
    low = 2 ** math.floor(math.log2(n)); return power(low) + slopes(2 * low)[0::2][: n - low]

class Layer(nn.Module):
    def __init__(self, c):
        super().__init__(); w, n = c.hidden_size, c.intermediate_size; self.c = c; a = self.attention = nn.Module(); s = nn.Module(); a.add_module("self", s); a.output = nn.Module(); m = self.mlp = nn.Module()
        s.query, s.key, s.value, a.output.dense = (nn.Linear(w, w) for _ in range(4)); a.output.LayerNorm = nn.LayerNorm(w, eps=c.layer_norm_eps)
        m.gated_layers, m.wo, m.layernorm = nn.Linear(w, 2 * n, bias=False), nn.Linear(n, w), nn.LayerNorm(w, eps=c.layer_norm_eps)
    def forward(self, x):
        a, h = self.attention, self.c.num_attention_heads; n, w = x.shape; s = getattr(a, "self")
        q, k, v = (l(x).view(n, h, w // h).transpose(0, 1) for l in (s.query, s.key, s.value)); i = torch.arange(n)
        bias = torch.tensor(slopes(h), dtype=x.dtype)[:, None, None] * -(i[:, None] - i[None]).abs().to(x.dtype)
        p = torch.softmax(q @ k.transpose(1, 2) / (w // h) ** .5 + bias, -1); x = a.output.LayerNorm(x + a.output.dense((p @ v).transpose(0, 1).reshape(n, w)))
        gate, up = self.mlp.gated_layers(x).split(self.c.intermediate_size, -1); return self.mlp.layernorm(x + self.mlp.wo((F.gelu if self.c.feed_forward_type == "geglu" else F.relu)(gate) * up))

class Jina(nn.Module):
    def __init__(self, c, reranker):
        super().__init__(); m = self.bert = nn.Module(); e = m.embeddings = nn.Module(); m.encoder = nn.Module(); w = c.hidden_size
        e.word_embeddings, e.token_type_embeddings, e.LayerNorm = nn.Embedding(c.vocab_size, w), nn.Embedding(c.type_vocab_size, w), nn.LayerNorm(w, eps=c.layer_norm_eps)
        m.encoder.layer = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        if reranker: m.pooler = nn.Module(); m.pooler.dense = nn.Linear(w, w); self.classifier = nn.Linear(w, 1)
    def forward(self, ids, types=None):
        e = self.bert.embeddings; x = e.LayerNorm(e.word_embeddings(ids) + e.token_type_embeddings(torch.zeros_like(ids) if types is None else types)); states = [x]
        for l in self.bert.encoder.layer: x = l(x); states.append(x)
        return torch.stack(states)
    def score(self, ids, types): return self.classifier(torch.tanh(self.bert.pooler.dense(self(ids, types)[-1][0])))

ARCHS = {"jina-bert": "encoder", "reranker-jina-bert": "reranker"}
def write(path, x):
    os.makedirs(os.path.dirname(path), exist_ok=True); json.dump(x, open(path, "w"), indent=1)

def main():
    if sys.argv[1] == "list": print(*ARCHS); return
    arch, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]; kind = ARCHS[arch]; reranker = kind == "reranker"
    os.makedirs(out, exist_ok=True); t = wordpiece(); t.save_pretrained(out); torch.manual_seed(seed)
    c = Config(seed, len(t)); c.architectures = ["JinaBertForSequenceClassification" if reranker else "JinaBertModel"]; write(f"{out}/config.json", c.__dict__)
    m32 = Jina(c, reranker).eval(); g = torch.Generator().manual_seed(seed)
    for n, p in m32.named_parameters(): p.data = torch.randn(p.shape, generator=g) * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and ("layernorm" in n.lower()) and "bias" not in n else 0.0)
    state = m32.state_dict(); save_file({n if reranker else n.removeprefix("bert."): p.contiguous() for n, p in state.items()}, f"{out}/model.safetensors", metadata={"format": "pt"})
    m64 = Jina(c, reranker).eval().double(); m64.load_state_dict({n: p.double() for n, p in state.items()}); how = POOL[seed % 5]
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
