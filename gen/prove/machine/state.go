package machine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
)

// A fault ends the execution: a rule that a function breaks, or something that the interpreter
// does not know.
type fault string

// Failf ends the execution, of which [Run.Call] returns the message as an error.
func Failf(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// A Region is memory that belongs together: a slice, the parameters, the frame or a table of
// constants.
type Region struct {
	Name     string
	Base     *expr.Node // the address, a symbol
	bytes    []part
	kept     []part
	ReadOnly bool
	Present  bool // false for what may be prefetched only
}

// Keep remembers the content, and Reset restores it.
func (r *Region) Keep()  { r.kept = slices.Clone(r.bytes) }
func (r *Region) Reset() { copy(r.bytes, r.kept) }

// Same reports whether what was kept is what another region holds.
func (r *Region) Same(m *Region) bool { return slices.Equal(r.kept, m.bytes) }

// A part is a byte of memory: byte i of the word n. Without a word it is undefined.
type part struct {
	n *expr.Node
	i uint8
}

// Words returns the content as words of so many bytes.
func (r *Region) Words(g *expr.Graph, size int) []*expr.Node {
	list := make([]*expr.Node, len(r.bytes)/size)
	for i := range list {
		list[i] = join(g, r.bytes[i*size:][:size])
	}
	return list
}

// SetWord stores a word at off.
func (r *Region) SetWord(off int, n *expr.Node) {
	for i := range n.Width / 8 {
		r.bytes[off+i] = part{n, uint8(i)}
	}
}

// NewRegion returns memory of a size, undefined.
func NewRegion(g *expr.Graph, name string, size int) *Region {
	return &Region{Name: name, Base: g.Sym(64, "&"+name), bytes: make([]part, size), Present: true}
}

// State is what an execution has changed so far: registers, as an instruction set numbers them, and
// memory.
type State struct {
	G        *expr.Graph
	W        []*expr.Node // registers; nil is undefined
	regions  map[*expr.Node]*Region
	statics  map[string]*Region // of data, those that were used
	data     map[string][]byte
	params   *Region
	frameEnd *expr.Node
	Frame    int64 // the size that the function declares
	journal  []undo
	forks    int
	Now      *Inst
	Notes    map[string]bool // what is odd, but does no harm
	ISA      any             // what an instruction set keeps
	accessed func(r *Region, off, size int)
}

type undo struct {
	r   *Region
	at  int
	old part
}

// Add adds memory.
func (s *State) Add(r *Region) { s.regions[r.Base] = r }

// resolve returns the memory that an address lies in and the distance from its start.
func (s *State) resolve(addr *expr.Node, size int) (*Region, int) {
	base, off := addr, int64(0)
	if addr.Op == expr.Sum {
		off = int64(addr.Val)
		base = s.G.Plus(addr, -off)
	}
	r := s.regions[base]
	switch {
	case r == nil:
		Failf("%v: an address that is in no slice: %v", s.Now, addr)
	case off < 0 || off+int64(size) > int64(len(r.bytes)):
		Failf("%v: bytes %d to %d of %s, which has %d", s.Now, off, off+int64(size), r.Name, len(r.bytes))
	case !r.Present:
		Failf("%v: an access to %s, which may be prefetched only", s.Now, r.Name)
	}
	s.accessed(r, int(off), size)
	return r, int(off)
}

// Load returns size bytes from an address on, at most 8. Those that nothing has set are a symbol of
// their own, as in registers.
func (s *State) Load(addr *expr.Node, size int) *expr.Node {
	r, off := s.resolve(addr, size)
	return s.loadAt(r, off, size)
}

// LoadWords returns n words of size bytes from an address on.
func (s *State) LoadWords(addr *expr.Node, size, n int) []*expr.Node {
	r, off := s.resolve(addr, size*n)
	list := make([]*expr.Node, n)
	for i := range list {
		list[i] = s.loadAt(r, off+i*size, size)
	}
	return list
}

func (s *State) loadAt(r *Region, off, size int) *expr.Node {
	for _, p := range r.bytes[off:][:size] {
		if p.n == nil {
			return s.G.Sym(8*size, fmt.Sprintf("undefined %s[%d]", r.Name, off))
		}
	}
	return join(s.G, r.bytes[off:][:size])
}

// join returns the word that bytes are.
func join(g *expr.Graph, b []part) *expr.Node {
	first := b[0].n
	if first == nil {
		return nil
	}
	whole := first.Width == 8*len(b)
	for i, p := range b {
		whole = whole && p.n == first && int(p.i) == i
	}
	if whole {
		return first
	}
	var parts []*expr.Node
	for i := 0; i < len(b); {
		j := i + 1
		for j < len(b) && b[j].n == b[i].n && b[j].i == b[j-1].i+1 {
			j++
		}
		if b[i].n == nil {
			return nil
		}
		parts = append(parts, g.Extract(b[i].n, 8*int(b[i].i), 8*(j-i)))
		i = j
	}
	return g.Concat(parts...)
}

// Store writes a word of whole bytes to an address.
func (s *State) Store(addr, n *expr.Node) {
	size := n.Width / 8
	r, off := s.resolve(addr, size)
	if r.ReadOnly {
		Failf("%v: writes to %s", s.Now, r.Name)
	}
	for i := range size {
		if s.forks > 0 {
			s.journal = append(s.journal, undo{r, off + i, r.bytes[off+i]})
		}
		r.bytes[off+i] = part{n, uint8(i)}
	}
}

// Get returns a register, which must be defined.
func (s *State) Get(i int, name string) *expr.Node {
	n := s.W[i]
	if n == nil {
		Failf("%v: reads %s, which is not defined", s.Now, name)
	}
	return n
}

// General returns a register of 64 bits. What nothing has set is a symbol of its own, as in
// vectors, and is noted.
func (s *State) General(i int, name string) *expr.Node {
	if s.W[i] == nil {
		s.Notes[fmt.Sprintf("%v: reads %s, which is not defined", s.Now, name)] = true
		return s.G.Sym(64, "undefined "+name)
	}
	return s.W[i]
}

// Undefined returns what a word of a vector register holds that nothing has set: a symbol of its
// own. An instruction may compute with it, as with lanes that nobody needs, but a result that
// depends on it is not what the reference has, and no address or branch may.
func (s *State) Undefined(register string, word int) *expr.Node {
	return s.G.Sym(32, fmt.Sprintf("undefined %s[%d]", register, word))
}

// Local returns the address of a variable in the frame.
func (s *State) Local(o Operand) *expr.Node { return s.G.Plus(s.frameEnd, o.Off) }

// Static returns the address of a table of constants.
func (s *State) Static(o Operand) *expr.Node {
	r := s.statics[o.Reg]
	if r == nil {
		data, ok := s.data[o.Reg]
		if !ok {
			Failf("%v: no such table", s.Now)
		}
		r = NewRegion(s.G, o.Reg, len(data))
		r.ReadOnly = true
		for i := 0; i < len(data); i += 4 { // data come in words of 8 bytes
			r.SetWord(i, s.G.Const(32, uint64(binary.LittleEndian.Uint32(data[i:]))))
		}
		s.statics[o.Reg] = r
		s.Add(r)
	}
	return s.G.Add(r.Base, s.G.Int(o.Off))
}
