package reference

import (
	"fmt"
	"testing"
	"time"

	"github.com/attn-go/attn/gen/prove/expr"
)

func syms(g *expr.Graph, name string, n int) Slice {
	list := make([]*expr.Node, n)
	for i := range list {
		list[i] = g.Sym(32, fmt.Sprintf("%s[%d]", name, i))
	}
	return NewSlice(list)
}

func TestSoftmax(t *testing.T) {
	at := time.Now()
	src, err := Load("../../..", "./fallback")
	if err != nil {
		t.Fatal(err)
	}
	t.Log("load", time.Since(at))
	at = time.Now()
	g := expr.New()
	m := src.New(g)
	t.Log("init", time.Since(at))
	at = time.Now()
	lanes := m.Table("fallback", "Lanes")
	s, max, sum := syms(g, "s", 16), syms(g, "max", 8), syms(g, "sum", 8)
	m.CallValue(lanes.Field("Softmax").Value, s, g.Int(8), g.Int(2), max, sum)
	t.Log("run", time.Since(at))
	t.Log(sum.Nodes()[3], g.Size())
	at = time.Now()
	c := syms(g, "c", 8*8)
	m.CallValue(m.Table("fallback", "Products", g.Int(8)).Field("Gemm").Value, c, g.Int(8), syms(g, "a", 8*300), g.Int(300), g.Int(1), syms(g, "b", 300*8), g.Int(8), g.Int(8), g.Int(300), g.Int(128), g.Bool(false))
	t.Log("run", time.Since(at), g.Size())
	for _, f := range []string{"Exp2", "Tanh"} {
		x := syms(g, "x", 1)
		m.CallValue(m.Table("fallback", "Elementwise").Field(f).Value, x, x)
		t.Log(x.Nodes()[0])
	}
	for _, f := range []string{"GELU", "SiLU", "GELUTanh"} {
		x := syms(g, "x", 1)
		m.CallValue(m.Table("fallback", "Activations").Field(f).Value, x, x)
		t.Log(x.Nodes()[0])
	}
}
