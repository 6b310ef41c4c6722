#!/usr/bin/env python3
"""Writes a folder of make.py or embedders.py as a GGUF file with weights of float32, with the keys and names of llama.cpp's convert_hf_to_gguf.py.

usage: gguf.py DIR FILE.gguf        needs: pip install gguf safetensors numpy
The folder is of bert, JinaBERT, xlm-roberta or nomic_bert (with experts, too), a reranker of the first two, qwen3-embedding, reranker-qwen3-reranker or embeddinggemma.
"""
import json, os, re, sys
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]  # this file has the name of the package
import gguf, numpy as np
from safetensors.numpy import load_file

dir, out = sys.argv[1:3]
read = lambda name: json.load(open(os.path.join(dir, name)))
c, tok = read("config.json"), read("tokenizer.json")
tensors = load_file(f"{dir}/model.safetensors")
kind, every = c["model_type"], c.get("moe_every_n_layers", 0)
if "n_embd" in c: c |= dict(hidden_size=c["n_embd"], intermediate_size=c["n_inner"], num_hidden_layers=c["n_layer"], num_attention_heads=c["n_head"], max_position_embeddings=c["n_positions"], layer_norm_eps=c["layer_norm_epsilon"], rope_parameters={"rope_theta": c["rotary_emb_base"]})
arch = {"bert": "bert", "xlm-roberta": "bert", "nomic_bert": "nomic-bert", "qwen3": "qwen3", "gemma3_text": "gemma-embedding"}[kind]
if c.get("position_embedding_type") == "alibi": arch = "jina-bert-v2"
if every: arch = "nomic-bert-moe"
w = gguf.GGUFWriter(out, arch)
w.add_name(os.path.basename(os.path.abspath(dir)))
w.add_block_count(c["num_hidden_layers"]); w.add_embedding_length(c["hidden_size"]); w.add_feed_forward_length(c["intermediate_size"]); w.add_head_count(c["num_attention_heads"])
answers = os.path.exists(f"{dir}/README.md") and "# Qwen3-Reranker" in open(f"{dir}/README.md").read()
ranks = answers or any(n.startswith("classifier.") for n in tensors)
if answers:  # the rows of yes and no are the classifier, and the rest of the output matrix is left out
    out_matrix = tensors.pop("lm_head.weight", None); out_matrix = tensors["model.embed_tokens.weight"] if out_matrix is None else out_matrix
    tensors["cls.output.weight"] = out_matrix[[tok["model"]["vocab"][x] for x in ("yes", "no")]]
    w.add_classifier_output_labels(["yes", "no"])
    w.add_chat_template([{"name": "rerank", "template": "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
        "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"}])

# Poolings.
POOL = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS, "lasttoken": gguf.PoolingType.LAST}
if ranks: w.add_pooling_type(gguf.PoolingType.RANK)
else:
    p = read("1_Pooling/config.json"); how = next(k for k in ("mean", "cls", "lasttoken") if p.get(f"pooling_mode_{k}{'' if k == 'lasttoken' else '_token' + ('s' if k == 'mean' else '')}") or p.get("pooling_mode") == k) if not p.get("pooling_mode_weightedmean_tokens") else "mean"  # which these files do not have
    w.add_pooling_type(POOL[how])

# Sizes and names.
offset = c["pad_token_id"] + 1 if kind == "xlm-roberta" else 0
w.add_context_length(c["max_position_embeddings"] - offset)
if every: w.add_moe_every_n_layers(every); w.add_expert_count(c["num_experts"]); w.add_expert_used_count(c["moe_top_k"])
if arch in ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2"):
    w.add_causal_attention(False); w.add_layer_norm_eps(c["layer_norm_eps"])
    if arch.startswith("nomic-bert"): w.add_rope_freq_base(c["rope_parameters"]["rope_theta"])
else:
    w.add_head_count_kv(c["num_key_value_heads"]); w.add_key_length(c["head_dim"]); w.add_value_length(c["head_dim"]); w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    r = c["rope_parameters"]; w.add_rope_freq_base(r.get("full_attention", r)["rope_theta"])
    if kind == "gemma3_text":  # whose published models have heads of query_pre_attn_scalar numbers, and every sixth layer sees all
        w.add_sliding_window(c["sliding_window"]); w.add_attention_scale(c["query_pre_attn_scalar"] ** -.5); w.add_sliding_window_pattern(c["layer_types"].index("full_attention") + 1)

