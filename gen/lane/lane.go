// Package lane is the language in which kernels are written that do the same in every lane: a
// kernel is written once, as a program of values, and a back end for each instruction set makes
// instructions of it.
//
// A program goes over lanes, some vectors at a time. For each of these it has instructions before,
// in and after an optional loop over rows. Each value is a vector of 32-bit lanes, floats or
// integers as its operation sees them. Conditions exist only as parts of Select, as they lie in
// vectors on some machines and in registers of masks on others.
//
// A value may also be a vector of float64, see Widen. In a program with such values a vector has as
// many lanes as there are float64 in a register, and values of 32 bits fill half of one.
//
// A back end has registers, addresses, loops, what is left of a vector at the end, and an
// instruction or a few for each operation. The package does the rest for all of them: which values
// live how long, where a result may take the place of an operand, how many vectors fit at a time,
// and which constants stay in registers, see plan.go. Nothing here depends on the length of a
// vector.
package lane

import (
	"slices"

	"github.com/attn-go/attn/gen/spec"
)

// A Kernel is a function with its program.
type Kernel struct {
	spec.Function
	Lanes   string // the slice with an element for each lane
	Number  string // the parameter that counts the lanes instead
	Gathers bool   // others write it by themselves, see Traits
	Narrow  bool   // wider vectors are no faster, see Traits
	Pairs   bool   // there is an even number of lanes
	Tile    bool   // the lanes fill whole vectors
	Step    int    // of a tile: it divides their number, if it is not 0
	Vectors int    // at a time, at most
	Chains  int    // lanes of a row of a Chained matrix, 0 if there is none
	Body    func(b *Builder)
}

// An Op is an operation of a value.
type Op int

const (
	// Values that are the same in all lanes, or tables. They exist from the start of the function.
	Const   Op = iota // Bits
	Param             // the parameter Name
	Table             // the 8 numbers of Words
	Element           // element Bits of the slice Name
	Counter           // the int parameter Name, one more with each row; the operand is 1

	Given  // a vector of the code around a program
	Load   // from Stream
	Store  // the operand, to Stream
	Spread // the number of Stream for this row, in all lanes
	Same   // the number of Stream for the chains of a row
	Gather // the number of Stream for this row at the distance of the operand, in bytes; a bool becomes a word
	Soon   // a hint: what lies Ahead bytes further on in Stream is needed soon
	Var    // a variable, at first the operand
	Set    // the first operand, a variable, becomes the second

	Add
	Sub
	Mul
	Div
	Sqrt
	MulAdd    // x·y + z, rounded once
	NegMulAdd // z - x·y, rounded once
	AtLeast   // y if x < y, else x: a NaN in x stays
	AtMost    // y if y < x, else x
	Abs
	CopySign // |x| with the sign of y; the third operand is the sign's bit

	And
	Or
	Xor
	AddInt
	SubInt
	MulInt
	MulHigh // the upper half of the product of uint32
	ShiftLeft
	ShiftRight // of uint32; both by Bits
	AbsInt     // of int32
	ToInt      // rounded to even
	ToFloat    // from int32
	Fraction   // x less the nearest integer, ties to even
	ScaleBy    // x·2^y, but 0 where the third operand is below the fourth
	Lookup     // the number of table x at index y
	Select     // z if Cond holds for x and y, else the fourth operand
	Swap       // the lanes 2i and 2i+1 exchanged
	Widen      // to float64
	Narrow     // from float64, rounded

	// See Builder.Rare.
	Blank // a variable without a first value
	Rare  // goes to Usual if the second operand is less than the first, as int32, in no lane; else to Whole, unless Bits tells of a Short
	Short // goes to Whole if it is in a lane in which it is for the Rare, the third operand
	Usual // the operand of what follows is the Rare
	Whole
	Done
)

// A Cond is a condition of two operands.
type Cond int

const (
	Less Cond = iota // floats
	Equal
	Unordered // one is NaN
	LessInt   // int32
	LessUint  // uint32
	Within    // not x < y, and x < the fifth operand, int32
)

// A Value is an instruction and its result.
type Value struct {
	Op     Op
	Args   []*Value
	Bits   uint32
	Name   string
	Words  []uint32
	Cond   Cond
	Stream *Stream
	Double bool // float64

	last place  // of its uses
	into *Value // the variable that it becomes, nil for none
}

