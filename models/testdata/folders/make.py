#!/usr/bin/env python3
"""Makes folders as sentence-transformers saves them, each with another setting, and what sentence-transformers computes with them.

usage: make.py OUTDIR
needs: pip install torch transformers sentence-transformers tokenizers safetensors numpy

OUTDIR gets the folders embedder, reranker, bpe, unigram and decoder, whose files belong to all cases, and a folder of a case's own files, which are put over them, for those
that have some; and cases.json, a list of
  name, on      of the case, and the folder below its files; "without" are files of that one that it does not have, and "moved" says where others lie
  prompt        the name of the prompt that texts get
  texts, ids    and what the tokenizer makes of them, cut as the model cuts them
  vectors       of texts, computed in float64, and "error", the rms error of sentence-transformers in float32 against them
  pairs, scores of cross-encoders, before the activation
"""
import json, os, random, shutil, sys
os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np, torch, transformers as tf, sentence_transformers as st
from safetensors.torch import load_file, save_file
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
torch.set_grad_enabled(False)

OUT = sys.argv[1]
TEXTS = ["The Cat sits on the Mat.", "a", "GRÜSSE aus Zürich, naïve Café", "日本語 text 漢字 with [SEP] in it", "the quick brown Fox jumps over the lazy Dog and then over the lazy Cat"]
WORDS = "the cat sits on mat a grüsse aus zürich naive café quick brown fox jumps over lazy dog and then text with in it".split()
CASES = []

def corpus():
    r = random.Random(7)
    return TEXTS * 8 + [" ".join(r.choices(WORDS + [w.title() for w in WORDS], k=9)) for _ in range(200)]
def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]")); t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False); t.pre_tokenizer = pre_tokenizers.BertPreTokenizer(); t.decoder = decoders.WordPiece()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=170, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t
SPECIAL = dict(unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")

def write(path, x):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f: json.dump(x, f, ensure_ascii=False, separators=(",", ":"))
def read(path):
    with open(path) as f: return json.load(f)
def randomize(m, seed):
    g = torch.Generator().manual_seed(seed)
    for n, p in m.named_parameters():
        p.data = torch.randn(p.shape, generator=g) * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and "norm" in n.lower() and "bias" not in n else 0.0)
def config(n, **k):
    return tf.BertConfig(vocab_size=n, hidden_size=8, num_attention_heads=2, num_hidden_layers=2, intermediate_size=16, max_position_embeddings=40, attn_implementation="eager", **k)
def shrink(path):
    x = read(path); write(path, x)

def base():
    t = wordpiece(); n = t.get_vocab_size()
    for name, cls, k in (("embedder", tf.BertModel, {}), ("reranker", tf.BertForSequenceClassification, {"num_labels": 1})):
        tmp = f"{OUT}/tmp"; torch.manual_seed(1); m = cls(config(n, **k)).eval(); randomize(m, 5); m.save_pretrained(tmp)
        tf.PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=10, **SPECIAL).save_pretrained(tmp)
        if name == "embedder":
            x = Transformer(tmp); s = st.SentenceTransformer(modules=[x, Pooling(8, "mean"), Normalize()], device="cpu", prompts={"query": "the cat: ", "document": ""})
        else: s = st.CrossEncoder(tmp, device="cpu")
        s.save_pretrained(f"{OUT}/{name}"); os.remove(f"{OUT}/{name}/README.md"); shutil.rmtree(tmp)
        w = load_file(f"{OUT}/{name}/model.safetensors"); save_file(w, f"{OUT}/{name}/model.safetensors", metadata={"format": "pt"})
        shrink(f"{OUT}/{name}/tokenizer.json")

