// Package models opens models from the files that they come in, whatever they are: [Describe] says
// what a folder or a GGUF file has, [Open] loads it, and [Inspect] says what loading would need and
// lack.
//
// Below it, packages encoder, decoder and static compute, each with the architectures that it
// documents. Packages for file formats, tokenizers and templates are below these, and package
// command is what the commands of this and other modules share.
package models