// Is reports whether v is the constant with some bits.
func (v *Value) Is(bits uint32) bool { return v.Op == Const && v.Bits == bits }

// IsStep reports whether v is an instruction without a result.
func (v *Value) IsStep() bool {
	return v.Op == Store || v.Op == Soon || v.Op == Set || Rare <= v.Op && v.Op <= Done
}

// Shared reports whether all vectors share a value.
func (v *Value) Shared() bool { return v.Op <= Counter || v.Op == Spread }

// A Stream is a slice whose elements belong to lanes, or to the rows of a matrix.
type Stream struct {
	Slice  string
	Part   int    // the number of the part, each as long as the lanes
	Stride string // the parameter with the distance of rows; "" if there are none
	Rows   bool   // it is used in rows
	Double bool   // of float64
	Spread bool   // an element for each row, in place of lanes
	Bytes  bool   // of bool
	Across bool   // Stride is from lane to lane, and the next row is the next element
	Chains int    // Stride is from some lanes to the next ones, and the next row is so many elements on
}

// A Program is a kernel for an instruction set.
type Program struct {
	Kernel
	Shared  []*Value // in the order of their first use
	before  []*Value
	row     []*Value
	after   []*Value
	Result  *Value // of a program for given vectors
	Count   string // the parameter that counts rows, "" for none
	Streams []*Stream

	// Phases tells that Before has the loads of a program without rows, and After its
	// stores: the last lanes enter Row with loads of their own, and leave it for stores
	// of their own.
	Phases bool

	Doubles bool // some values are float64
}

// Across returns the streams whose rows lie in lanes.
func (p *Program) Across() (list []*Stream) {
	for _, s := range p.Streams {
		if s.Across {
			list = append(list, s)
		}
	}
	return list
}

// Traits are what a program should know of an instruction set.
type Traits struct {
	Exp2   Exp2Style
	Abs    bool // there is an instruction for it
	Lookup LookupStyle
	OneNaN bool // operations have the NaN of the contract
	Masked bool // comparisons under a mask: Within is one condition
	Halves bool // there is a conversion to float16
	Fused  bool // a MulAdd that underflows takes no longer than others, but a Mul does
	Skips  bool // it has the steps of Builder.Rare, and CPUs that take long for subnormal numbers

	Wides    int  // float64 of a vector, 0 with Lengths
	Wide     bool // CPUs have kernels with narrower vectors, too, and take those that are Narrow
	Prefetch bool // there are instructions for Soon

	// A vector has as many lanes as are left.
	Lengths bool

	// There are instructions for elements at any addresses, and products of 32 bits have an upper
	// half. Without them kernels that need such have a form of their own.
	Gathers bool
}

// A LookupStyle is what the index of a Lookup is.
type LookupStyle int

const (
	ByLowBits LookupStyle = iota // the lowest bits of a number
	ByNumber                     // the number
	ByBytes                      // the places of its four bytes in the table, a byte each
)

// A Builder builds a program.
type Builder struct {
	Program
	Traits
	at      *[]*Value
	streams map[Stream]*Stream

	magnitude [2]*Value // a number, and its magnitude, of the last Rare
	usual     bool      // at the steps of a Rare for which nothing underflows
}

// Build returns the program of a kernel.
func Build(k Kernel, t Traits) *Program {
	if k.Chains > 0 && t.Wides > 0 {
		k.Vectors = max(2, k.Chains/t.Wides)
	}
	b := &Builder{Program: Program{Kernel: k}, Traits: t, streams: map[Stream]*Stream{}}
	b.at = &b.before
	k.Body(b)
	if b.Count == "" && !k.Tile && !t.Lengths && len(b.Streams) > 0 {
		b.phases()
	}
	return &b.Program
}

// phases sorts the instructions of a program without rows. If they are few, they are
// written again for the last lanes.
func (p *Program) phases() {
	const few = 15
	var parts [3][]*Value
	for _, n := range p.before {
		switch n.Op {
		case Load:
			parts[Before] = append(parts[Before], n)
		case Store:
			parts[After] = append(parts[After], n)
		default:
			parts[Row] = append(parts[Row], n)
		}
	}
	if p.Phases = len(parts[Row]) > few; p.Phases {
		p.before, p.row, p.after = parts[Before], parts[Row], parts[After]
	}
}

