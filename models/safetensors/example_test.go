package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/attn-go/attn/models/safetensors"
)

// A file of one tensor is written, and read as it may lie on a disk.
func ExampleWrite() {
	var file bytes.Buffer
	err := safetensors.Write(&file, map[string]string{"format": "pt"}, []safetensors.Tensor{
		{Name: "weight", Shape: []int{2, 2}, Data: []float32{1, 2, 3, 4}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := safetensors.New(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	weight, err := f.Float32("weight")
	fmt.Println(f.Names(), f.Metadata("format"), weight, err)

	// Output: [weight] pt [1 2 3 4] <nil>
}
