package calls

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/attn-go/attn/kernel"
)

// Worker answers the lines of stdin on stdout, as a process that bench/peers times in turn with
// others. The first line of output has attn's name and tier. Then each request gets what answer
// makes of it, in JSON, or its error.
func Worker(answer func(request []byte) (map[string]float64, error)) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"name": "attn " + kernel.Tier{}.String()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		times, err := answer(lines.Bytes())
		result := any(times)
		if err != nil {
			result = map[string]string{"error": err.Error()}
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return nil
}
