// Package hostile tests that no argument of an exported function leads to a panic, to a call
// that does not return, or to memory that is exhausted.
package hostile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/rope"
)

// The public packages.
var packages = []string{"kernel", "kvcache", "linear", "norm", "rope", "numeric", "activation", "recurrent", "retrieval", "layer", "loss", "optimize"}

// TestTable: the table has every exported function and method of the public packages, and
// nothing else.
func TestTable(t *testing.T) {
	const root = "../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Skipf("NOT RUN: that the table lists every exported name, as the sources are not here: %v", err)
	}
	listed := map[string]bool{}
	for _, e := range table {
		listed[e.name] = true
	}
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("package %s has no sources: %v", pkg, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() {
					continue
				}
				name := pkg + "." + f.Name.Name
				if f.Recv != nil {
					receiver := receiverType(f.Recv.List[0].Type)
					if !ast.IsExported(receiver) {
						continue
					}
					name = pkg + "." + receiver + "." + f.Name.Name
				}
				if !listed[name] {
					t.Errorf("%s is not in the table: no hostile arguments are tested", name)
				}
				delete(listed, name)
			}
		}
	}
	for name := range listed {
		t.Errorf("%s is in the table and does not exist", name)
	}
}

// receiverType returns the name of the type of a receiver.
func receiverType(x ast.Expr) string {
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return fmt.Sprintf("%T", x)
		}
	}
}

// TestHostileArguments calls all functions of the table: with valid arguments, with each of
// them replaced by each hostile value of its type, with all tensors changed alike, and with
// some arguments replaced at random.
func TestHostileArguments(t *testing.T) {
	w, c := newWorld(), newCaller()
	calls, pairs := 0, 400
	if testing.Short() {
		pairs = 20
	}
	for x, e := range table {
		f := reflect.ValueOf(e.f)
		n := f.Type().NumIn()
		r := testutil.Rand(x)
		args := callArguments(w, &e)
		if len(args) != n {
			t.Fatalf("%s: %d arguments in the table, want %d", e.name, len(args), n)
		}
		if err := c.try(t, func() string { return e.name }, func() error { return call(f, args) }); err != nil {
			t.Fatalf("%s: error for valid arguments: %v", e.name, err)
		}
		hostile := make([][]change, n)
		for i := range n {
			hostile[i] = changes(f.Type().In(i))
		}
		try := func(at []int, to []change) {
			calls++
			args := callArguments(w, &e)
			isNil := false
			name := func() string {
				s := e.name
				for j, i := range at {
					s += fmt.Sprintf(", argument %d: %s", i, to[j].name)
				}
				return s
			}
			for j, i := range at {
				args[i] = to[j].apply(w, args[i])
				isNil = isNil || i == 0 && strings.Count(e.name, ".") == 2 && args[0].Kind() == reflect.Pointer && args[0].IsNil()
			}
			err := c.try(t, name, func() error {
				if isNil {
					defer mayDereference()
				}
				return call(f, args)
			})
			if err != nil && !e.writes && w.isTouched() {
				t.Fatalf("%s: has written, and returned the error %v", name(), err)
			}
		}
		for i := range n {
			for j, h := range hostile[i] {
				if !testing.Short() || testutil.Sampled(j+x) {
					try([]int{i}, []change{h})
				}
			}
		}
		// The same change of all tensors keeps them fitting each other.
		var alike []int
		for i := range n {
			if f.Type().In(i) == reflect.TypeFor[kernel.Tensor]() {
				alike = append(alike, i)
			}
		}
		if len(alike) > 1 {
			for _, h := range changes(reflect.TypeFor[kernel.Tensor]()) {
				to := slices.Repeat([]change{h}, len(alike))
				try(alike, to)
				if last := n - 1; alike[len(alike)-1] < last { // options
					try(append(slices.Clip(alike), last), append(to, hostile[last][r.IntN(len(hostile[last]))]))
				}
			}
		}
		for range pairs {
			if n < 2 {
				break
			}
			var at []int
			var to []change
			for range 2 + r.IntN(2) {
				if i := r.IntN(n); !slices.Contains(at, i) {
					at, to = append(at, i), append(to, hostile[i][r.IntN(len(hostile[i]))])
				}
			}
			try(at, to)
		}
	}
	t.Logf("%d calls of %d functions", calls, len(table))
}

// callArguments returns valid arguments in the memory of w.
func callArguments(w *world, e *entry) []reflect.Value {
	w.reset()
	var args []reflect.Value
	for i, a := range e.args(w) {
		v, x := reflect.New(reflect.TypeOf(e.f).In(i)).Elem(), reflect.ValueOf(a)
		if v.Kind() == reflect.Pointer && x.Type() == v.Type().Elem() { // options
			v.Set(reflect.New(x.Type()))
			v.Elem().Set(x)
		} else {
			v.Set(x)
		}
		args = append(args, v)
	}
	copy(w.pristine, w.memory) // making the arguments may have written, as to a cache
	return args
}

