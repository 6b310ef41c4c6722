#!/usr/bin/env python3
"""make.py for rerankers of further encoders, and for decoders as rerankers.

usage: rerankers.py ARCH SEED OUTDIR        `rerankers.py list` prints the architectures; decoders also need pip install sentence-transformers

refs.json has pairs and ids, and refs.safetensors "i.score" as those of make.py. With several labels refs.json has "labels", and a score for each: the
logarithm of its odds by the softmax of all. Decoders have "predict", what sentence-transformers' CrossEncoder.predict prints in float32:
  qwen3-classifier  Qwen3ForSequenceClassification, whose tokenizer joins the two texts
  qwen3-reranker    Qwen3-Reranker as it is published: Qwen3ForCausalLM, a README.md, and the prompt of that; the logits of yes and no
  gemma2-score      a CrossEncoder with LogitScore and a chat template for messages of the roles query and document, with a default prompt
"""
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "make.py")) as f: source = f.read()
exec(source.removesuffix("main()\n").removesuffix("main()"))

def deberta():
    t = Tokenizer(models.Unigram()); sp = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]); t.pre_tokenizer = pre_tokenizers.Metaspace(); t.decoder = decoders.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=500, special_tokens=sp, unk_token="[UNK]"))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
V3 = dict(type_vocab_size=0, relative_attention=True, position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False, max_relative_positions=-1, layer_norm_eps=1e-7)
NLI = dict(id2label={0: "contradiction", 1: "entailment", 2: "neutral"}, label2id={"contradiction": 0, "entailment": 1, "neutral": 2})
ROBERTA = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2, local_attention=16, global_attn_every_n_layers=2)
BASES = ARCHS # of make.py
def like(base, cls, more=lambda s: {}, tok=None):
    _, own, conf, _ = BASES[base]
    def changed(s, v):
        c = conf(s, v); c.num_labels = 1
        for k, x in more(s).items(): setattr(c, k, x)
        return c
    return "reranker", tok or own, changed, cls
def pair(tok):  # without types
    def t():
        x = tok(); x.model_input_names = ["input_ids", "attention_mask"]; return x
    return t
ARCHS = {
 "albert": like("albert", tf.AlbertForSequenceClassification),
 "camembert": ("reranker", unigram, lambda s, v: tf.CamembertConfig(vocab_size=v, num_labels=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, **enc(s)), tf.CamembertForSequenceClassification),
 "gte": like("gte", tf.GteForSequenceClassification),
 "jina_embeddings_v3": like("jina_embeddings_v3", tf.JinaEmbeddingsV3ForSequenceClassification),
 "eurobert": like("eurobert", tf.EuroBertForSequenceClassification, lambda s: {"classifier_pooling": ["late", "bos", "mean"][s % 3]}, pair(lambda: bytebpe(True))),
 "nomic_bert": like("nomic_bert", tf.NomicBertForSequenceClassification),
 "deberta": ("reranker", deberta, lambda s, v: tf.DebertaV2Config(vocab_size=v, num_labels=1, **enc(s) | V3), tf.DebertaV2ForSequenceClassification),
 # positions in the input, types, no buckets and fewer distances than positions, layers of their own for positions, three labels
 "deberta-nli": ("reranker", deberta, lambda s, v: tf.DebertaV2Config(vocab_size=v, **NLI, **enc(s) | V3 | dict(type_vocab_size=2, position_biased_input=True, position_buckets=-1, max_relative_positions=20, share_att_key=False, norm_rel_ebd="none", pos_att_type=[["c2p"], ["p2c"]][s % 2])), tf.DebertaV2ForSequenceClassification),
 "modernbert-cls": ("reranker", lambda: bytebpe(True), lambda s, v: tf.ModernBertConfig(vocab_size=v, num_labels=1, classifier_pooling="cls", **ROBERTA, **enc(s)), tf.ModernBertForSequenceClassification),
 "modernbert-mean": ("reranker", lambda: bytebpe(True), lambda s, v: tf.ModernBertConfig(vocab_size=v, **NLI, classifier_pooling="mean", classifier_bias=True, norm_bias=True, classifier_activation="silu", **ROBERTA, **enc(s)), tf.ModernBertForSequenceClassification),
 "qwen3-classifier": ("reranker", lambda: bytebpe(split=GPT4), lambda s, v: tf.Qwen3Config(vocab_size=v, num_labels=1, **dec(s)), tf.Qwen3ForSequenceClassification),
 "qwen3-reranker": ("reranker", lambda: answers(bytebpe(split=GPT4)), lambda s, v: tf.Qwen3Config(vocab_size=v, **dec(s) | dict(max_position_embeddings=512)), tf.Qwen3ForCausalLM),
 "gemma2-score": ("reranker", spbpe, lambda s, v: tf.Gemma2Config(vocab_size=v, sliding_window=16, query_pre_attn_scalar=24, final_logit_softcapping=2.0, **dec(s) | dict(max_position_embeddings=512)), tf.Gemma2ForCausalLM),
}
PROMPT = """<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: Given a web search query, retrieve relevant passages that answer the query
<Query>: {query}
<Document>: {document}<|im_end|>
<|im_start|>assistant
<think>

</think>

"""
CHAT = """{{ bos_token }}{%- set ns = namespace(i="Judge.", q="", d="") -%}
{%- for m in messages %}{% if m.role == "system" %}{% set ns.i = m.content %}{% elif m.role == "query" %}{% set ns.q = m.content %}{% elif m.role == "document" %}{% set ns.d = m.content %}{% endif %}{% endfor -%}
Instruct: {{ ns.i }}
Query: {{ ns.q }}
Document: {{ ns.d }}
{%- if add_generation_prompt %}
Relevant:{% endif %}"""
def answers(t):  # yes and no are tokens, as Qwen's tokenizer has them
    j = json.loads(t.backend_tokenizer.to_str()); v, m = j["model"]["vocab"], j["model"]["merges"]
    for word in ("yes", "no"):
        for a, b in [(word[:i], word[i]) for i in range(1, len(word))]:
            if a + b not in v: v[a + b] = len(v) + 0; m.append([a, b])
    extra = {x["id"] for x in j["added_tokens"]}; assert sorted(v.values()) == list(range(len(v))) and extra <= set(v.values())
    return tf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(j)), bos_token=None, eos_token="<|im_end|>", pad_token="<|endoftext|>")
