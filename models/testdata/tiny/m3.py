#!/usr/bin/env python3
"""make.py for bge-m3: XLM-RoBERTa with sparse_linear.pt, a layer of one output in half precision, and colbert_linear.pt, one of 12, as torch.save writes them.

usage: m3.py SEED OUTDIR

refs.json also has "sparse", for each text the ids of the tokens that have a weight, ascending, and refs.safetensors "i.sparse", their weights: as
FlagEmbedding's encode(return_sparse=True) has them, relu(sparse_linear(last hidden state)), the largest of equal tokens, without <s>, </s>, <pad> and <unk>. "i.vectors" are
those of tokens, as return_colbert_vecs=True has them: colbert_linear(last hidden state) of all tokens but the first one, divided by the L2 norms.
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))

def m3():
    seed, out = int(sys.argv[1]), sys.argv[2]; sys.argv = ["make.py", "xlm-roberta", str(seed), out]; main()
    refs = json.load(open(f"{out}/refs.json")); refs["arch"] = "bge-m3"; refs["sparse"] = []
    from safetensors.torch import load_file
    tensors = load_file(f"{out}/refs.safetensors"); t = tf.AutoTokenizer.from_pretrained(out); models = [tf.XLMRobertaModel.from_pretrained(out, dtype=d, attn_implementation="eager").eval() for d in (torch.float64, torch.float32)]
    g = torch.Generator().manual_seed(seed); w = models[0].config.hidden_size; head = torch.nn.Linear(w, 1)
    head.weight.data = torch.randn(1, w, generator=g) * (0.6 / w ** .5); head.bias.data = torch.randn(1, generator=g) * 0.1; head = head.half(); torch.save(head.state_dict(), f"{out}/sparse_linear.pt")
    heads = [torch.nn.Linear(w, 1).to(d) for d in (torch.float64, torch.float32)]
    for h in heads: h.load_state_dict(head.state_dict())
    many = torch.nn.Linear(w, 12); many.weight.data = torch.randn(12, w, generator=g) / w ** .5; many.bias.data = torch.randn(12, generator=g) * 0.1; many = many.half(); torch.save(many.state_dict(), f"{out}/colbert_linear.pt")
    rows = [torch.nn.Linear(w, 12).to(d) for d in (torch.float64, torch.float32)]
    for h in rows: h.load_state_dict(many.state_dict())
    unused = {t.cls_token_id, t.eos_token_id, t.pad_token_id, t.unk_token_id}
    for i, ids in enumerate(refs["ids"]):
        a, b = (torch.relu(h(m(input_ids=torch.tensor([ids])).last_hidden_state))[0, :, 0].double() for m, h in zip(models, heads))
        best = lambda x: {k: max(float(x[j]) for j, y in enumerate(ids) if y == k) for k in sorted(set(ids) - unused)}
        x, y = best(a), best(b); keep = [k for k in x if x[k] > 0]; assert keep == [k for k in y if y[k] > 0]; refs["sparse"].append(keep)
        a, b = (torch.nn.functional.normalize(h(m(input_ids=torch.tensor([ids])).last_hidden_state[0, 1:]), dim=-1).double() for m, h in zip(models, rows))
        tensors[f"{i}.vectors"] = a.float().contiguous(); tensors[f"{i}.vectors.error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
        a, b = (torch.tensor([z[k] for k in keep], dtype=torch.float64) for z in (x, y)); tensors[f"{i}.sparse"] = a.float(); tensors[f"{i}.sparse.error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
    json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors"); print("sparse:", *map(len, refs["sparse"]))
m3()
