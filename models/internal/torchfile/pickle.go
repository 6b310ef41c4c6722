package torchfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// The operations of a pickle of protocol 2 that a dictionary of tensors takes.
const (
	opMark       = '('
	opStop       = '.'
	opInt        = 'J'
	opInt1       = 'K'
	opInt2       = 'M'
	opNone       = 'N'
	opPersistent = 'Q'
	opReduce     = 'R'
	opText       = 'X'
	opList       = ']'
	opAppend     = 'a'
	opAppends    = 'e'
	opBuild      = 'b'
	opGlobal     = 'c'
	opGet        = 'h'
	opLongGet    = 'j'
	opPut        = 'q'
	opLongPut    = 'r'
	opSetItem    = 's'
	opTuple      = 't'
	opSetItems   = 'u'
	opDict       = '}'
	opNoItems    = ')'
	opProtocol   = 0x80
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opTrue       = 0x88
	opFalse      = 0x89
	opLong1      = 0x8a
)

// The values of a pickle: string, int64, bool, nil, storage, tensor, *list, and these.
type (
	mark   struct{}
	global string // MODULE NAME
	tuple  []any
	dict   map[string]any
	list   struct{ items []any }
)

// maxDims is the most dimensions of a tensor.
const maxDims = 16

var errShort = errors.New("the pickle ends early")

// A machine runs a pickle.
type machine struct {
	data  []byte
	stack []any
	memo  map[uint32]any
}

// unpickle returns the tensors of a dictionary. It takes memory in proportion to the pickle.
func unpickle(data []byte) (map[string]tensor, error) {
	x, _, err := run(data)
	if err != nil {
		return nil, err
	}
	return tensorsOf(x)
}

// run runs the pickle that data begins with, and returns its value and what follows.
func run(data []byte) (value any, rest []byte, err error) {
	m := &machine{data: data, memo: map[uint32]any{}}
	for {
		op, err := m.bytes(1)
		if err != nil {
			return nil, nil, err
		}
		if op[0] == opStop {
			break
		}
		if err := m.step(op[0]); err != nil {
			return nil, nil, err
		}
	}
	if value = m.pop(); len(m.stack) > 0 {
		return nil, nil, errors.New("more than one value")
	}
	return value, m.data, nil
}

// tensorsOf returns the tensors of a dictionary.
func tensorsOf(x any) (map[string]tensor, error) {
	all, ok := x.(dict)
	if !ok {
		return nil, errors.New("something else than one dictionary")
	}
	tensors := map[string]tensor{}
	for name, x := range all {
		t, ok := x.(tensor)
		if !ok {
			return nil, fmt.Errorf("%.60q is no tensor", name)
		}
		tensors[name] = t
	}
	return tensors, nil
}

// bytes takes the next bytes of the pickle.
func (m *machine) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(m.data) {
		return nil, errShort
	}
	b := m.data[:n]
	m.data = m.data[n:]
	return b, nil
}

// number takes a number without a sign of so many bytes.
func (m *machine) number(n int) (uint32, error) {
	b, err := m.bytes(n)
	if err != nil {
		return 0, err
	}
	var full [4]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint32(full[:]), nil
}

func (m *machine) push(x any) error {
	m.stack = append(m.stack, x)
	return nil
}

// pop takes a value off the stack: a mark if there is none.
func (m *machine) pop() any {
	if len(m.stack) == 0 {
		return mark{}
	}
	x := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return x
}

// toMark takes all values off the stack that follow the last mark, and the mark.
func (m *machine) toMark() (tuple, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i] == any(mark{}) {
			t := append(tuple(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return t, nil
		}
	}
	return nil, errors.New("items without a beginning")
}