// Inline returns the program of a function that code with loops of its own has in line, for so many
// vectors at a time.
func Inline(f Function, vectors int, t Traits) *Program {
	var y *Value
	p := Build(Kernel{Vectors: vectors, Body: func(b *Builder) { y = f(b, b.op(Given)) }}, t)
	p.Result = y
	return p
}

// EachRow emits a loop over rows, whose number is a parameter. What follows comes after it.
func (b *Builder) EachRow(count string, body func()) {
	b.Count, b.at = count, &b.row
	body()
	b.at = &b.after
}

func (b *Builder) add(v *Value) *Value {
	v.Double = v.Op == Widen || v.Stream != nil && v.Stream.Double ||
		v.Op != Narrow && v.Op != Gather && slices.ContainsFunc(v.Args, func(a *Value) bool { return a.Double })
	b.Doubles = b.Doubles || v.Double
	*b.at = append(*b.at, v)
	return v
}

func (b *Builder) op(o Op, args ...*Value) *Value { return b.add(&Value{Op: o, Args: args}) }

// shared returns the value that is the same, or else v.
func (b *Builder) shared(v *Value) *Value {
	for _, s := range b.Program.Shared {
		if s.Op == v.Op && s.Bits == v.Bits && s.Name == v.Name {
			return s
		}
	}
	b.Program.Shared = append(b.Program.Shared, v)
	return v
}

func (b *Builder) Const(bits uint32) *Value { return b.shared(&Value{Op: Const, Bits: bits}) }
func (b *Builder) Param(name string) *Value { return b.shared(&Value{Op: Param, Name: name}) }

// Element is an element of a slice.
func (b *Builder) Element(slice string, i int) *Value {
	return b.shared(&Value{Op: Element, Name: slice, Bits: uint32(i)})
}

// Table is a table of 8 numbers.
func (b *Builder) Table(name string, words []uint32) *Value {
	return b.shared(&Value{Op: Table, Name: name, Words: words})
}

// Counter is an int parameter that is one more with each row.
func (b *Builder) Counter(name string) *Value {
	return b.shared(&Value{Op: Counter, Name: name, Args: []*Value{b.Const(1)}})
}

func (b *Builder) stream(s Stream) *Stream {
	if b.streams[s] == nil {
		b.streams[s] = &s
		b.Streams = append(b.Streams, &s)
	}
	return b.streams[s]
}

// Slice is a slice with an element for each lane.
func (b *Builder) Slice(name string) *Stream { return b.stream(Stream{Slice: name}) }

// DoubleSlice is a slice of float64 with an element for each lane.
func (b *Builder) DoubleSlice(name string) *Stream {
	return b.stream(Stream{Slice: name, Double: true})
}

// Part is a part of a slice of several parts.
func (b *Builder) Part(name string, i int) *Stream { return b.stream(Stream{Slice: name, Part: i}) }

// Matrix is a slice of rows, whose distance is a parameter.
func (b *Builder) Matrix(name, stride string) *Stream {
	return b.stream(Stream{Slice: name, Stride: stride})
}

// Across is a matrix whose rows are in the lanes: the rows of the program are its columns.
func (b *Builder) Across(name, stride string) *Stream {
	return b.stream(Stream{Slice: name, Stride: stride, Across: true})
}

// Chained is a matrix of which each row is in Chains lanes: these take its elements in turn, and
// are the chains of a sum. A row of the program is an element of each. Without a distance all lanes
// take the same row.
func (b *Builder) Chained(name, stride string) *Stream {
	return b.stream(Stream{Slice: name, Stride: stride, Chains: b.Chains})
}

// Same is the number of a slice for the lanes of a row of a Chained matrix.
func (b *Builder) Same(name string) *Value {
	s := b.stream(Stream{Slice: name, Chains: b.Chains, Spread: true})
	return b.add(&Value{Op: Same, Stream: b.touch(s)})
}

// Gather is the number of each lane's row in a slice. off has the places of the first ones.
func (b *Builder) Gather(s *Stream, off *Value) *Value {
	return b.add(&Value{Op: Gather, Stream: b.touch(s), Args: []*Value{off}})
}

