#!/usr/bin/env python3
"""make.py for models of late interaction whose queries are filled up with mask tokens, with a prefix, and of whose documents some tokens have no vector,
as PyLate has it. Queries see no mask tokens.

usage: late.py SEED OUTDIR

refs.json has "queries": true, texts and their ids as queries without mask tokens, and "pairs"; refs.safetensors "i.vectors" of queries with mask tokens, and "i.maxsim".
"""
import os, sys
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))
from safetensors.torch import load_file

seed, out = sys.argv[1], sys.argv[2]; sys.argv[1:] = ["colbert", seed, out]; main()
n, prefix, skip = 24, "the", ["."]
t = tf.AutoTokenizer.from_pretrained(out); dense = load_file(f"{out}/1_Dense/model.safetensors")["linear.weight"]
m32 = tf.BertModel.from_pretrained(out, attn_implementation="eager").eval(); m64 = tf.BertModel(m32.config)
with real64(): m64 = tf.BertModel._from_config(m32.config, attn_implementation="eager").double().eval()
m64.load_state_dict(m32.state_dict())
def unit(x): return x / x.norm(dim=-1, keepdim=True)
def ids(text): x = t(text, truncation=True, max_length=n - 1)["input_ids"]; return x[:1] + [t.convert_tokens_to_ids(prefix)] + x[1:]
def vectors(q, x, mask): return unit(q(input_ids=torch.tensor([x]), attention_mask=torch.tensor([mask])).last_hidden_state[0] @ dense.to(q.dtype).T)
def query(q, text): x = ids(text); k = len(x); return vectors(q, x + [t.mask_token_id] * (n - k), [1] * k + [0] * (n - k))
def document(q, text): x = t(text, truncation=True, max_length=40)["input_ids"]; v = vectors(q, x, [1] * len(x)); return v[[i for i, y in enumerate(x) if y not in t.convert_tokens_to_ids(skip)]]
tensors = {}
def put(name, f):
    with real64(): a = f(m64)
    b = f(m32).double(); assert a.dtype == torch.float64; tensors[name] = a.float().contiguous(); tensors[name + ".error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
texts = [TEXTS[i] for i in (0, 1, 3, 6, 8)]; pairs = [(TEXTS[0], TEXTS[i]) for i in (2, 4, 14)]
for i, x in enumerate(texts): put(f"{i}.vectors", lambda q: query(q, x))
for i, (a, b) in enumerate(pairs): put(f"{i}.maxsim", lambda q: (query(q, a) @ document(q, b).T).max(1).values.sum(0, keepdim=True))
refs = {"arch": "colbert", "kind": "multivector", "queries": True, "seed": int(seed), "texts": texts, "ids": [ids(x) for x in texts], "pairs": pairs}
json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors")
name = f"{out}/config_sentence_transformers.json"; c = json.load(open(name)) | {"query_prefix": prefix, "query_length": n, "document_length": 40, "do_query_expansion": True, "skiplist_words": skip}; json.dump(c, open(name, "w"), indent=1)
