package arch

// A Family is what all models of a kind have in common.
type Family struct {
	Types   []string // model_type of config.json
	Classes []string // how names of classes in its architectures begin; nil if they are not compared
	GGUF    string   // general.architecture of a GGUF file; "" if there is none
	Names   Names    // of tensors in folders

	Interleaved bool // GGUF files have queries and keys whose neighbours rotate together

	Ignored []string // beginnings of names of tensors in folders that nothing depends on
	Period  int      // every n-th layer sees all tokens, where files do not say it; 0: none
}

// Names are those that tensors have in folders, by the ones that they have in GGUF files, without
// .weight and .bias. The number of a layer is %d and that of an expert %e. A name that is missing is a
// tensor that the family does not have.
type Names map[string]string
