// Package folder reads the folder of a model as Hugging Face has it: config.json and other JSON
// files, the tensors of model.safetensors, pytorch_model.bin or their shards, and the modules of
// sentence-transformers.
//
// Nothing of a folder is left out in silence. A reader asks for tensors one by one, and
// [Folder.Unused] then reports what nobody has asked for.
package folder
