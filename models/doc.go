// Package models is the root of a module with whole models on attn's kernels: sentence
// embeddings in package encoder, text generation in package decoder, and what they need of file
// formats and tokenizers. Package command is what the commands of this and other modules share.
package models
