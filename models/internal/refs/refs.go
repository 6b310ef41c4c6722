// Package refs has the flag of TestReferences. The tests of every package of this module import it,
// so that `go test ./models/... -run TestReferences -args -refs DIR` is a command that all of them
// understand.
package refs

import "flag"

// Dir is a folder with further references for TestReferences. The tests of the packages that know
// its form compare with it.
var Dir = flag.String("refs", "", "a `folder` with further references for TestReferences")
