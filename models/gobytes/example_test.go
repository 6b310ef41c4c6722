package gobytes_test

import (
	"fmt"

	"github.com/attn-go/attn/models/gobytes"
)

// The model continues a text, always with the most probable byte.
func Example() {
	m, err := gobytes.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := m.NewBatch(1, gobytes.Settings{Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte("for i := 0; i < ")
	next := text
	for range 13 {
		logits, err := b.Forward([][]byte{next})
		if err != nil {
			fmt.Println(err)
			return
		}
		last := logits[0][len(logits[0])-m.Vocab:] // the logits after the last token
		next = []byte{gobytes.Greedy(last)}
		text = append(text, next...)
	}
	fmt.Printf("%q\n", text)
	// Output: "for i := 0; i < len(s); i++ {"
}
