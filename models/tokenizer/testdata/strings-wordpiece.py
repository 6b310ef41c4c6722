#!/usr/bin/env python3
"""Makes strings-wordpiece.json: random strings and their token ids with Hugging Face's tokenizers.

usage: strings-wordpiece.py FOLDER [NUMBER] > strings-wordpiece.json   FOLDER has the tokenizer.json of all-MiniLM-L6-v2; NUMBER of strings: 400
needs: pip install tokenizers==0.23.3, Python 3.12 (its Unicode version is that of Go 1.26)
Left out are characters that have another category in the library's older tables than in Unicode 15.0 (568 of them).
"""
import json, random, sys, unicodedata
from tokenizers import Tokenizer

SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\v", "\x85", "\u200b"]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[cls]", "[MASK", "[[SEP]]"]

def main():
    t = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    t.no_padding()
    t.enable_truncation(256)
    category = unicodedata.category

    def clear(c):  # the library treats the character as its category says
        k = category(c)
        if c in "\0\t\n\r\ufffd": return True
        if k in ("Mn", "Cc", "Cf", "Co"): return t.normalizer.normalize_str(c) == ""
        alone = len(t.pre_tokenizer.pre_tokenize_str(t.normalizer.normalize_str("a" + c + "b"))) == 3
        return t.normalizer.normalize_str(c) != "" and (alone or k[0] != "P") and (not alone or k[0] != "M" and k != "So")

    by_category = {}
    for c in map(chr, range(0x110000)):
        if category(c) not in ("Cs", "Cn") and clear(c): by_category.setdefault(category(c), []).append(c)
    categories = sorted(by_category)
    words = sorted(w for w in t.get_vocab() if not w.startswith("["))
    letters = [c for k in ("Lu", "Ll") for c in by_category[k]]
    marks = [c for k in ("Mn", "Mc") for c in by_category[k] if unicodedata.combining(c)]
    kept = [c for c in marks if category(c) != "Mn"]
    rnd = random.Random(1)

    def piece():
        r = rnd.random()
        if r < .25:
            w = rnd.choice(words).removeprefix("##")
            return rnd.choice([w, w.upper(), w.title()])
        if r < .35: return rnd.choice(SPACES)
        if r < .42: return rnd.choice(".,;:!?-'\"()[]{}$+<=>^`|~_#@%&*/\\")
        if r < .50: return rnd.choice(letters)
        if r < .56: return rnd.choice("abcdefXYZ") + "".join(rnd.choice(marks) for _ in range(rnd.choice([1, 2, 3, 6])))
        if r < .57: return "a" + "".join(rnd.choice(marks + kept * 20) for _ in range(rnd.choice([5, 40, 70])))
        if r < .61: return chr(rnd.randrange(0xac00, 0xd7a4))
        if r < .63: return chr(rnd.choice([rnd.randrange(0x4e00, 0xa000), rnd.randrange(0x3400, 0x4dc0), rnd.randrange(0x20000, 0x2a6df), rnd.randrange(0xf900, 0xfa6d), rnd.randrange(0x2f800, 0x2fa1d)]))
        if r < .65: return rnd.choice(SPECIAL)
        if r < .66: return "".join(rnd.choice("abcde\u00e9") for _ in range(rnd.choice([99, 100, 101, 130])))
        if r < .70: return str(rnd.randrange(10 ** rnd.randrange(1, 9)))
        return rnd.choice(by_category[rnd.choice(categories)])

    rows = []
    for _ in range(number):
        text = "".join(piece() for _ in range(rnd.choice([1, 2, 3, 5, 8, 13, 20])))
        if rnd.random() < .01: text *= 40
        rows.append(dict(text=text, ids=t.encode(text).ids))
    print('{"texts": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]}")

if __name__ == "__main__": main()