def long(pairs): return pairs + [(pairs[0][0], TEXTS[14] * 4)]  # which is cut

def reranker():
    arch, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]; kind, tok, conf, cls = ARCHS[arch]; t = tok(); os.makedirs(out, exist_ok=True)
    if arch == "gemma2-score": t.chat_template = CHAT
    t.save_pretrained(out); torch.manual_seed(seed); c = conf(seed, len(t)); m = cls._from_config(c, attn_implementation="eager").eval().float(); g = torch.Generator().manual_seed(seed)
    for n, p in m.named_parameters():
        z = torch.randn(p.shape, generator=g); p.data = z * (0.6 / p.shape[-1] ** .5 if p.dim() > 1 else 0.1) + (1.0 if p.dim() == 1 and "norm" in n.lower() and "bias" not in n else 0.0)
    m.save_pretrained(out)
    m64, m32 = (cls.from_pretrained(out, dtype=d, attn_implementation="eager").eval() for d in (torch.float64, torch.float32))
    pairs = [(TEXTS[0], TEXTS[i]) for i in (2, 4, 14)]; refs = {"arch": arch, "kind": "reranker", "seed": seed, "texts": [], "pairs": pairs, "ids": []}; tensors = {}; ce = None
    if arch == "qwen3-reranker": open(f"{out}/README.md", "w").write("# Qwen3-Reranker-Tiny\n\nRandom weights in the form of Qwen3-Reranker.\n")
    if arch in ("gemma2-score", "qwen3-classifier"):
        import sentence_transformers as st
        from sentence_transformers.cross_encoder.modules import LogitScore
        from sentence_transformers.base.modules import Transformer
        if arch == "gemma2-score":
            refs["pairs"] = pairs = long(pairs); a = Transformer(out, transformer_task="text-generation", max_seq_length=200, processing_kwargs={"chat_template": {"add_generation_prompt": True}}, model_kwargs={"attn_implementation": "eager"})
            ce = st.CrossEncoder(modules=[a, LogitScore(t.convert_tokens_to_ids("e"), t.convert_tokens_to_ids("a"))], device="cpu", prompts={"search": "Does the document answer the query?"}, default_prompt_name="search")
        else: ce = st.CrossEncoder(out, device="cpu", model_kwargs={"attn_implementation": "eager"})
        if arch == "gemma2-score": ce.save_pretrained(out, create_model_card=False)
        refs["predict"] = [float(x) for x in ce.predict(pairs)]
    def heads(z):  # scores of logits
        return z if len(z) == 1 else torch.stack([z[k] - torch.cat([z[:k], z[k + 1:]]).logsumexp(0) for k in range(len(z))])
    for i, (a, b) in enumerate(pairs):
        if arch == "qwen3-reranker": ids = t(PROMPT.replace("{query}", a).replace("{document}", b), add_special_tokens=False)["input_ids"]; kw = {}
        elif arch == "gemma2-score": ids = ce.preprocess([(a, b)], prompt="Does the document answer the query?")["input_ids"][0].tolist(); kw = {}
        else:
            e = t(a, b, truncation=True, max_length=128); ids = e["input_ids"]; kw = {"token_type_ids": torch.tensor([e["token_type_ids"]])} if "token_type_ids" in e and getattr(c, "type_vocab_size", 0) > 1 else {}
        refs["ids"].append(ids); x = torch.tensor([ids])
        def score(q):
            z = q(input_ids=x, **kw).logits[0]
            if arch == "qwen3-reranker": z = z[-1]; return z[t.convert_tokens_to_ids(["yes"])] - z[t.convert_tokens_to_ids(["no"])]
            if arch == "gemma2-score": z = z[-1]; return z[[ce[1].true_token_id]] - z[[ce[1].false_token_id]]
            return heads(z)
        p, q = score(m64), score(m32).double(); tensors[f"{i}.score"] = p.float().contiguous(); tensors[f"{i}.score.error"] = torch.tensor([(p - q).abs().max(), ((p - q) ** 2).mean().sqrt()]).float()
    if c.num_labels > 2: refs["labels"] = [c.id2label[i] for i in range(c.num_labels)]
    json.dump(refs, open(f"{out}/refs.json", "w"), ensure_ascii=False); save_file(tensors, f"{out}/refs.safetensors"); print(arch, seed, sum(p.numel() for p in m.parameters()), "weights", [float(tensors[f"{i}.score"][0]) for i in range(len(pairs))], refs.get("predict"))
if sys.argv[1] == "list": print(*ARCHS)
else: reranker()