NAMES = [
    (r"^(bert|roberta|nomic_bert|model)\.", ""), (r"^embeddings\.word_embeddings", "token_embd"), (r"^embeddings\.position_embeddings", "position_embd"), (r"^embeddings\.token_type_embeddings", "token_types"),
    (r"^embeddings\.LayerNorm|^emb_ln", "token_embd_norm"), (r"^embed_tokens", "token_embd"), (r"^norm\.", "output_norm."), (r"^encoder\.layers?\.|^layers\.", "blk."),
    (r"attention\.self\.query", "attn_q"), (r"attention\.self\.key", "attn_k"), (r"attention\.self\.value", "attn_v"), (r"attention\.output\.dense", "attn_output"), (r"attention\.output\.LayerNorm", "attn_output_norm"),
    (r"mlp\.wo", "ffn_down"), (r"mlp\.layernorm", "layer_output_norm"), (r"intermediate\.dense", "ffn_up"), (r"^(blk\.\d+\.)output\.dense", r"\1ffn_down"), (r"^(blk\.\d+\.)output\.LayerNorm", r"\1layer_output_norm"),
    (r"attn\.Wqkv", "attn_qkv"), (r"attn\.out_proj", "attn_output"), (r"norm1\.", "attn_output_norm."), (r"mlp\.fc11?\b", "ffn_up"), (r"mlp\.router\.layer", "ffn_gate_inp"), (r"mlp\.experts\.mlp\.w1", "ffn_up_exps.weight"), (r"mlp\.experts\.mlp\.w2", "ffn_down_exps.weight"), (r"mlp\.fc12", "ffn_gate"), (r"mlp\.fc2", "ffn_down"), (r"norm2\.", "layer_output_norm."),
    (r"self_attn\.([qkv])_proj", r"attn_\1"), (r"self_attn\.o_proj", "attn_output"), (r"self_attn\.([qk])_norm", r"attn_\1_norm"), (r"input_layernorm", "attn_norm"),
    (r"post_attention_layernorm", "post_attention_norm" if kind == "gemma3_text" else "ffn_norm"), (r"pre_feedforward_layernorm", "ffn_norm"), (r"post_feedforward_layernorm", "post_ffw_norm"),
    (r"mlp\.(gate|up|down)_proj", r"ffn_\1"), (r"^pooler\.dense", "cls"), (r"^classifier\.dense", "cls"), (r"^classifier\.(out_proj\.)?", "cls.output."),
]
for name, x in tensors.items():
    if not ranks and "pooler" in name or "position_ids" in name or "mlp.experts.bias" in name: continue
    new = name
    for a, b in NAMES: new = re.sub(a, b, new)
    if new == "position_embd.weight": x = x[offset:]
    if "_exps" in new: x = x.reshape(c["num_experts"], c["intermediate_size"], c["hidden_size"])
    if "ffn_down_exps" in new: x = x.transpose(0, 2, 1)
    if kind == "gemma3_text" and new.endswith("norm.weight"): x = x + np.float32(1)
    if "gated_layers" in new:
        for b, y in zip(("ffn_gate", "ffn_up"), np.split(x, 2)): w.add_tensor(new.replace("mlp.gated_layers", b), np.ascontiguousarray(y, dtype=np.float32))
        continue
    w.add_tensor(new, np.ascontiguousarray(x, dtype=np.float32))
i = 2
while os.path.exists(f"{dir}/{i}_Dense"):
    x = load_file(f"{dir}/{i}_Dense/model.safetensors")["linear.weight"]; w.add_tensor(f"dense_{i}.weight", x)
    w.add_uint32(f"{arch}.dense_{i}_feat_in", x.shape[1]); w.add_uint32(f"{arch}.dense_{i}_feat_out", x.shape[0]); i += 1
if "embeddings.token_type_embeddings.weight" in tensors or any("token_type_embeddings" in n for n in tensors): w.add_token_type_count(c["type_vocab_size"])

# The tokenizer.
m = tok["model"]; special = {t["content"]: t["id"] for t in tok["added_tokens"]}
T = gguf.TokenType
if m["type"] == "Unigram": tokens, scores = [t for t, _ in m["vocab"]], [s for _, s in m["vocab"]]
else: tokens, scores = sorted(m["vocab"], key=m["vocab"].get), None
for t, id in special.items():
    if id >= len(tokens): tokens.append(t)
types = [T.CONTROL if t in special else T.NORMAL for t in tokens]
if m["type"] == "WordPiece":
    w.add_tokenizer_model("bert"); w.add_tokenizer_pre("default")
    shown = [t if t in special else t[2:] if t.startswith("##") else "▁" + t for t in tokens]
    for name, id in (("unk", "[UNK]"), ("sep", "[SEP]"), ("pad", "[PAD]"), ("bos", "[CLS]"), ("mask", "[MASK]")): getattr(w, f"add_{name}_token_id")(special[id])
elif m["type"] == "Unigram":
    w.add_tokenizer_model("t5"); w.add_tokenizer_pre("default"); shown = tokens
    types[m["unk_id"]] = T.UNKNOWN
    w.add_token_scores(scores); w.add_add_space_prefix(True); w.add_remove_extra_whitespaces(True); w.add_add_bos_token(True); w.add_add_eos_token(True)
    for name, id in (("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("sep", "</s>"), ("pad", "<pad>"), ("mask", "<mask>")): getattr(w, f"add_{name}_token_id")(special[id])
elif "qwen3" in kind:
    w.add_tokenizer_model("gpt2"); w.add_tokenizer_pre("qwen2"); shown = tokens
    w.add_token_merges([" ".join(x) if isinstance(x, list) else x for x in m["merges"]]); w.add_eos_token_id(special["<|endoftext|>"]); w.add_add_bos_token(False); w.add_add_eos_token(not answers)
else:
    w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default"); shown = tokens
    order = {}
    for i, x in enumerate(m["merges"]): order.setdefault("".join(x) if isinstance(x, list) else x.replace(" ", "", 1), -float(i))
    w.add_token_scores([order.get(t, -1e6) for t in tokens]); w.add_add_space_prefix(True)
    types = [T.BYTE if re.fullmatch("<0x..>", t) else T.UNKNOWN if t == "<unk>" else k for t, k in zip(tokens, types)]
    w.add_bos_token_id(special["<bos>"]); w.add_eos_token_id(special["<eos>"]); w.add_unk_token_id(special["<unk>"]); w.add_add_bos_token(True); w.add_add_eos_token(True)
w.add_token_list(shown); w.add_token_types(types)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
