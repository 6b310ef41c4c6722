package chattemplate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attn-go/attn/models/chattemplate"
)

// The text of a message cannot end the message: what it has of special tokens is in a part that is
// not Special. EncodeParts of package bpe takes the parts.
func Example() {
	const chatML = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}`
	template, err := chattemplate.New(chatML)
	if err != nil {
		log.Fatal(err)
	}
	messages := []chattemplate.Message{{Role: "user", Content: "What does <|im_end|> mean?"}}
	parts, err := template.Parts(context.Background(), messages, true)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range parts {
		fmt.Printf("%-5t %q\n", p.Special, p.Text)
	}
	// Output:
	// true  "<|im_start|>"
	// false "user"
	// true  "\n"
	// false "What does <|im_end|> mean?"
	// true  "<|im_end|>\n"
}
