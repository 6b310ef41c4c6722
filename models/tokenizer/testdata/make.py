#!/usr/bin/env python3
"""Trains small tokenizers of every kind and writes what Hugging Face's tokenizers make of 10,000 lines.

usage: make.py [-only NAME,...] [FULL]   writes NAME.json, pieces.json and references.json beside itself, or only what these tokenizers have in
                              them; with FULL, a folder, also all ids
needs: pip install tokenizers==0.23.3 sentencepiece==0.2.3, Python 3.12
Lines are put together from pieces.json by a generator that the Go test has as well. references.json has hashes of the ids of every
500 lines. Python's strings cannot have bytes that are not UTF-8. So the lines of `broken` are compared like this: where a vocabulary
has characters, the reference is that of U+FFFD in place of such bytes, as bytes.decode(errors="replace") puts it; where it has bytes,
the text is split with U+FFFD in place of each such byte, which is then put back, and the model is asked for the pieces.
"""
import base64, hashlib, io, json, os, random, struct, sys, tempfile, unicodedata
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers as pre, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
LINES, BLOCK, BROKEN = 10000, 500, 1000
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = rf"[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+{END}|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*{END}|\p{{N}}{{1,3}}" + TAIL
TEKKEN = rf"[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*|\p{{N}}" + TAIL
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]

QWEN35 = LLAMA3.replace("{1,3}", "").replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
CJK = r"[\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+"
CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"]
# The letters of deepseek-llm are those of scripts with two cases, as of Unicode 11.
CASED = r"[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+"
DEEPSEEK_LLM = [r"[\r\n]", r"\s?" + CASED, r"\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+", r"\s+$", CJK, r"\p{N}"]
DEFAULT = [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]

TEXTS = ["The cat sits on the mat.", "What is attention? It is a weighted mean of values; the weights are a softmax of scores.", "func main() {\n\tfor i := range 10 {\n\t\tfmt.Println(i*i, \"done\")\n\t}\n}",
  "def f(x: int) -> str:\n    return f\"{x!r}\" if x > 0 else None  # TODO", "SELECT a, COUNT(*) FROM t WHERE b <> 'x' GROUP BY a;", "Grüße aus Zürich, naïve café №5 ½ ﬁn. Ærøskøbing, Łódź, Příliš žluťoučký kůň",
  "日本語のテキストと漢字。 カタカナ、ひらがな。 中文也可以，北京大学。 한국어 문장입니다.", "emoji 👩‍👩‍👧 🇨🇭 ok 🙂🙂 👍🏽 ❤️ ✈︎ ☕", "Привет, мир! Это русский текст. Їжак і ґанок", "مرحبا بالعالم ١٢٣ هذا نص عربي", "שלום עולם, זה טקסט", "नमस्ते दुनिया यह हिन्दी है १२३",
  "สวัสดีชาวโลก ภาษาไทย", "Γειά σου Κόσμε, ΣΊΣΥΦΟΣ", "Xin chào thế giới tiếng Việt", "İstanbul ıĞ şç", "1234567890 3.14159 1,000,000 0x1F 1e-5 ²³ Ⅷ ⅓", "don't can't I'll we've it's O'Neil's I'M YOU'RE ſ's", "https://example.org/a?b=c&d=e#f user@example.org",
  "ALL CAPS and MixedCase and snake_case and camelCase HTTPServer", "ᄒ á é ñ ö ﷺ ㈱ Å ℌ ① ｱｲｳ ＡＢＣ", "the quick brown fox jumps over the lazy dog"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\u00a0", "\u3000", "\u2003", "\u200b", "\ufeff", "\u2028", "\x85", "\v"]
SIGNS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "--", "==", "!=", "->", "```", "“", "”", "—", "…", "€", "£", "。", "、", "¿", "«", "»", "\x00", "\x07", "\x7f", "\u0301", "\u0323\u0301", "\u200d", "\ufe0f"]
MARKS = ["[SEP]", "[MASK]", "<s>", "</s>", "<mask>", "<|im_start|>", "<|im_end|>", "<pad>", "<unk>", "<eos>", "<0x41>", "▁", "new york", "NEW", "cat-like", "<|im_en"]
BAD = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80"]

