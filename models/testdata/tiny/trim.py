#!/usr/bin/env python3
"""Keeps the references of some texts of a folder that make.py has made, so that it is small enough to be committed.

usage: trim.py DIR [TEXT...]      TEXT: numbers of texts, by default 0 1 3 6 8; needs pip install safetensors numpy
"""
import json, sys
from safetensors.numpy import load_file, save_file

folder, keep = sys.argv[1], [int(i) for i in sys.argv[2:]] or [0, 1, 3, 6, 8]
path = f"{folder}/refs.json"
refs = json.load(open(path))
for key in ("texts", "ids", "greedy", "sparse"):
    if refs.get(key): refs[key] = [refs[key][i] for i in keep]
json.dump(refs, open(path, "w"), ensure_ascii=False)
tensors = load_file(f"{folder}/refs.safetensors")
kept = {f"{new}.{name.split('.', 1)[1]}": x for name, x in tensors.items() for new, old in enumerate(keep) if name.split(".")[0] == str(old)}
save_file(kept, f"{folder}/refs.safetensors")
