#!/usr/bin/env python3
"""Makes strings-bpe.json: random strings and their token ids with Hugging Face's tokenizers, for the splitting rules of GGUF files.

usage: strings-bpe.py SmolLM2-135M-Instruct.Q4_1.gguf [NUMBER] > strings-bpe.json   NUMBER of strings by rule: 150
needs: pip install gguf==0.19.0 tokenizers==0.23.3, Python 3.12 (its Unicode version is that of Go 1.26)
The vocabulary is that of the file for all rules.
"""
import json, random, sys, unicodedata
from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers as pt

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
byte_level = lambda regex: pt.ByteLevel(add_prefix_space=False, use_regex=regex)
RULES = {
    "smollm": pt.Sequence([pt.Digits(individual_digits=True), byte_level(True)]),
    "gpt-2": byte_level(True),
    "llama-bpe": pt.Sequence([pt.Split(Regex(LLAMA3), "isolated"), byte_level(False)]),
    "qwen2": pt.Sequence([pt.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"), byte_level(False)]),
}
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\r", "\u00a0", "\u3000", "\u2028", "\v", "\x85", "\u200b", "\ufeff"]
ENDINGS = ["'s", "'S", "'t", "'re", "'RE", "'rE", "'ve", "'m", "'M", "'ll", "'LL", "'d", "'", "'\u017f", "\u2019s"]
NO_TOKEN = ["\x04", "\x06", "\x13", "\x14", "\x16", "\x1d", "\U00050000", "\U000b1234"]

def main():
    fields = {k: f.contents() for k, f in GGUFReader(sys.argv[1]).fields.items() if k.startswith("tokenizer")}
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    tokens = fields["tokenizer.ggml.tokens"]
    special = [s for s, k in zip(tokens, fields["tokenizer.ggml.token_type"]) if k == 3]
    words = [s.replace("\u0120", " ") for s in tokens if s.replace("\u0120", "").isascii()]
    by_category = {}
    for c in map(chr, range(0x110000)):
        if unicodedata.category(c) not in ("Cs", "Cn"): by_category.setdefault(unicodedata.category(c), []).append(c)
    categories = sorted(by_category)

    def piece(rnd):
        r = rnd.random()
        if r < .30: return rnd.choice(words)
        if r < .35: return rnd.choice(words).upper()
        if r < .48: return rnd.choice(SPACES)
        if r < .56: return rnd.choice(ENDINGS)
        if r < .62: return str(rnd.randrange(10 ** rnd.randrange(1, 9)))
        if r < .68: return rnd.choice('.,;:!?-"()[]{}$+<=>^`|~_#@%&*/\\') * rnd.choice([1, 1, 2, 5])
        if r < .70: return "".join(rnd.choice("abcdefgh") for _ in range(rnd.choice([30, 60, 200])))
        if r < .73: return rnd.choice(special)
        if r < .74: return rnd.choice(special)[:-1]
        if r < .75: return rnd.choice(NO_TOKEN)
        return rnd.choice(by_category[rnd.choice(categories)])

    rows = []
    for rule, pre in RULES.items():
        t = Tokenizer(models.BPE(vocab={s: i for i, s in enumerate(tokens)}, merges=[tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"]], ignore_merges=rule == "llama-bpe"))
        t.pre_tokenizer = pre
        t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in special])
        rnd = random.Random(1)
        for _ in range(number):
            text = "".join(piece(rnd) for _ in range(rnd.choice([1, 2, 3, 5, 8, 13, 20])))
            row = dict(pre=rule, text=text)
            for key, plain in (("ids", False), ("ids_plain", True)):
                t.encode_special_tokens = plain
                row[key] = t.encode(text, add_special_tokens=False).ids
            rows.append(row)
    print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")

if __name__ == "__main__": main()
