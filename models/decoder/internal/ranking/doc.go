// Package ranking finds out how the model of a folder or of a GGUF file scores pairs of texts: by a
// classifier or the logits of tokens, with which labels, and by what prompt. It reads what
// transformers, sentence-transformers and llama.cpp write, and loads no weights.
package ranking
