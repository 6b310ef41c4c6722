// Package stores reads the tensors of a decoder out of a GGUF file or a folder as Hugging Face has
// it, by the names that GGUF files have. It finds out which of them nobody asks for.
package stores
