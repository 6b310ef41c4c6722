#!/usr/bin/env python3
"""make.py for models with what its seeds do not have: scaled rotations, layers of Gemma 3 that see all tokens, Qwen 3 with attention to both sides, Gemma 1,
and SmolLM 3 whose every fourth layer rotates nothing, as GGUF files have it.

usage: variants.py VARIANT SEED OUTDIR        `variants.py list` prints the variants
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))

def like(arch, change):
    kind, tok, conf, cls = ARCHS[arch]
    def changed(s, v):
        c = conf(s, v); change(c); return c
    return kind, tok, changed, cls
gemma4 = gemma # of make.py
def rope(**k):
    def change(c): c.rope_parameters = dict({"rope_theta": 10000.0}, **k)
    return change
def gemma(c):
    c.layer_types = [["sliding_attention", "full_attention"][i % 2] for i in range(c.num_hidden_layers)]
    c.rope_parameters = {"full_attention": {"rope_theta": 1000000.0, "rope_type": "linear", "factor": 8.0}, "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}
def longrope(original):
    def change(c):
        n = int(.75 * c.hidden_size // c.num_attention_heads) // 2
        c.original_max_position_embeddings = original
        c.rope_parameters = {"rope_theta": 10000.0, "rope_type": "longrope", "partial_rotary_factor": .75, "original_max_position_embeddings": original,
            "short_factor": [1 + i / 8 for i in range(n)], "long_factor": [1.5 + i for i in range(n)]}
    return change
def bothways(c): c.is_causal = False; c.use_sliding_window = True; c.sliding_window = 4; c.layer_types = ["sliding_attention", "full_attention"] * (c.num_hidden_layers // 2)
def blocks(c): c.hidden_size, c.intermediate_size = 32, 64
FP4 = [0, .5, 1, 1.5, 2, 3, 4, 6]; FP4 += [-x for x in FP4]
def fp4(z):  # blocks of 32 inputs of experts [experts, inputs, outputs] as bytes, and scales, as files have them, of numbers of a few sizes
    x = z.transpose(1, 2).reshape(z.shape[0], z.shape[2], -1, 32); scales = (119 + 4 * x[..., 0].abs()).to(torch.uint8); i = (x.abs() * 7).to(torch.int64) % 8 + 8 * (x < 0)
    return (i[..., ::2] | i[..., 1::2] << 4).to(torch.uint8), scales
def numbers(bytes, scales): return torch.ldexp(torch.tensor(FP4)[torch.stack([bytes & 15, bytes >> 4], -1).flatten(-2).long()], scales[..., None].int() - 127).flatten(2).transpose(1, 2).contiguous()
PACKED, plain = {}, special
def special(n, p, z):
    if sys.argv[1] == "gpt_oss-mxfp4" and n.endswith("_proj") and "experts" in n: PACKED[n] = fp4(z); return numbers(*PACKED[n])
    return plain(n, p, z)
def pack(out):  # as published files have them; that they are the same numbers is what transformers says
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    from safetensors.torch import load_file
    tensors = load_file(f"{out}/model.safetensors")
    for n, (b, s) in PACKED.items(): assert (convert_moe_packed_tensors(b, s, dtype=torch.float32) == tensors.pop(n)).all(); tensors |= {n + "_blocks": b.contiguous(), n + "_scales": s.contiguous()}
    save_file(tensors, f"{out}/model.safetensors"); c = json.load(open(f"{out}/config.json")); c["quantization_config"] = {"modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"], "quant_method": "mxfp4"}
    json.dump(c, open(f"{out}/config.json", "w"), indent=2)
def latent(c): c.moe_latent_size = 20  # as Nemotron 3 Super
def fourth(c): c.num_hidden_layers = 4; c.no_rope_layer_interval = 4; c.no_rope_layers = [1, 1, 1, 0]; c.layer_types = ["full_attention"] * 4
ARCHS = {
 "gemma4-same": ("decoder", spbpe, lambda s, v: C["gemma4_text"](vocab_size=v, global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True, **gemma4(s, hidden_size_per_layer_input=0) | kinds(s, 2, 4)), tf.Gemma4ForCausalLM),
 "granitemoe": ("decoder", gpt(LLAMA3), lambda s, v: tf.GraniteMoeConfig(vocab_size=v, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=.22, attention_multiplier=.0625, **square(s) | moe(s, "num_local_experts")), tf.GraniteMoeForCausalLM),
 "gpt_oss-mxfp4": like("gpt_oss", blocks),  # experts in blocks of 4 bits
 "gemma": ("decoder", spbpe, lambda s, v: tf.GemmaConfig(vocab_size=v, **dec(s)), tf.GemmaForCausalLM),
 "nemotron_h-latent": like("nemotron_h", latent),
 "smollm3-fourth": like("smollm3", fourth),
 "hunyuan-alpha": like("hunyuan_v1_dense", rope(rope_type="dynamic", alpha=1000.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=1.0)),
 "qwen3-embedding-bothways": like("qwen3-embedding", bothways),  # bidirectional, also within a window
 "gemma3-whole": like("gemma3", gemma),
 "llama-linear": like("llama", rope(rope_type="linear", factor=4.0)),
 "llama-llama3": like("llama", rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
 "qwen3-yarn": like("qwen3", rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=64)),
 "phi3-short": like("phi3", longrope(512)),   # longer than the context: always short_factor
 "phi3-long": like("phi3", longrope(8)),      # long_factor in texts of more than 8 tokens
}
main()
if PACKED: pack(sys.argv[3])
