package grammar

import (
	_ "embed"
	"encoding/json"
)

//go:embed testdata/schemas.json
var schemasFile []byte

// schemas are some of everything that is taken, with texts that satisfy it, texts that do
// not, and texts that the grammar does not have though they do, or that a validator takes.
var schemas = func() (list []struct {
	Schema  json.RawMessage
	Yes, No []json.RawMessage
	Never   []string
}) {
	if err := json.Unmarshal(schemasFile, &list); err != nil {
		panic(err)
	}
	return list
}()
