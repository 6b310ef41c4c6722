package lora_test

import (
	"fmt"

	"github.com/attn-go/attn/models/lora"
)

// The flag -lora of the commands takes a path, or a path and a scale.
func ExampleParse() {
	for _, text := range []string{"adapter", "adapter=0.5", "adapter=half"} {
		a, err := lora.Parse(text)
		fmt.Printf("%+v %v\n", a, err)
	}

	// Output:
	// {Path:adapter Scale:0} <nil>
	// {Path:adapter Scale:0.5} <nil>
	// {Path:adapter=half Scale:0} <nil>
}
