#!/usr/bin/env python3
"""Writes random models of a billion weights or so, one of each kind of layer, and says what bounds their speed.

usage: kinds.py FOLDER [KIND...]     FOLDER gets a folder for each kind, 1 to 3 GB; needs numpy, torch, transformers, safetensors
Weights are bfloat16. The tokenizer is that of a tiny model of the tests, the vocabulary has 32,000 rows. A line of output has, for one
token, the bytes of weights that are read and the multiply-adds of linear layers; of experts those that the router chooses.
`go test ./models/decoder -run '^$' -bench 'Prompt/precision=float32|Generate/greedy/precision=float32' -model FOLDER/KIND` measures one.
"""
import json, pathlib, shutil, sys
import numpy as np, torch, transformers as tf
from safetensors.torch import save_file

TINY = pathlib.Path(__file__).parents[1] / "testdata" / "tiny"
DENSE = dict(vocab_size=32000, hidden_size=2048, intermediate_size=8192, num_hidden_layers=12, num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=8192)
EXPERTS = DENSE | dict(intermediate_size=1024, num_experts_per_tok=4)
DELTA = dict(head_dim=128, num_attention_heads=16, num_key_value_heads=4, linear_num_key_heads=16, linear_num_value_heads=16, linear_key_head_dim=128, linear_value_head_dim=128)


def layers(n, every, other, own="full_attention"):
    return dict(num_hidden_layers=n, layer_types=[own if (i + 1) % every == 0 else other for i in range(n)])


KINDS = {  # kind: (tiny model whose configuration and tokenizer it has, what differs)
    "dense": ("llama-2", DENSE),
    "windows": ("gemma3-6", DENSE | dict(head_dim=256, num_attention_heads=8, num_key_value_heads=2, sliding_window=512) | layers(12, 6, "sliding_attention")),
    "experts": ("qwen3_moe-2", EXPERTS | dict(moe_intermediate_size=1024, num_local_experts=16)),
    "latent": ("deepseek_v3-31", EXPERTS | dict(intermediate_size=8192, moe_intermediate_size=1024, n_routed_experts=16, n_shared_experts=1, n_group=1, topk_group=1, first_k_dense_replace=1, num_key_value_heads=32,
        q_lora_rank=None, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=64, qk_head_dim=128, v_head_dim=64)),
    "sinks": ("gpt_oss-32", EXPERTS | dict(num_local_experts=16, sliding_window=128) | layers(12, 2, "sliding_attention")),
    "delta": ("qwen3_5_text-2", DENSE | DELTA | layers(12, 4, "linear_attention")),
    "mamba": ("granitemoehybrid-42", DENSE | dict(intermediate_size=1024, shared_intermediate_size=8192, num_local_experts=0, num_experts_per_tok=0, mamba_n_heads=64,
        mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1, mamba_expand=2, mamba_chunk_size=256) | layers(12, 6, "linear_attention")),
    "convolutions": ("lfm2-1", DENSE | dict(block_ff_dim=8192) | layers(12, 3, "conv")),
}


def weights(model):
    """The names and shapes of a model's weights as folders have them, without memory for them. But for gpt_oss, each expert is apart there."""
    for name, x in model.state_dict().items():
        stem, fused, part = name.rpartition(".experts.")
        if fused and model.config.model_type != "gpt_oss":
            for i in range(x.shape[0]):
                for p in ["gate_proj", "up_proj"] if part == "gate_up_proj" else [part]:
                    yield f"{stem}.experts.{i}.{p}.weight", torch.Size((x.shape[1] // (2 if part == "gate_up_proj" else 1), x.shape[2]))
        elif not (model.config.tie_word_embeddings and name == "lm_head.weight"):
            yield name, x.shape


def share(name, config):
    """How much of a tensor a token reads: of experts the chosen ones."""
    n = next((getattr(config, k) for k in ("num_experts", "n_routed_experts", "num_local_experts") if getattr(config, k, 0)), 0)
    return config.num_experts_per_tok / n if ".experts." in name and n else 1


def main():
    out, kinds = pathlib.Path(sys.argv[1]), sys.argv[2:] or KINDS
    for kind in kinds:
        tiny, differs = KINDS[kind]
        folder = out / kind
        folder.mkdir(parents=True, exist_ok=True)
        for file in (TINY / tiny).glob("token*"):
            shutil.copy(file, folder)
        config = json.loads((TINY / tiny / "config.json").read_text()) | differs
        config = {k: v for k, v in config.items() if k not in ("dtype", "quantization_config")}
        (folder / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}, indent=1))
        config = tf.AutoConfig.from_pretrained(folder)
        with torch.device("meta"):
            shapes = dict(weights(tf.AutoModelForCausalLM.from_config(config)))
        random, tensors, read, adds = np.random.default_rng(1), {}, 0, 0
        block = torch.from_numpy(random.standard_normal(1 << 24, dtype=np.float32))
        for name, shape in shapes.items():
            n = shape.numel()
            x = block.repeat(-(-n // len(block)))[:n].reshape(shape)
            tensors[name] = (x * shape[-1] ** -0.5 if len(shape) > 1 else 1 + x / 8).to(torch.bfloat16)
            if "embed_tokens" in name and not config.tie_word_embeddings:
                continue
            read += int(2 * n * share(name, config))
            adds += int(n * share(name, config)) if len(shape) > 1 else 0
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        total = sum(s.numel() for s in shapes.values())
        print(f"{kind:13} {total / 1e9:.2f} G weights, of a token {read / 1e9:.3f} GB and {adds / 1e9:.3f} G multiply-adds", flush=True)


main()