// Bools is a slice of bool.
func (b *Builder) Bools(name string) *Stream { return b.stream(Stream{Slice: name, Bytes: true}) }

func (b *Builder) touch(s *Stream) *Stream {
	s.Rows = s.Rows || b.at == &b.row
	return s
}

func (b *Builder) Load(s *Stream) *Value { return b.add(&Value{Op: Load, Stream: b.touch(s)}) }

func (b *Builder) Store(s *Stream, x *Value) {
	b.add(&Value{Op: Store, Args: []*Value{x}, Stream: b.touch(s)})
}

// Ahead is the distance of Soon, in bytes. Callers go over some rows several times, mostly 16 KiB
// of a matrix, before they go on to the next rows, which CPUs do not prefetch by themselves.
const Ahead = 16 << 10

// Soon is a hint: the elements of s that lie Ahead of this step's are needed soon. It changes no
// result. There need not be such elements.
func (b *Builder) Soon(s *Stream) {
	if b.Prefetch {
		b.add(&Value{Op: Soon, Stream: b.touch(s)})
	}
}

// Spread is the number of a slice for this row.
func (b *Builder) Spread(s *Stream) *Value {
	s.Spread = true
	return b.add(&Value{Op: Spread, Stream: b.touch(s)})
}

func (b *Builder) Var(first *Value) *Value { return b.op(Var, first) }
func (b *Builder) Set(v, x *Value)         { b.op(Set, v, x) }

func (b *Builder) Add(x, y *Value) *Value          { return b.op(Add, x, y) }
func (b *Builder) Sub(x, y *Value) *Value          { return b.op(Sub, x, y) }
func (b *Builder) Mul(x, y *Value) *Value          { return b.op(Mul, x, y) }
func (b *Builder) Div(x, y *Value) *Value          { return b.op(Div, x, y) }
func (b *Builder) Sqrt(x *Value) *Value            { return b.op(Sqrt, x) }
func (b *Builder) MulAdd(x, y, z *Value) *Value    { return b.op(MulAdd, x, y, z) }
func (b *Builder) NegMulAdd(x, y, z *Value) *Value { return b.op(NegMulAdd, x, y, z) }
func (b *Builder) AtLeast(x, y *Value) *Value      { return b.op(AtLeast, x, y) }
func (b *Builder) AtMost(x, y *Value) *Value       { return b.op(AtMost, x, y) }
func (b *Builder) And(x, y *Value) *Value          { return b.op(And, x, y) }
func (b *Builder) Or(x, y *Value) *Value           { return b.op(Or, x, y) }
func (b *Builder) Xor(x, y *Value) *Value          { return b.op(Xor, x, y) }
func (b *Builder) AddInt(x, y *Value) *Value       { return b.op(AddInt, x, y) }
func (b *Builder) SubInt(x, y *Value) *Value       { return b.op(SubInt, x, y) }
func (b *Builder) MulInt(x, y *Value) *Value       { return b.op(MulInt, x, y) }
func (b *Builder) MulHigh(x, y *Value) *Value      { return b.op(MulHigh, x, y) }
func (b *Builder) AbsInt(x *Value) *Value          { return b.op(AbsInt, x) }
func (b *Builder) ToInt(x *Value) *Value           { return b.op(ToInt, x) }
func (b *Builder) ToFloat(x *Value) *Value         { return b.op(ToFloat, x) }
func (b *Builder) Lookup(table, i *Value) *Value   { return b.op(Lookup, table, i) }

func (b *Builder) Swap(x *Value) *Value   { return b.op(Swap, x) }
func (b *Builder) Widen(x *Value) *Value  { return b.op(Widen, x) }
func (b *Builder) Narrow(x *Value) *Value { return b.op(Narrow, x) }

func (b *Builder) ShiftLeft(x *Value, by uint32) *Value {
	return b.add(&Value{Op: ShiftLeft, Args: []*Value{x}, Bits: by})
}

func (b *Builder) ShiftRight(x *Value, by uint32) *Value {
	return b.add(&Value{Op: ShiftRight, Args: []*Value{x}, Bits: by})
}

// Index makes an index for Lookup of the lowest three bits of x. The other bits are base's.
func (b *Builder) Index(x *Value, base uint32) *Value {
	const bytes, places = 0x04040404, 0x03020100
	switch b.Traits.Lookup {
	case ByNumber:
		return b.And(x, b.Const(7))
	case ByBytes:
		return b.AddInt(b.MulInt(x, b.Const(bytes)), b.Const(places-base*bytes))
	}
	return x
}