def pieces():
    words = sorted({w for t in TEXTS for w in t.replace("\n", " ").replace("\t", " ").split(" ") if w})
    words += sorted({w[:k] for w in words for k in (1, 3) if len(w) > k})
    r, known = random.Random(1), sorted({c for t in TEXTS for c in t})
    other = [c for c in map(chr, range(0x20, 0x1f000)) if unicodedata.category(c)[0] in "LNPS" and unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)]
    words += ["".join(r.choices(known, k=r.randrange(1, 8))) for _ in range(150)] + r.sample(other, 400)
    return {"words": words, "spaces": SPACES, "signs": SIGNS, "marks": MARKS, "broken": [b.hex() for b in BAD]}

class Generator:
    """The numbers of PCG's multiplier; Go's test has the same."""
    def __init__(self, seed): self.x = seed
    def below(self, n):
        self.x = (self.x * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        return (self.x >> 33) % n
    def line(self, p, broken):
        out = b""
        for _ in range(1 + self.below(24)):
            k = self.below(100)
            name = "words" if k < 60 else "spaces" if k < 62 else "signs" if k < 90 else "marks" if k < 93 and not broken else "words"
            out += p[name][self.below(len(p[name]))].encode()
            if broken and k % 5 == 0: out += bytes.fromhex(p["broken"][self.below(len(p["broken"]))])
            if self.below(3) > 0: out += b" "
        return out

def corpus():
    r = random.Random(7); words = " ".join(TEXTS).split()
    return TEXTS * 3 + [" ".join(r.choices(words, k=12)) for _ in range(400)]
def train(t, trainer): t.train_from_iterator(corpus(), trainer); return t
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
def wordpiece(normalizer, split=None):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]")); t.normalizer = normalizer; t.pre_tokenizer = split or pre.BertPreTokenizer(); t.decoder = decoders.WordPiece()
    return train(t, trainers.WordPieceTrainer(vocab_size=500, special_tokens=BERT))
def bert():
    t = wordpiece(normalizers.BertNormalizer()); t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]); return t
def bert_cased():
    t = wordpiece(normalizers.BertNormalizer(lowercase=False, strip_accents=False)); t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)); return t
def steps():
    t = wordpiece(normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Replace(Regex(r"\s{2,}"), " "), normalizers.Strip()]), pre.Sequence([pre.Whitespace(), pre.Digits(individual_digits=False), pre.Punctuation("contiguous")]))
    t.add_tokens([AddedToken("new york", normalized=True), AddedToken("NEW", single_word=True), AddedToken("cat-like", lstrip=True), AddedToken("<eos>", rstrip=True, normalized=False)])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<s>", rstrip=True)]); return t
def bytes_bpe(split=None, normalizer=None, whole=False, prefix=False, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>"), size=600):
    t = Tokenizer(models.BPE(ignore_merges=whole)); t.decoder = decoders.ByteLevel()
    if normalizer: t.normalizer = normalizer
    t.pre_tokenizer = pre.Sequence([pre.Split(Regex(s), "isolated") for s in split] + [pre.ByteLevel(add_prefix_space=False, use_regex=False)]) if split else pre.ByteLevel(add_prefix_space=prefix)
    return train(t, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=sorted(pre.ByteLevel.alphabet())))
