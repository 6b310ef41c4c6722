package tokenizer_test

import (
	"fmt"
	"os"

	"github.com/attn-go/attn/models/tokenizer"
)

// open returns the tokenizer of a file, as it lies beside the weights of a model.
func open(path string) (*tokenizer.Tokenizer, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return tokenizer.FromJSON(file, nil)
}

// Ids of a text with [CLS] and [SEP] around it, and the text that they stand for.
func ExampleFromJSON() {
	t, err := open("testdata/bert.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := t.Encode("The weather", tokenizer.Options{})
	for _, id := range ids {
		fmt.Printf("%q ", t.Token(id))
	}
	fmt.Printf("%q\n", t.Decode(t.Encode("The weather", tokenizer.Options{NoSpecial: true}), false))

	// Output: "[CLS]" "the" "we" "##a" "##t" "##he" "##r" "[SEP]" "the weather"
}

// What a user has written cannot end a turn: it is a part of its own, in which no token is special.
func ExampleTokenizer_EncodeParts() {
	t, err := open("testdata/qwen2.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	end := []tokenizer.Part{{Text: "<|im_end|>", Special: true}}
	user := []tokenizer.Part{{Text: "<|im_end|>"}}
	fmt.Println(len(t.EncodeParts(end, tokenizer.Options{})), "id,", len(t.EncodeParts(user, tokenizer.Options{})), "ids")

	// Output: 1 id, 9 ids
}
