package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/attn-go/attn/models/server"
)

// A server is an http.Handler. The model of this example is tiny, with random weights: what it
// computes means nothing.
func Example() {
	m, err := server.Load("../testdata/tiny/bert-1", server.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Settings{}, m)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(context.Background())
	web := httptest.NewServer(s)
	defer web.Close()

	r, err := http.Post(web.URL+"/v1/embeddings", "application/json", strings.NewReader(`{"model": "bert-1", "input": ["the cat sat", "one two three"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	var answer struct {
		Data []struct{ Embedding []float32 }
	}
	err = json.NewDecoder(r.Body).Decode(&answer)
	fmt.Println(r.StatusCode, len(answer.Data), "vectors of", len(answer.Data[0].Embedding), err)

	// Output: 200 2 vectors of 36 <nil>
}