def falcon():
    """Digits and Split see the letters that ByteLevel has made of bytes, of which ¼ and others are numbers."""
    t = bytes_bpe(); t.pre_tokenizer = pre.Sequence([pre.Punctuation("contiguous"), pre.ByteLevel(add_prefix_space=False), *LETTERS["falcon"]])
    return train(t, trainers.BpeTrainer(vocab_size=600, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"], initial_alphabet=sorted(pre.ByteLevel.alphabet())))
def roberta():
    t = bytes_bpe(prefix=True, special=["<s>", "<pad>", "</s>", "<unk>"]); t.add_special_tokens([AddedToken("<mask>", lstrip=True)]); t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0)); return t
def llama3():
    t = bytes_bpe([LLAMA3], whole=True); t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<|im_start|> $A", pair="<|im_start|> $A <|im_start|>:1 $B:1", special_tokens=[("<|im_start|>", 1)])]); return t
XLM = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
def unigram(normalizer, split, **k):
    t = Tokenizer(models.Unigram()); t.normalizer = normalizer; t.pre_tokenizer = split; t.decoder = decoders.Metaspace()
    train(t, trainers.UnigramTrainer(vocab_size=500, special_tokens=XLM, unk_token="<unk>", **k)); t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]); return t
def charsmap_rules():
    """Rules for SentencePiece to compile: NFKC of the characters of the corpus and of some more, and spaces for control characters."""
    rules = {(c,): [" "] for c in "\t\n\r\u00a0\u3000\u200b\ufeff"} | {(c,): [] for c in "\x07\x7f"}
    for c in map(chr, list(range(0xa0, 0x250)) + list(range(0x2100, 0x2200)) + list(range(0x2460, 0x24c0)) + list(range(0xff00, 0xffa0)) + list(range(0xfb00, 0xfb07))):
        n = unicodedata.normalize("NFKC", c)
        if n != c and (c,) not in rules: rules[(c,)] = list(n)
        d = tuple(unicodedata.normalize("NFD", c))
        if len(d) > 1: rules[d] = list(unicodedata.normalize("NFC", c))
    return "".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in sorted(rules.items()))
def charsmap():
    sys.path.append(os.environ.get("SENTENCEPIECE", "")); import sentencepiece as sp
    path = os.path.join(tempfile.mkdtemp(), "rules.tsv"); open(path, "w").write(charsmap_rules())
    model = io.BytesIO(); sp.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=model, vocab_size=400, hard_vocab_limit=False, normalization_rule_tsv=path, minloglevel=2)
    data = model.getvalue(); i = 0  # protobuf: field 3 of the model is its normalizer, field 2 of that the rules
    def fields(b):
        i = 0
        def varint():
            nonlocal i; n = s = 0
            while True:
                c = b[i]; i += 1; n |= (c & 127) << s; s += 7
                if c < 128: return n
        while i < len(b):
            k = varint(); w = k & 7
            if w == 2: n = varint(); yield k >> 3, b[i:i + n]; i += n
            elif w == 0: varint()
            else: i += 4 if w == 5 else 8
    return next(v for k, v in fields(next(v for k, v in fields(data) if k == 3)) if k == 2)
def sentencepiece(kind, lines, **k):
    """A vocabulary of SentencePiece in the words of GGUF files, and its ids of the lines."""
    sys.path.append(os.environ.get("SENTENCEPIECE", "")); import sentencepiece as sp
    model = io.BytesIO(); sp.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=model, model_type=kind, hard_vocab_limit=False, minloglevel=2, **k)
    m = sp.SentencePieceProcessor(model_proto=model.getvalue()); n = range(m.vocab_size())
    kinds = [2 if m.is_unknown(i) else 3 if m.is_control(i) else 6 if m.is_byte(i) else 5 if m.is_unused(i) else 1 for i in n]
    return {"tokens": [m.id_to_piece(i) for i in n], "scores": [m.get_score(i) for i in n], "types": kinds}, [m.encode(x) for x in lines], [m.decode(m.encode(x)).encode() for x in lines]
