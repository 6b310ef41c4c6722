package arch

// A Family is what all models of a kind have in common.
type Family struct {
	Types   []string // model_type of config.json
	Classes []string // how names of classes in its architectures begin; nil if they are not compared
	GGUF    string   // general.architecture of a GGUF file; "" if there is none
	Names   Names    // of tensors in folders

	FinalNorm   string // what GGUF files call output_norm, where they have none
	Interleaved bool   // GGUF files have queries and keys whose neighbours rotate together

	InTurn bool // experts in folders have the gate and the layer up in one tensor, output by output in turn

	Words *Words // the head that predicts words, of folders, or nil

	// Ahead are beginnings of names in folders of the layer that guesses further tokens, behind
	// "mtp.", and of the names that others have for them behind the number of a layer. It is nil
	// where files count that layer among the others.
	Ahead [][2]string

	Ignored []string // beginnings of names of tensors in folders that nothing depends on
	Period  int      // every n-th layer sees all tokens, where files do not say it; 0: none
}

// Words are the names of a head that predicts words, whole ones. Its table is Decoder if a file has
// that, and else the embedding of words. Its activation is the layers', or always GELU.
type Words struct {
	Dense, Norm, Bias, Decoder string
	GELU                       bool
}

// Names maps names of tensors in GGUF files to names in folders. Both lack .weight and .bias; where
// the two end differently, both are whole. %d is the number of a layer, %e the number of an expert.
// A family has no tensors but these.
type Names map[string]string
