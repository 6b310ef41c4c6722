#!/usr/bin/env python3
"""Speed of Hugging Face's tokenizers on one thread, for the texts and vocabularies of BenchmarkEncode in ../tokenizer.

usage: encode.py FOLDER      FOLDER has the tokenizer.json of all-MiniLM-L6-v2
needs: pip install tokenizers==0.23.3
prints MB/s, the best of five runs of each
"""
import os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.pop(0)  # this file has the name of the package
from tokenizers import Tokenizer

TEXTS = {
    "prose": "The quick brown fox doesn't jump over 12 lazy dogs, because it's raining in Paris; übrigens auch in Köln.\n" * 1000,
    "code": "\tfor i := range n {\n\t\tsum += float64(x[i]) * 0.5\n\t}\n" * 2000,
    "chinese": "人人生而自由，在尊严和权利上一律平等。" * 2000,
}
HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {"minilm": os.path.join(sys.argv[1], "tokenizer.json")} | {n: f"{HERE}/../tokenizer/testdata/{n}.json" for n in ("gpt2", "llama2", "unigram", "charsmap")}
for name, path in MODELS.items():
    t = Tokenizer.from_file(path)
    t.no_truncation()
    t.no_padding()
    for what, text in TEXTS.items():
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            t.encode(text)
            best = min(best, time.perf_counter() - start)
        print("model=%s/text=%s  %.1f MB/s" % (name, what, len(text.encode()) / best / 1e6), flush=True)