def case(name, on="embedder", files=None, without=(), moved=None, prompt=None, kind="vectors", texts=TEXTS, make=None):
    """files: by path, an object, which is written as JSON over the keys of the file below it, or a value that is taken as it is"""
    own = f"{OUT}/{name}"
    for path, x in (files or {}).items():
        below = f"{OUT}/{on}/{path}"
        if isinstance(x, dict) and os.path.exists(below):
            x = {k: v for k, v in (read(below) | x).items() if v != "-"}
        write(f"{own}/{path}", x)
    if make: os.makedirs(own, exist_ok=True); make(own)
    whole = f"{OUT}/whole"; shutil.rmtree(whole, ignore_errors=True); shutil.copytree(f"{OUT}/{on}", whole)
    for path in without: os.remove(f"{whole}/{path}")
    for path in moved or []: os.makedirs(f"{whole}/{os.path.dirname(moved[path])}", exist_ok=True); os.rename(f"{whole}/{path}", f"{whole}/{moved[path]}")
    if os.path.isdir(own): shutil.copytree(own, whole, dirs_exist_ok=True)
    c = {"name": name, "on": on}
    if without: c["without"] = list(without)
    if moved: c["moved"] = moved
    if prompt: c["prompt"] = prompt
    if kind == "ids":
        t = tf.AutoTokenizer.from_pretrained(whole); c |= {"texts": texts, "ids": [t(x)["input_ids"] for x in texts]}
    elif kind == "scores":
        pairs = [(texts[0], x) for x in texts[1:]] + [(texts[4], texts[0])]; run = lambda d: st.CrossEncoder(whole, device="cpu", model_kwargs={"dtype": d}).predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True).double()
        c |= {"pairs": pairs} | measured("scores", run)
    else:
        s = st.SentenceTransformer(whole, device="cpu"); text = (s.prompts[prompt] if prompt else "")
        cut = [s[0].tokenizer(text + x, truncation=True)["input_ids"] for x in texts]
        run = lambda d: torch.tensor(np.array([st.SentenceTransformer(whole, device="cpu").to(d).encode(x, prompt_name=prompt, convert_to_numpy=True) for x in texts])).double()
        c |= {"texts": texts, "ids": cut} | measured("vectors", run)
    CASES.append(c); shutil.rmtree(whole); print(name, {k: v for k, v in c.items() if k == "error"})

def measured(key, run):
    a, b = run(torch.float64), run(torch.float32)
    short = lambda x: float(str(np.float32(x)))
    return {key: [[short(y) for y in x] if x.dim() else short(x) for x in a], "error": float(((a - b) ** 2).mean().sqrt())}

def module(x, seed=3, binary=False):
    def make(at):
        torch.manual_seed(seed); os.makedirs(at, exist_ok=True); randomize(x, seed); x.save(at, safe_serialization=not binary)
    return make
def chain(*names):
    kinds = ["Transformer", "Pooling"] + list(names)
    return [{"idx": i, "name": str(i), "path": f"{i}_{k}" if i else "", "type": "sentence_transformers.models." + k} for i, k in enumerate(kinds)]

def after(*modules):
    """The modules after the pooling, with their files."""
    def make(own):
        write(f"{own}/modules.json", chain(*[type(m).__name__ for m, _ in modules]))
        for i, (m, binary) in enumerate(modules): module(m, binary=binary)(f"{own}/{i + 2}_{type(m).__name__}")
    return make

