#!/usr/bin/env python3
"""Writes an adapter for a folder of make.py as the peft library saves it, with random numbers, and what PyTorch computes with it: in float64 beside the model, in
float32 merged into it. refs.json and refs.safetensors are those of make.py, for its texts, of a decoder or an encoder.

usage: lora.py DIR OUTDIR        needs: pip install peft, and what make.py needs
Patterns give some layers of a decoder another rank and another alpha.
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))
import shutil, peft
from safetensors.torch import load_file

dir, out = sys.argv[1:3]
refs = json.load(open(f"{dir}/refs.json")); decoder = refs["kind"] == "decoder"
cls = tf.AutoModelForCausalLM if decoder else tf.AutoModel
how = {"attn_implementation": "eager"} | ({"experts_implementation": "eager"} if "moe" in json.load(open(f"{dir}/config.json")).get("layers_block_type", []) else {})
load = lambda: cls.from_pretrained(dir, dtype=torch.float32, **how).eval()
OWN = {"nemotron_h": ["in_proj", "q_proj", "v_proj", "o_proj", "up_proj", "down_proj", "fc1_latent_proj", "fc2_latent_proj"],
       "embedding_gemma2": ["q_proj", "o_proj", "down_proj", "per_layer_input_gate", "per_layer_projection", "per_layer_model_projection", "embedding_projection"]}
config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=OWN[kind]) if (kind := refs["arch"].split("-")[0]) in OWN else peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "down_proj", "gate_proj", "lm_head"], rank_pattern={"down_proj": 2}, alpha_pattern={"layers.0.self_attn.q_proj": 3}, use_rslora=True, task_type="CAUSAL_LM") if decoder \
    else peft.LoraConfig(r=3, lora_alpha=5, target_modules=["query", "value", "intermediate.dense"], init_lora_weights="gaussian")
p = peft.get_peft_model(load(), config); g = torch.Generator().manual_seed(refs["seed"])
for n, x in p.named_parameters():
    if "lora_" in n: x.data = torch.randn(x.shape, generator=g) * .3
p.save_pretrained(out, save_embedding_layers=False)
os.path.exists(f"{out}/README.md") and os.remove(f"{out}/README.md")
c = json.load(open(f"{out}/adapter_config.json")); c["base_model_name_or_path"] = os.path.basename(os.path.abspath(dir))
for k in ("target_modules",): c[k] = sorted(c[k])
json.dump(c, open(f"{out}/adapter_config.json", "w"), indent=2)

m32 = peft.PeftModel.from_pretrained(load(), out).merge_and_unload().eval()
base = load()
with real64(): m64 = cls.from_config(base.config, **how).double().eval()
m64.load_state_dict(base.state_dict())
m64 = peft.PeftModel.from_pretrained(m64, out, autocast_adapter_dtype=False).double().eval()
tensors = {}
def put(name, f):
    with real64(): a = f(m64)
    b = f(m32).double(); assert a.dtype == torch.float64, name; tensors[name] = a.float().contiguous(); tensors[name + ".error"] = torch.tensor([(a - b).abs().max(), ((a - b) ** 2).mean().sqrt()]).float()
keep = 3; new = {"arch": refs["arch"], "kind": refs["kind"], "seed": refs["seed"], "texts": refs["texts"][:keep], "ids": refs["ids"][:keep], "greedy": []}
for i, ids in enumerate(new["ids"]):
    kw = {"input_ids": torch.tensor([ids])}
    if refs["arch"] != "embedding_gemma2": put(f"{i}.hidden", lambda q: states(q, **kw))
    if decoder:
        put(f"{i}.logits", lambda q: q(**kw).logits[0][-8:])
        with real64(): new["greedy"].append(greedy(m64, kw["input_ids"], 8))
    else: put(f"{i}.embedding", lambda q: pool(q(**kw).last_hidden_state[0], "mean" if refs["arch"] == "embedding_gemma2" else POOL[refs["seed"] % 5]))
if refs["arch"] == "bert": torch.save(load_file(f"{out}/adapter_model.safetensors"), f"{out}/adapter_model.bin")  # as peft writes without safetensors
json.dump(new, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors")
w = {n: x.shape for n, x in load_file(f"{out}/adapter_model.safetensors").items()}; print(out, len(w), "tensors", sorted(os.listdir(out)), next(iter(w)))
