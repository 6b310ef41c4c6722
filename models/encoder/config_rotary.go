package encoder

import (
	"fmt"
	"strconv"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/folder"
)

// A rotary is a value of rope_parameters.
type rotary struct {
	Base float64 `json:"rope_theta"`
	Kind string  `json:"rope_type"`
}

func checkRotary(f *folder.Folder, r rotary) error {
	if r.Kind != "" && r.Kind != "default" {
		return &kernel.Error{Where: f.Path(configName) + ": rope_type", Got: strconv.Quote(r.Kind), Want: `"default"`}
	}
	if !(r.Base >= 1 && r.Base <= 1<<64) {
		return &kernel.Error{Where: f.Path(configName) + ": rope_theta", Got: fmt.Sprint(r.Base), Want: "1 to 2^64"}
	}
	return nil
}

func readNomic(f *folder.Folder) (*spec, error) {
	c := &struct {
		common
		Rotary   rotary `json:"rope_parameters"`
		HeadSize *int   `json:"head_dim"`
		publishedNomic
	}{common: common{Epsilon: 1e-12, Act: "silu", Types: 2}, Rotary: rotary{Base: 1000}}
	if err := decode(f, c, nomicOnly); err != nil {
		return nil, err
	}
	if c.NEmbd != 0 {
		c.publishedNomic.into(&c.common, &c.Rotary)
	}
	if err := c.check(f); err != nil {
		return nil, err
	}
	if c.HeadSize != nil && *c.HeadSize != c.Width/c.Heads {
		return nil, &kernel.Error{Where: f.Path(configName) + ": head_dim", Got: strconv.Itoa(*c.HeadSize), Want: strconv.Itoa(c.Width / c.Heads)}
	}
	s := c.spec(nomicNames)
	s.gated, s.attnBias, s.mlpBias, s.bases = true, false, false, []float64{c.Rotary.Base}
	return s, checkRotary(f, c.Rotary)
}

func readModern(f *folder.Folder) (_ *spec, err error) {
	c := &struct {
		common
		Norm     float64  `json:"norm_eps"`
		Acts     string   `json:"hidden_activation"`
		NormBias bool     `json:"norm_bias"`
		AttnBias bool     `json:"attention_bias"`
		MLPBias  bool     `json:"mlp_bias"`
		Local    int      `json:"local_attention"`
		Every    int      `json:"global_attn_every_n_layers"`
		Kinds    []string `json:"layer_types"`
		Rotary   struct {
			Whole *rotary `json:"full_attention"`
			Local *rotary `json:"sliding_attention"`
		} `json:"rope_parameters"`
		Global float64  `json:"global_rope_theta"`
		Window *float64 `json:"local_rope_theta"`
		modernHead
	}{common: common{Types: 1, Act: "gelu"}, Norm: 1e-5, Acts: "gelu", Local: 128, Every: 3, Global: 160000, Window: new(10000.0),
		modernHead: modernHead{Pooling: "cls", Activation: "gelu"}}
	if err := decode(f, c); err != nil {
		return nil, err
	}
	c.Epsilon, c.Act = c.Norm, c.Acts
	if err := c.check(f); err != nil {
		return nil, err
	}
	if c.Local < 2 || c.Local > mostOf || c.Every < 1 {
		return nil, &kernel.Error{Where: f.Path(configName) + ": local_attention, global_attn_every_n_layers", Got: fmt.Sprintf("%d, %d", c.Local, c.Every), Want: "2 or more, 1 or more"}
	}
	s := c.spec(modernNames)
	s.gated, s.preNorm, s.normBias, s.attnBias, s.mlpBias = true, true, c.NormBias, c.AttnBias, c.MLPBias
	s.windows = []int{-1, c.Local / 2}
	if s.head, err = c.modernHead.head(f); err != nil {
		return nil, err
	}
	if c.Window == nil { // which null means
		c.Window = &c.Global
	}
	for _, x := range []struct {
		r    *rotary
		base float64
	}{{c.Rotary.Whole, c.Global}, {c.Rotary.Local, *c.Window}} {
		r := rotary{Base: x.base}
		if x.r != nil {
			r = *x.r
		}
		if err := checkRotary(f, r); err != nil {
			return nil, err
		}
		s.bases = append(s.bases, r.Base)
	}
	return s, s.kindsOf(f, c.Kinds, []string{"full_attention", "sliding_attention"}, c.Every)
}

// kindsOf sets the kind of every layer: as listed, or each n-th is global.
func (s *spec) kindsOf(f *folder.Folder, listed, kinds []string, every int) error {
	if listed != nil && len(listed) != s.Layers {
		return &kernel.Error{Where: f.Path(configName) + ": layer_types", Got: fmt.Sprintf("%d layers", len(listed)), Want: fmt.Sprint(s.Layers)}
	}
	for i := range s.kinds {
		if listed == nil {
			if i%every != 0 {
				s.kinds[i] = 1
			}
			continue
		}
		switch listed[i] {
		case kinds[0]:
		case kinds[1]:
			s.kinds[i] = 1
		default:
			return &kernel.Error{Where: f.Path(configName) + ": layer_types", Got: strconv.Quote(listed[i]), Want: "full_attention or sliding_attention"}
		}
	}
	return nil
}
