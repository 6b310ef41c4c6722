// Package tokenizer turns texts into the token ids of a model and back, with what the model's file
// or folder says of it: tokenizer.json as Hugging Face has it, or a GGUF file.
package tokenizer
