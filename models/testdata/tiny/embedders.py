#!/usr/bin/env python3
"""make.py for models of embeddings that it does not have: EmbeddingGemma, with its Dense modules and prompts.

usage: embedders.py ARCH SEED OUTDIR        `embedders.py list` prints the architectures
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))

def around():
    t = spbpe(); t.backend_tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A <eos>", pair="<bos> $A <eos> $B:1 <eos>:1", special_tokens=[("<bos>", 2), ("<eos>", 1)])
    return t
def gemma(s, v): return tf.Gemma3TextConfig(vocab_size=v, sliding_window=16, query_pre_attn_scalar=24, use_bidirectional_attention=True, sliding_window_pattern=2, **dec(s))
ARCHS = {"embeddinggemma": ("embedder", around, gemma, tf.Gemma3TextModel)}

def write(path, x):
    os.makedirs(os.path.dirname(path), exist_ok=True); json.dump(x, open(path, "w"), indent=1)

def main():
    if sys.argv[1] == "list": print(*ARCHS); return
    arch, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]; kind, tok, conf, cls = ARCHS[arch]
    os.makedirs(out, exist_ok=True); t = tok(); t.save_pretrained(out); torch.manual_seed(seed)
    c = conf(seed, len(t)); c._attn_implementation = "eager"; m = cls(c).eval().float(); g = torch.Generator().manual_seed(seed)
    for n, p in m.named_parameters(): p.data = torch.randn(p.shape, generator=g) * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1)
    m.save_pretrained(out); eager = {"attn_implementation": "eager"}
    m64, m32 = cls.from_pretrained(out, dtype=torch.float64, **eager).eval(), cls.from_pretrained(out, dtype=torch.float32, **eager).eval()
    wide = 2 * c.hidden_size + 3; dense = [torch.randn(shape, generator=g) / shape[1] ** .5 for shape in ((wide, c.hidden_size), (c.hidden_size, wide))]
    for i, w in enumerate(dense):
        write(f"{out}/{i + 2}_Dense/config.json", {"in_features": w.shape[1], "out_features": w.shape[0], "bias": False, "activation_function": "torch.nn.modules.linear.Identity"})
        save_file({"linear.weight": w.contiguous()}, f"{out}/{i + 2}_Dense/model.safetensors")
    write(f"{out}/1_Pooling/config.json", {"word_embedding_dimension": c.hidden_size, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "include_prompt": True})
    write(f"{out}/modules.json", [{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + k} for i, (p, k) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Dense", "Dense"), ("4_Normalize", "Normalize")])])
    write(f"{out}/sentence_bert_config.json", {"max_seq_length": 128, "do_lower_case": False})
    write(f"{out}/config_sentence_transformers.json", {"prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    refs = {"arch": arch, "kind": kind, "seed": seed, "pooling": "mean", "texts": TEXTS, "ids": []}; tensors = {}
    def vector(h):
        e = h.mean(0)
        for w in dense: e = w.to(e.dtype) @ e
        return e / e.norm()
    def put(name, f):
        a, b = f(m64), f(m32).double(); tensors[name] = a.float().contiguous(); tensors[name + ".error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
    for i, x in enumerate(TEXTS):
        ids = t(x, return_tensors="pt", truncation=True, max_length=128)["input_ids"]; refs["ids"].append(ids[0].tolist())
        put(f"{i}.hidden", lambda q: torch.stack(q(input_ids=ids, output_hidden_states=True).hidden_states)[:, 0]); put(f"{i}.embedding", lambda q: vector(q(input_ids=ids).last_hidden_state[0]))
    json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors")
    worst = max(float(v[0]) for k, v in tensors.items() if k.endswith(".error")); print(f"{arch} seed {seed}: {sum(p.numel() for p in m.parameters())} weights, {len(t)} tokens, {len(tensors) // 2} references, largest float32 error {worst:.2g}")
main()