// Select is z where the condition holds for x and y, else w.
func (b *Builder) Select(c Cond, x, y, z, w *Value) *Value {
	return b.add(&Value{Op: Select, Cond: c, Args: []*Value{x, y, z, w}})
}

// ZeroWhere is x, but 0 where the condition holds for a and b.
func (b *Builder) ZeroWhere(x *Value, c Cond, y, z *Value) *Value {
	return b.Select(c, y, z, b.Const(0), x)
}

// Between is z where lo ≤ x < hi, as int32, else w.
func (b *Builder) Between(x, lo, hi, z, w *Value) *Value {
	if b.Masked {
		return b.add(&Value{Op: Select, Cond: Within, Args: []*Value{x, lo, z, w, hi}})
	}
	return b.Select(LessInt, x, lo, w, b.Select(LessInt, x, hi, z, w))
}

func (b *Builder) Abs(x *Value) *Value {
	switch {
	case x == b.magnitude[0]:
		return b.magnitude[1]
	case !b.Traits.Abs:
		return b.And(x, b.Const(spec.SignBit-1))
	}
	return b.op(Abs, x)
}

// CopySign gives y, whose sign is not set, the sign of x.
func (b *Builder) CopySign(y, x *Value) *Value { return b.op(CopySign, y, x, b.Const(spec.SignBit)) }

// mayUnderflow is x·y, of numbers for which that may often be subnormal or vanish: -0 added changes
// no bit. The usual steps of a Rare do not underflow, and a Mul takes a cycle less on AMD's CPUs.
func (b *Builder) mayUnderflow(x, y *Value) *Value {
	if b.Fused && !b.usual {
		return b.MulAdd(x, y, b.Const(spec.SignBit))
	}
	return b.Mul(x, y)
}

// Ways are steps for vectors of several kinds. All have the same bits where they are right.
type Ways struct {
	// Usual is right where the magnitude of x is from From to To. It returns the results, given
	// the numbers of In.
	From, To uint32
	Usual    func(in []*Value) []*Value

	// With the numbers of Short in place of In's it is right for 0, magnitudes of at least Beyond,
	// and NaN, too. Without Short there are no numbers.
	Beyond    uint32
	In, Short func() []*Value

	// Whole is right for all x. It takes more steps, none of which has a subnormal operand or
	// result. On some CPUs each one that has takes as long as 50 others.
	Whole func() []*Value
}

// Rare is what the shortest way returns that is right for all lanes of a vector.
func (b *Builder) Rare(x *Value, w Ways) (results []*Value) {
	if !b.Skips {
		return w.Whole()
	}
	b.magnitude = [2]*Value{x, b.Abs(x)}
	set := func(vars, values []*Value) {
		for i, v := range values {
			b.Set(vars[i], v)
		}
	}
	var in []*Value
	if w.Short != nil {
		for _, v := range w.In() {
			in = append(in, b.Var(v))
		}
	}
	distance := b.AddInt(b.magnitude[1], b.Const(spec.SignBit-w.From))
	blank := len(*b.at)
	rare := b.op(Rare, distance, b.Const(spec.SignBit+w.To-w.From))
	if w.Short != nil { // 0 is the largest int32 here
		rare.Bits = 1
		b.op(Short, b.Const(spec.SignBit-1+w.Beyond), b.AddInt(b.magnitude[1], b.Const(spec.SignBit-1)), rare)
		set(in, w.Short())
	}
	b.op(Usual, rare)
	b.usual = true
	values := w.Usual(in)
	b.usual = false
	for range values {
		results = append(results, &Value{Op: Blank})
	}
	*b.at = slices.Insert(*b.at, blank, results...)
	set(results, values)
	b.op(Whole, rare)
	b.magnitude = [2]*Value{} // takes no register up to here
	set(results, w.Whole())
	b.op(Done, rare)
	return results
}

// Canonical is x with the NaN of the contract. x is the result of an operation.
func (b *Builder) Canonical(x *Value) *Value {
	if b.OneNaN {
		return x
	}
	return b.Select(Unordered, x, x, b.Const(spec.NaN), x)
}
