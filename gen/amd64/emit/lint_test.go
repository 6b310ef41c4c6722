package emit

import (
	"errors"
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

// lintOf compiles a function and lints it.
func lintOf(t *testing.T, i ISA, body func(c *build.Context)) error {
	t.Helper()
	c := build.NewContext()
	c.Function("f")
	c.SignatureExpr("func(p *byte)")
	body(c)
	file, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		t.Fatal(err)
	}
	return errors.Join(lint(file, i, nil)...)
}

// live keeps n vectors live at once and ends the function correctly.
func live(c *build.Context, n int, vector func() reg.VecVirtual) {
	p := c.Load(c.Param("p"), c.GP64())
	vs := make([]reg.VecVirtual, n)
	for i := range vs {
		vs[i] = vector()
		c.VMOVUPS(operand.Mem{Base: p, Disp: 64 * i}, vs[i])
	}
	for i, v := range vs {
		c.VMOVUPS(v, operand.Mem{Base: p, Disp: 64 * i})
	}
	c.VZEROUPPER()
	c.RET()
}

func TestLintCatches(t *testing.T) {
	for _, test := range []struct {
		name, want string
		isa        ISA
		body       func(c *build.Context)
	}{
		{"17 live vectors", "register Y16", AVX2{}, func(c *build.Context) {
			live(c, 17, c.YMM)
		}},
		{"17 live short vectors", "register X16", AVX2{}, func(c *build.Context) {
			live(c, 17, c.XMM)
		}},
		{"512-bit vector", "512-bit register Z0", AVX2{}, func(c *build.Context) {
			live(c, 1, c.ZMM)
		}},
		{"mask", "mask register K1", AVX2{}, func(c *build.Context) {
			k := c.K()
			c.KXORW(k, k, k)
			c.VZEROUPPER()
			c.RET()
		}},
		{"EVEX instruction on low registers", "is AVX512", AVX2{}, func(c *build.Context) {
			y := c.YMM()
			c.VPTERNLOGD(operand.Imm(0xff), y, y, y)
			c.VZEROUPPER()
			c.RET()
		}},
		{"dirty return", "RET: without VZEROUPPER", AVX512{}, func(c *build.Context) {
			c.RET()
		}},
		{"jump past the clearing", "RET: without VZEROUPPER", AVX512{}, func(c *build.Context) {
			n := c.Load(c.Param("p"), c.GP64())
			c.TESTQ(n, n)
			c.JZ(operand.LabelRef("end"))
			c.VZEROUPPER()
			c.Label("end")
			c.RET()
		}},
		{"one of two returns dirty", "RET: without VZEROUPPER", AVX2{}, func(c *build.Context) {
			n := c.Load(c.Param("p"), c.GP64())
			c.TESTQ(n, n)
			c.JZ(operand.LabelRef("end"))
			c.VZEROUPPER()
			c.RET()
			c.Label("end")
			c.RET()
		}},
		{"local memory", "has a stack frame", AVX2{}, func(c *build.Context) {
			c.AllocLocal(32)
			c.VZEROUPPER()
			c.RET()
		}},
		{"15 live general registers", "has a stack frame", AVX512{}, func(c *build.Context) {
			p := c.Load(c.Param("p"), c.GP64())
			rs := make([]reg.GPVirtual, 14)
			for i := range rs {
				rs[i] = c.GP64()
				c.MOVQ(operand.Mem{Base: p, Disp: 8 * i}, rs[i])
			}
			for i, r := range rs {
				c.MOVQ(r, operand.Mem{Base: p, Disp: 8 * i})
			}
			c.VZEROUPPER()
			c.RET()
		}},
	} {
		err := lintOf(t, test.isa, test.body)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: lint says %v, want %q", test.name, err, test.want)
		}
	}
}

// TestLintAllows lints code that is just allowed.
func TestLintAllows(t *testing.T) {
	for _, test := range []struct {
		name string
		isa  ISA
		body func(c *build.Context)
	}{
		{"all 16 registers of AVX2", AVX2{}, func(c *build.Context) { live(c, 16, c.YMM) }},
		{"all 32 registers of AVX-512", AVX512{}, func(c *build.Context) { live(c, 32, c.ZMM) }},
	} {
		if err := lintOf(t, test.isa, test.body); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