def xlm_charsmap():
    old = os.path.join(HERE, "charsmap.json")  # kept, as SentencePiece is not needed for anything else
    m = base64.b64decode(json.load(open(old))["normalizer"]["normalizers"][0]["precompiled_charsmap"]) if os.path.exists(old) else charsmap()
    return unigram(normalizers.Sequence([normalizers.Precompiled(m), normalizers.Replace(Regex(" {2,}"), " ")]), pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()]))
def sp_bpe(normalizer, split, decoder, special=("<pad>", "<eos>", "<bos>", "<unk>")):
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True)); t.normalizer = normalizer
    if split: t.pre_tokenizer = split
    t.decoder = decoder
    train(t, trainers.BpeTrainer(vocab_size=700, special_tokens=list(special) + ["<0x%02X>" % i for i in range(256)], limit_alphabet=120))
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)]); return t
SP = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
SP_DECODER = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
LETTERS = {"falcon": [pre.Digits(individual_digits=False), pre.Split(Regex("[0-9][0-9][0-9]"), "isolated")]}
ALL = {
  "bert": bert, "bert-cased": bert_cased, "steps": steps, "gpt2": bytes_bpe, "roberta": roberta, "llama3": llama3, "qwen2": lambda: bytes_bpe([QWEN2], normalizers.NFC()), "gpt4o": lambda: bytes_bpe([GPT4O]), "tekken": lambda: bytes_bpe([TEKKEN], whole=True),
  "deepseek": lambda: bytes_bpe(DEEPSEEK), "smollm": lambda: bytes_bpe([r"\p{N}", GPT2]),
  "falcon": falcon, "deepseek-coder": lambda: bytes_bpe(CODER), "deepseek-llm": lambda: bytes_bpe(DEEPSEEK_LLM), "qwen35": lambda: bytes_bpe([QWEN35], normalizers.NFC()), "default": lambda: bytes_bpe(DEFAULT),
  "unigram": lambda: unigram(normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]), pre.Metaspace()), "unigram-whole": lambda: unigram(normalizers.Nmt(), pre.Metaspace(prepend_scheme="first", split=False)), "charsmap": xlm_charsmap,
  "llama2": lambda: sp_bpe(SP, None, SP_DECODER), "mistral": lambda: sp_bpe(normalizers.Sequence([]), pre.Metaspace(prepend_scheme="first", split=False), SP_DECODER),
  "gemma": lambda: sp_bpe(normalizers.Replace(" ", "▁"), pre.Split(" ", "merged_with_previous"), decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])),
}
SPLITS = {"gpt2": [GPT2], "roberta": [GPT2], "llama3": [LLAMA3], "qwen2": [QWEN2], "gpt4o": [GPT4O], "tekken": [TEKKEN], "deepseek": DEEPSEEK, "smollm": [r"\p{N}", GPT2],
  "falcon": [r"[\p{P}$+<=>^~|`]+", GPT2], "deepseek-coder": CODER, "deepseek-llm": DEEPSEEK_LLM, "qwen35": [QWEN35], "default": DEFAULT}

def alphabet():
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]; out = {b: chr(b) for b in keep}; n = 256
    for b in range(256):
        if b not in out: out[b] = chr(n); n += 1
    return out
def broken_bytes(name, t, line):
    """Ids of bytes that need not be UTF-8, with a byte-level vocabulary."""
    text, bad, i = "", [], 0
    while i < len(line):
        for n in (1, 2, 3, 4):
            try: text += line[i:i + n].decode(); i += n; break
            except UnicodeDecodeError: pass
        else: text += "\ufffd"; bad.append(line[i:i + 1]); i += 1
    if name == "roberta" and not text.startswith(" "): text = " " + text
    if t.normalizer: text = t.normalizer.normalize_str(text)
    ids, letters = [], alphabet(); bad = iter(bad)
    for piece, _ in pre.Sequence([pre.Split(Regex(s), "isolated") for s in SPLITS[name]]).pre_tokenize_str(text):
        data = b"".join(next(bad) if c == "\ufffd" else c.encode() for c in piece)
        for part, _ in pre.Sequence(LETTERS.get(name, [])).pre_tokenize_str("".join(letters[b] for b in data)): ids += [x.id for x in t.model.tokenize(part)]
    return ids