// step runs one operation.
func (m *machine) step(op byte) error {
	switch op {
	case opProtocol:
		n, err := m.number(1)
		if err == nil && n != 2 {
			err = fmt.Errorf("protocol %d", n)
		}
		return err
	case opMark:
		return m.push(mark{})
	case opNone:
		return m.push(nil)
	case opTrue, opFalse:
		return m.push(op == opTrue)
	case opDict:
		return m.push(dict{})
	case opNoItems:
		return m.push(tuple(nil))
	case opList:
		return m.push(&list{})
	case opAppend, opAppends:
		return m.append(op)
	case opInt, opInt1, opInt2, opLong1:
		return m.integer(op)
	case opText:
		return m.text()
	case opGlobal:
		return m.global()
	case opPut, opLongPut, opGet, opLongGet:
		return m.remember(op)
	case opTuple, opTuple1, opTuple2, opTuple3:
		return m.tuple(op)
	case opSetItem, opSetItems:
		return m.set(op)
	case opPersistent:
		return m.persistent()
	case opReduce:
		return m.call()
	case opBuild:
		return m.build()
	}
	return fmt.Errorf("operation %#x", op)
}

func (m *machine) integer(op byte) error {
	width := map[byte]int{opInt: 4, opInt1: 1, opInt2: 2, opLong1: 1}[op]
	n, err := m.number(width)
	if err != nil {
		return err
	}
	switch op {
	case opInt:
		return m.push(int64(int32(n)))
	case opLong1:
		b, err := m.bytes(int(n))
		if err != nil || len(b) > 8 {
			return errors.Join(err, errors.New("an integer of more than 64 bits"))
		}
		var full [8]byte
		if len(b) > 0 && b[len(b)-1] >= 0x80 {
			full = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		copy(full[:], b)
		return m.push(int64(binary.LittleEndian.Uint64(full[:])))
	}
	return m.push(int64(n))
}

func (m *machine) text() error {
	n, err := m.number(4)
	if err != nil || n > math.MaxInt32 {
		return errShort
	}
	b, err := m.bytes(int(n))
	if err != nil {
		return err
	}
	return m.push(string(b))
}

// global takes a module and a name, each a line. What is not known is found when it is called.
func (m *machine) global() error {
	var parts [2]string
	for i := range parts {
		line, rest, ok := bytes.Cut(m.data, []byte("\n"))
		if !ok {
			return errShort
		}
		parts[i], m.data = string(line), rest
	}
	return m.push(global(parts[0] + " " + parts[1]))
}

// remember keeps the value on top of the stack by a number, or gets it back.
func (m *machine) remember(op byte) error {
	width := 1
	if op == opLongPut || op == opLongGet {
		width = 4
	}
	n, err := m.number(width)
	if err != nil {
		return err
	}
	if op == opGet || op == opLongGet {
		x, ok := m.memo[n]
		if !ok {
			return fmt.Errorf("value %d, which is not there", n)
		}
		return m.push(x)
	}
	if len(m.stack) == 0 {
		return errors.New("a value to keep, which is not there")
	}
	m.memo[n] = m.stack[len(m.stack)-1]
	return nil
}

func (m *machine) tuple(op byte) error {
	if op == opTuple {
		t, err := m.toMark()
		if err != nil {
			return err
		}
		return m.push(t)
	}
	n := int(op-opTuple1) + 1
	if n > len(m.stack) {
		return errors.New("items that are not there")
	}
	t := append(tuple(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return m.push(t)
}

// set adds pairs of a key and a value to the dictionary below them.
func (m *machine) set(op byte) (err error) {
	var items tuple
	if op == opSetItems {
		if items, err = m.toMark(); err != nil {
			return err
		}
	} else {
		value := m.pop()
		items = tuple{m.pop(), value}
	}
	if len(m.stack) == 0 || len(items)%2 != 0 {
		return errors.New("a dictionary that is not there")
	}
	d, ok := m.stack[len(m.stack)-1].(dict)
	if !ok {
		return errors.New("items of something else than a dictionary")
	}
	for i := 0; i < len(items); i += 2 {
		key, ok := items[i].(string)
		if !ok {
			return fmt.Errorf("a key of the type %T", items[i])
		}
		d[key] = items[i+1]
	}
	return nil
}

// append adds one value, or all after a mark, to the list below them.
func (m *machine) append(op byte) (err error) {
	items := tuple{nil}
	if op == opAppend {
		items[0] = m.pop()
	} else if items, err = m.toMark(); err != nil {
		return err
	}
	if len(m.stack) == 0 {
		return errors.New("a list that is not there")
	}
	l, ok := m.stack[len(m.stack)-1].(*list)
	if !ok {
		return errors.New("items of something else than a list")
	}
	l.items = append(l.items, items...)
	return nil
}

// persistent makes a storage of ("storage", its type, the key of its data, the device, the numbers
// that it has), after which files before PyTorch 1.6 have what it is a part of, which is nothing.
func (m *machine) persistent() error {
	t, _ := m.pop().(tuple)
	if len(t) == 6 && t[5] == nil {
		t = t[:5]
	}
	if len(t) != 5 || t[0] != any("storage") {
		return errors.New("a value of another file")
	}
	kind, ok1 := t[1].(global)
	key, ok2 := t[2].(string)
	n, ok3 := t[4].(int64)
	dtype, ok4 := strings.CutPrefix(string(kind), "torch ")
	if !ok1 || !ok2 || !ok3 || !ok4 || n < 0 {
		return fmt.Errorf("a storage of the type %.60q", string(kind))
	}
	return m.push(storage{dtype, key, n})
}

// call calls a function that describes data.
func (m *machine) call() error {
	args, ok := m.pop().(tuple)
	f, ok2 := m.pop().(global)
	if !ok || !ok2 {
		return errors.New("a call of something else than a function")
	}
	switch {
	case f == "collections OrderedDict" && len(args) == 0:
		return m.push(dict{})
	case f == "torch._utils _rebuild_tensor_v2":
		t, err := rebuild(args)
		if err != nil {
			return err
		}
		return m.push(t)
	case f == "torch._utils _rebuild_parameter" && len(args) == 3: // a tensor, whether it is trained, and hooks
		return m.push(args[0])
	}
	return fmt.Errorf("a call of %.100q with %d arguments", string(f), len(args))
}

// rebuild returns the tensor of (storage, first number, shape, strides, ...).
func rebuild(args tuple) (t tensor, err error) {
	bad := errors.New("a tensor that is not described as torch.save does")
	if len(args) < 4 {
		return t, bad
	}
	var shape, strides tuple
	var ok [4]bool
	t.storage, ok[0] = args[0].(storage)
	t.at, ok[1] = args[1].(int64)
	shape, ok[2] = args[2].(tuple)
	strides, ok[3] = args[3].(tuple)
	if ok != [4]bool{true, true, true, true} || len(shape) != len(strides) || len(shape) > maxDims || t.at < 0 || t.at > t.storage.n {
		return t, bad
	}
	t.shape = make([]int, len(shape))
	n := uint64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		d, isInt := shape[i].(int64)
		stride, isInt2 := strides[i].(int64)
		if !isInt || !isInt2 || d < 0 || d > math.MaxInt32 {
			return t, bad
		}
		if d > 1 && uint64(stride) != n {
			return t, fmt.Errorf("a tensor with stride %d of dimension %d, where rows have %d", stride, i, n)
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 {
			return t, bad
		}
		n, t.shape[i] = lo, int(d)
	}
	if n > uint64(t.storage.n-t.at) {
		return t, fmt.Errorf("a tensor of %d numbers in a storage of %d", n, t.storage.n)
	}
	return t, nil
}

// build sets attributes of a dictionary: the versions of modules, which say nothing about numbers.
func (m *machine) build() error {
	_, ok := m.pop().(dict)
	if !ok || len(m.stack) == 0 {
		return errors.New("attributes that are no dictionary")
	}
	if _, ok := m.stack[len(m.stack)-1].(dict); !ok {
		return errors.New("attributes of something else than a dictionary")
	}
	return nil
}