// mayDereference ends the panic of a method of a nil pointer.
func mayDereference() {
	if p := recover(); p != nil {
		if err, ok := p.(runtime.Error); !ok || !strings.Contains(err.Error(), "nil pointer") {
			panic(p)
		}
	}
}

// call calls f and returns its error. Other results are used as arguments of further calls:
// an argument that a constructor accepts may be one that no call can work with.
func call(f reflect.Value, args []reflect.Value) error {
	var results []reflect.Value
	if f.Type().IsVariadic() {
		results = f.CallSlice(args)
	} else {
		results = f.Call(args)
	}
	for _, x := range results {
		if err, ok := x.Interface().(error); ok {
			return err
		}
	}
	for _, x := range results {
		if flaw := undocumented(use(x.Interface())); flaw != "" {
			panic(flaw)
		}
	}
	return nil
}

// use passes a result to calls, whose errors are as good as their results. It returns one
// that is undocumented.
func use(result any) error {
	w := newWorld()
	out, q, k, v := w.attention()
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	switch x := result.(type) {
	case kernel.Tensor:
		_ = x.String()
		useRows(x)
		try(x.Check(ownArgument))
		try(x.CheckOutput(ownArgument))
		try(kernel.Attention(out, x, k, v, nil))
		try(kernel.Attention(out, q, x, x, nil))
		try(kernel.Attention(x, q, k, v, nil))
		try(kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Bias: x}, Outputs: kernel.Outputs{LSE: x, Weights: x, Scores: x}}))
		try(kernel.Attention(x, x, x, x, nil))
		try(layer.WeightedSum(x, x, x, kernel.Exec{}))
		try(layer.Cosine{}.Attend(out, x, x, x, nil))
		try(w.rope().Apply(x, []int{1, 2, 3}, kernel.Exec{}))
		try(w.linear(7, 7).Project(x, x, linear.Options{}))
	case kernel.Mask:
		try(kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: x}}))
		try(kernel.Attention(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: x.And(x)}}))
		none := kernel.BHLD([]float32{}, big(62), 4, 0, 6)
		try(kernel.Attention(none, none, none, none, &kernel.Options{Scoring: kernel.Scoring{Mask: x}}))
	case *kernel.Partials:
		x.Reset()
		try(kernel.MergePartials(out, []kernel.Partials{*x, *x}, kernel.MergeOptions{}))
		try(kernel.MergeInto(x, []kernel.Partials{*x}, kernel.Exec{}))
		try(kernel.AttentionPartials(x, q, k, v, nil))
		try(kernel.AccumulatePartials(x, q, k, v, nil))
	case kernel.Options:
		try(kernel.Attention(out, q, k, v, &x))
	case *kvcache.Cache:
		b := must(x.NewBatch(x.NewSequence()))
		try(b.Extend(2))
		keys, values := b.View(0)
		try(b.Store(0, keys, values))
		try(kernel.Attention(out, q, keys, values, &kernel.Options{Scoring: b.Scoring()}))
	case *kvcache.Batch:
		try(x.Extend(1))
		try(kernel.Attention(out, q, k, v, &kernel.Options{Scoring: x.Scoring()}))
	case *kvcache.Sequence:
		try(x.Truncate(0))
		x.Free()
	case linear.Matrix:
		_ = x.String()
		_, err := linear.New(x, nil, kernel.Exec{})
		try(err)
		_, err = linear.New(x.T(), nil, kernel.Exec{})
		try(err)
		l := w.linear(3, 3)
		try(l.Apply(x, x, linear.Options{}))
		try(l.Apply(linear.DenseMatrix(w.floats(15), 5, 3), x, linear.Options{}))
	case *linear.Linear:
		try(x.Project(out, q, linear.Options{}))
		n, _ := x.Shape()
		try(x.Apply(linear.DenseMatrix(w.floats(4), 1, 4), linear.DenseMatrix(w.floats(4), 1, 4), linear.Options{}))
		if n < 1<<10 {
			try(x.Apply(linear.DenseMatrix(w.floats(n), 1, n), linear.DenseMatrix(w.floats(3), 1, 3), linear.Options{}))
		}
	case *rope.Rope:
		try(x.Apply(q, []int{1, 2, 3}, kernel.Exec{}))
		try(x.CosSin(1, w.floats(2), w.floats(2)))
	case *layer.MultiHead:
		y := w.tensor(2, 1, 3, 4)
		try(x.Attend(w.tensor(2, 1, 3, 4), y, y, y, nil))
	case layer.General:
		try(x.Attend(out, q, k, v, nil))
	}
	for _, err := range errs {
		if undocumented(err) != "" {
			return err
		}
	}
	return nil
}

// useRows looks for rows inside and outside of a tensor.
func useRows(x kernel.Tensor) {
	s := x.Scales()
	for b := -1; b < 4; b++ {
		for l := -1; l < min(x.Length(b), 9)+1; l++ {
			_, _, _ = kernel.Row[float32](x, b, 0, l), kernel.Row[int8](x, b, 0, l), kernel.Row[float32](s, b, 0, l)
		}
	}
	_, _ = x.Overlaps(s), s.Overlaps(x)
}