def hashes(rows):
    out = []
    for i in range(0, len(rows), BLOCK):
        h = hashlib.sha256()
        for row in rows[i:i + BLOCK]: h.update(struct.pack("<i", len(row)) + (row if isinstance(row, bytes) else struct.pack("<%di" % len(row), *row)))
        out.append(h.hexdigest()[:16])
    return out

def main():
    only = sys.argv[2].split(",") if sys.argv[1:2] == ["-only"] else None
    if only: del sys.argv[1:3]; p = json.load(open(f"{HERE}/pieces.json"))
    else: p = pieces(); json.dump(p, open(f"{HERE}/pieces.json", "w"), ensure_ascii=False, indent=0)
    g = Generator(1); lines = [g.line(p, False).decode() for _ in range(LINES)]; bad = [g.line(p, True) for _ in range(BROKEN)]
    refs = json.load(open(f"{HERE}/references.json")) if only else {}
    for name, make in ALL.items():
        if only and name not in only: continue
        t = make(); data = json.loads(t.to_str()); json.dump(data, open(f"{HERE}/{name}.json", "w"), ensure_ascii=False, separators=(",", ":"))
        t = Tokenizer.from_file(f"{HERE}/{name}.json")
        rows = {"ids": [t.encode(x).ids for x in lines]}
        t.encode_special_tokens = True; rows["plain"] = [t.encode(x, add_special_tokens=False).ids for x in lines]; t.encode_special_tokens = False
        pairs = [t.encode(a, b) for a, b in zip(lines[::2], lines[1::2])]
        rows["pairs"] = [e.ids for e in pairs]; rows["types"] = [e.type_ids for e in pairs]
        t.enable_truncation(20); rows["cut"] = [t.encode(a, b).ids for a, b in zip(lines[::2], lines[1::2])]; t.no_truncation()
        rows["text"] = [t.decode(x, skip_special_tokens=False).encode() for x in rows["ids"]]
        rows["text without special"] = [t.decode(x).encode() for x in rows["ids"]]
        rows["broken"] = [broken_bytes(name, t, x) if name in SPLITS else t.encode(x.decode(errors="replace"), add_special_tokens=False).ids for x in bad]
        refs[name] = {k: hashes(v) for k, v in rows.items()}
        if len(sys.argv) > 1: os.makedirs(sys.argv[1], exist_ok=True); json.dump({k: [r.decode() if isinstance(r, bytes) else r for r in v] for k, v in rows.items()}, open(f"{sys.argv[1]}/{name}.json", "w"), ensure_ascii=False)
        print(name, t.get_vocab_size(), sum(map(len, rows["ids"])), flush=True)
    json.dump(refs, open(f"{HERE}/references.json", "w"), indent=0)
    if only: return
    path = os.path.join(tempfile.mkdtemp(), "rules.tsv"); open(path, "w").write(charsmap_rules())
    spaced = [x.replace("\0", "") for x in lines]  # SentencePiece ends a text at a zero
    vocabularies = {}
    for name, (v, ids, texts) in {"llama": sentencepiece("bpe", spaced, vocab_size=700, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False), "t5": sentencepiece("unigram", spaced, vocab_size=400, normalization_rule_tsv=path)}.items():
        vocabularies[name] = v | {"ids": hashes(ids), "text": hashes(texts)}
        if len(sys.argv) > 1: json.dump({"ids": ids, "text": [x.decode() for x in texts]}, open(f"{sys.argv[1]}/{name}.json", "w"), ensure_ascii=False)
    json.dump(vocabularies, open(f"{HERE}/sentencepiece.json", "w"), ensure_ascii=False, separators=(",", ":"))
if __name__ == "__main__": main()