def embedders():
    case("base")  # the length stands in tokenizer_config.json alone
    case("length", files={"sentence_bert_config.json": {"max_seq_length": 14}})
    case("shorter", files={"sentence_bert_config.json": {"max_seq_length": 6}})
    case("positions", files={"tokenizer_config.json": {"model_max_length": 4000}}, texts=TEXTS + [TEXTS[4] * 3])
    case("old-name", files={"sentence_roberta_config.json": {"max_seq_length": 7}}, without=["sentence_bert_config.json"])
    case("lower", files={"sentence_bert_config.json": {"do_lower_case": True}})
    case("left", files={"tokenizer_config.json": {"truncation_side": "left"}})
    case("dimensions", files={"config_sentence_transformers.json": {"truncate_dim": 5}})
    case("untagged", make=lambda own: write(f"{own}/tokenizer.json", {k: {a: b for a, b in v.items() if a != "type"} if k == "model" else v for k, v in read(f"{OUT}/embedder/tokenizer.json").items()}))
    for name, keys in {"bert": {}, "bert-cased": {"do_lower_case": False, "strip_accents": True}, "bert-chinese": {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False}}.items():
        case(name, files={"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "backend": "-"} | keys})
    for name, mode in {"sqrt": "mean_sqrt_len_tokens", "three": ["weightedmean", "cls", "max"]}.items():
        case(name, files={"1_Pooling/config.json": {"pooling_mode": mode}})
    case("two", files={"1_Pooling/config.json": {"pooling_mode": "-", "embedding_dimension": "-", "word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_lasttoken": True, "pooling_mode_cls_token": False}})
    for name, mode in {"prompt-mean": "mean", "prompt-all": ["cls", "max", "mean_sqrt_len_tokens", "weightedmean"], "prompt-last": "lasttoken"}.items():
        case(name, files={"1_Pooling/config.json": {"pooling_mode": mode, "include_prompt": False}}, prompt="query")
    case("no-mode", files={"1_Pooling/config.json": {"pooling_mode": "-"}})
    case("norm", make=after((Dropout(0.3), False), (LayerNorm(8), False)))
    case("dense", make=after((Dense(8, 7, use_residual=True, activation_function=torch.nn.GELU()), True), (Dense(7, 7, bias=False, use_residual=True), False), (Normalize(), False)))
    modules = read(f"{OUT}/embedder/modules.json"); modules[0]["path"] = "0_Transformer"
    case("inside", files={"modules.json": modules}, moved={x: f"0_Transformer/{x}" for x in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json"]})
    def binary(own): torch.save(load_file(f"{OUT}/embedder/model.safetensors"), f"{own}/pytorch_model.bin")
    case("binary", make=binary, without=["model.safetensors"])
    def old(own): torch.save(load_file(f"{OUT}/embedder/model.safetensors"), f"{own}/pytorch_model.bin", _use_new_zipfile_serialization=False)
    case("binary-old", make=old, without=["model.safetensors"])

def rerankers():
    case("reranker-base", on="reranker", kind="scores")
    case("reranker-left", on="reranker", kind="scores", files={"tokenizer_config.json": {"truncation_side": "left", "model_max_length": 13}})
    case("reranker-bert", on="reranker", kind="scores", files={"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 20, "backend": "-"}})

def tokenizers():
    t = Tokenizer(models.BPE()); t.decoder = decoders.ByteLevel(); t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    os.makedirs(f"{OUT}/bpe"); t.save(f"{OUT}/bpe/tokenizer.json"); shrink(f"{OUT}/bpe/tokenizer.json")
    names = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")
    write(f"{OUT}/bpe/tokenizer_config.json", names | {"tokenizer_class": "RobertaTokenizer"}); write(f"{OUT}/bpe/config.json", {"model_type": "roberta"})
    case("bpe-base", on="bpe", kind="ids")  # false by default, whatever tokenizer.json says
    case("bpe-true", on="bpe", kind="ids", files={"tokenizer_config.json": {"add_prefix_space": True}})
    case("bpe-by-model", on="bpe", kind="ids", files={"tokenizer_config.json": {"tokenizer_class": "-"}})
    case("bpe-file", on="bpe", kind="ids", files={"tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False}})
    t = Tokenizer(models.Unigram()); t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]); t.decoder = decoders.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=160, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    os.makedirs(f"{OUT}/unigram"); t.save(f"{OUT}/unigram/tokenizer.json"); x = read(f"{OUT}/unigram/tokenizer.json"); del x["model"]["type"]; write(f"{OUT}/unigram/tokenizer.json", x)
    write(f"{OUT}/unigram/tokenizer_config.json", names | {"tokenizer_class": "XLMRobertaTokenizer"}); write(f"{OUT}/unigram/config.json", {"model_type": "xlm-roberta"})
    case("unigram-base", on="unigram", kind="ids")
    case("unigram-false", on="unigram", kind="ids", files={"tokenizer_config.json": {"add_prefix_space": False}})

def decoder():
    """A decoder as an embedder, with weights in two files of PyTorch."""
    tmp, out = f"{OUT}/tmp", f"{OUT}/decoder"; t = Tokenizer(models.BPE()); t.decoder = decoders.ByteLevel(); t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=290, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    torch.manual_seed(1); m = tf.Qwen3Model(tf.Qwen3Config(vocab_size=290, hidden_size=8, head_dim=4, num_attention_heads=2, num_key_value_heads=1, num_hidden_layers=2, intermediate_size=12, max_position_embeddings=64, bos_token_id=None, eos_token_id=0, pad_token_id=0, attn_implementation="eager")).eval(); randomize(m, 5); m.save_pretrained(tmp)
    tf.PreTrainedTokenizerFast(tokenizer_object=t, model_max_length=12, eos_token="<|endoftext|>", pad_token="<|endoftext|>").save_pretrained(tmp)
    st.SentenceTransformer(modules=[Transformer(tmp), Pooling(8, "lasttoken"), Normalize()], device="cpu", prompts={"query": "the cat: ", "document": ""}).save_pretrained(out); shutil.rmtree(tmp); os.remove(f"{out}/README.md"); shrink(f"{out}/tokenizer.json")
    w = load_file(f"{out}/model.safetensors"); os.remove(f"{out}/model.safetensors"); parts = [{}, {}]
    for n in w: parts["layers.1." in n][n] = w[n]
    names = [f"pytorch_model-0000{i + 1}-of-00002.bin" for i in range(2)]
    for n, x in zip(names, parts): torch.save(x, f"{out}/{n}")
    write(f"{out}/pytorch_model.bin.index.json", {"metadata": {}, "weight_map": {n: names["layers.1." in n] for n in w}})
    case("decoder-base", on="decoder")
    case("decoder-lower", on="decoder", files={"sentence_bert_config.json": {"do_lower_case": True, "max_seq_length": 20}})
    case("decoder-prompt", on="decoder", files={"1_Pooling/config.json": {"pooling_mode": ["mean", "lasttoken"], "include_prompt": False}}, prompt="query")

base(); embedders(); rerankers(); tokenizers(); decoder()
write(f"{OUT}/cases.json", CASES)
