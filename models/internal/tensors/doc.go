// Package tensors reads the weights of models. A [Store] has the tensors of a folder as
// Hugging Face has it, of a file of PyTorch or of GGUF files, by the names of the files.
// A [Reader] takes them out of a store by the names of a model, checks their shapes, and
// packs linear layers. It also checks a model of which nothing is read, for an inventory.
//
// Nothing of a file is left out in silence: the store knows which tensors have been asked
// for, and [Store.Unused] reports the others.
package tensors
