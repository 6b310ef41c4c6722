package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/strict"
)

const mostWidth = 1 << 20

// sentence is the key under which the modules of an embedder hand a vector on.
var sentence = strict.Only("null", `"sentence_embedding"`)

var denseKeys = strict.Table{
	"in_features": strict.Any, "out_features": strict.Any, "bias": flag, "activation_function": strict.Any, "use_residual": flag,
	"module_input_name": sentence, "module_output_name": sentence,
}

func (f *Folder) dense(at string) (*embedding.DenseModule, error) {
	c := struct {
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       bool   `json:"bias"`
		Activation string `json:"activation_function"`
		Residual   bool   `json:"use_residual"`
	}{Bias: true, Activation: "Tanh"} // the defaults of sentence-transformers
	name := at + "/config.json"
	if _, err := f.known(name, denseKeys); err != nil {
		return nil, err
	}
	if err := f.JSON(name, &c); err != nil {
		return nil, err
	}
	if err := errors.Join(f.width(name, "in_features", c.In), f.width(name, "out_features", c.Out)); err != nil {
		return nil, err
	}
	act := c.Activation[strings.LastIndex(c.Activation, ".")+1:]
	if act == "Identity" {
		act = ""
	}
	return &embedding.DenseModule{Folder: at, In: c.In, Out: c.Out, Bias: c.Bias, Activation: act, Residual: c.Residual}, nil
}

// width checks the width of a vector.
func (f *Folder) width(name, key string, n int) error {
	if n < 1 || n > mostWidth {
		return &kernel.Error{Where: f.Path(name) + ": " + key, Got: fmt.Sprint(n), Want: fmt.Sprintf("1 to %d", mostWidth)}
	}
	return nil
}

func (f *Folder) layerNorm(at string) (*embedding.NormModule, error) {
	var c struct {
		Width int `json:"dimension"`
	}
	name := at + "/config.json"
	if _, err := f.known(name, strict.Table{"dimension": strict.Any}); err != nil {
		return nil, err
	}
	if err := f.JSON(name, &c); err != nil {
		return nil, err
	}
	return &embedding.NormModule{Folder: at, Width: c.Width}, f.width(name, "dimension", c.Width)
}

// readNormalize reads the config.json that the division by the L2 norm has since version 6.
func (f *Folder) readNormalize(at string) error {
	if at == "" || at == "." { // where config.json is the model's
		return nil
	}
	_, err := f.known(at+"/config.json", strict.Table{"module_input_name": sentence, "module_output_name": sentence})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
