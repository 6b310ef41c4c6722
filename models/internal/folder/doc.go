// Package folder reads what the folder of a model, as Hugging Face has it, says beside its weights:
// config.json and other JSON files, and the modules of sentence-transformers.
package folder
