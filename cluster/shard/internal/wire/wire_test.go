package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var geometries = []Geometry{
	{Type: kernel.Float32, Heads: 2, KeySize: 3, ValueSize: 5},
	{Type: kernel.Float16, Heads: 1, KeySize: 4, ValueSize: 4},
	{Type: kernel.BFloat16, Heads: 3, KeySize: 2, ValueSize: 1},
	{Type: kernel.Int8, Heads: 2, KeySize: 8, ValueSize: 4, Group: 4},
}

// bytesFrom returns n bytes that are not all equal.
func bytesFrom(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return b
}

func putOf(g Geometry) *Put {
	return &Put{g, []Keys{
		{"a", 0, 1, 0, 2, bytesFrom(2 * g.RowBytes())},
		{"another", MaxBlock, 1 << 60, 255, 1, bytesFrom(g.RowBytes())},
	}}
}

func attendOf(g Geometry) *Attend {
	scoring := kernel.Scoring{Scale: 0.5, Softcap: 3, Mask: kernel.Window(-1, 7)}
	for i := range 2 * g.Heads {
		scoring.ALiBi = append(scoring.ALiBi, float32(i))
	}
	c := Call{Type: kernel.Float16, Heads: 2 * g.Heads, Scoring: NewScoring(&scoring)}
	row := c.Heads * g.KeySize * 2
	return &Attend{g, c, []Queries{
		{"a", 7, 1000, -5, 1, []Range{{0, 2}, {3, 1}}, bytesFrom(row)},
		{"b", 1 << 63, 1, 0, 3, []Range{}, bytesFrom(3 * row)},
	}}
}

func entryOf(g Geometry) *Entry {
	return &Entry{Wire: 3, Contract: 4, ID: "s.x", Geometry: g, Replicas: 2, Writer: "w", Epoch: 1 << 40, Length: 600,
		Blocks: [][]string{{"a", "b"}, {"b"}, {"c", "a"}}}
}

// same encodes a message, and expects to decode the same.
func same[T any, M interface {
	*T
	Message
}](t *testing.T, m M) {
	t.Helper()
	if got, err := Decode[T, M](Encode(m)); err != nil || !reflect.DeepEqual(M(got), m) {
		t.Errorf("%+v: %v\n%+v", m, err, got)
	}
}

// What is written is read.
func TestRoundTrip(t *testing.T) {
	for _, g := range geometries {
		put, attend := putOf(g), attendOf(g)
		same(t, put)
		same(t, attend)
		if n := len(Encode(put)); n > PutOverhead+2*KeysOverhead+3*g.RowBytes() {
			t.Errorf("%d bytes, more than the overhead says", n)
		}
	}
	same(t, &Free{Sequence: "x.y/z"})
	same(t, &Send{Geometry: geometries[3], Sequence: "x", Epoch: 5, Block: 7, Rows: 200, Lo: 3, Hi: 200, To: "b"})
	entry := entryOf(geometries[3])
	if got, err := DecodeEntry(entry.Encode()); err != nil || !reflect.DeepEqual(got, entry) {
		t.Error(got, err)
	}
	if wire, contract := EntryVersion(entry.Encode()); wire != 3 || contract != 4 {
		t.Error(wire, contract)
	}
	statuses := []Status{OK, Gap, Misfit}
	if got, err := DecodeStatuses([]byte{byte(OK), byte(Gap), byte(Misfit)}, 3); err != nil || !slices.Equal(got, statuses) {
		t.Error(got, err)
	}
	if _, err := DecodeStatuses([]byte{byte(OK)}, 2); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// No message is longer than the overheads say, whatever its numbers are.
func TestOverheads(t *testing.T) {
	g := Geometry{kernel.Int8, MaxHeads, 1 << 4, 1 << 4, 1 << 4}
	name := strings.Repeat("x", MaxName)
	put := &Put{g, []Keys{{name, MaxBlock, math.MaxUint64, 255, 1, nil}}}
	if n := len(Encode(put)); n > PutOverhead+KeysOverhead {
		t.Errorf("%d bytes of keys", n)
	}
	scoring := Scoring{math.MaxUint32, math.MaxUint32, &[2]int{math.MaxInt32, math.MaxInt32}, []uint32{}}
	for range MaxHeads {
		scoring.ALiBi = append(scoring.ALiBi, math.MaxUint32)
	}
	kernels := scoring.Kernel()
	q := Queries{name, math.MaxUint64, math.MaxInt32, -math.MaxInt32, math.MaxInt32, []Range{{MaxBlock, MaxBlock}, {MaxBlock, MaxBlock}}, nil}
	attend := &Attend{Geometry{kernel.Int8, MaxHeads, maxHeadSize, maxHeadSize, maxHeadSize}, Call{kernel.BFloat16, MaxHeads, scoring}, []Queries{q}}
	if n := len(Encode(attend)); n > AttendOverhead+ScoringBytes(&kernels)+QueriesOverhead+2*RangeBytes {
		t.Errorf("%d bytes of queries", n)
	}
}

// An answer has the blocks in the order of the message; its size is what the message says.
func TestAnswer(t *testing.T) {
	a := attendOf(geometries[0])
	p, err := kernel.NewPartials(1, 1, a.Call.Heads, 1, a.Geometry.ValueSize)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Out {
		p.Out[i] = float32(i)
	}
	b := AppendTime(nil, 42)
	full := AppendBlock(AppendBlock(AppendBlock(slices.Clone(b), p), p), p)
	if n := a.AnswerBytes(1 << 20); n != len(full) || a.AnswerBytes(n) != n || a.AnswerBytes(n-1) != n {
		t.Errorf("%d bytes, want %d", n, len(full))
	}
	b = AppendBlock(AppendBlock(AppendBlock(b, p), nil), p)
	var held []bool
	took, err := DecodeAnswer(b, a, func(n int, partial []byte) {
		held = append(held, partial != nil)
		if partial != nil {
			out := make([]float32, len(p.Out))
			Floats(out, partial[8*a.Call.Heads:])
			if n != len(held)-1 || !slices.Equal(out, p.Out) {
				t.Errorf("block %d: %v", n, out)
			}
		}
	})
	if err != nil || took != 42 || !slices.Equal(held, []bool{true, false, true}) {
		t.Error(took, held, err)
	}
	for n := range b {
		called := false
		if _, err := DecodeAnswer(b[:n], a, func(int, []byte) { called = true }); err == nil || called {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// Messages that are cut off, or go on, or whose numbers do not fit are errors.
func TestHostile(t *testing.T) {
	parse := map[string]func([]byte) error{
		"put":    func(b []byte) error { _, err := Decode[Put](b); return err },
		"attend": func(b []byte) error { _, err := Decode[Attend](b); return err },
		"free":   func(b []byte) error { _, err := Decode[Free](b); return err },
		"send":   func(b []byte) error { _, err := Decode[Send](b); return err },
		"entry":  func(b []byte) error { _, err := DecodeEntry(b); return err },
	}
	messages := map[string][]byte{"free": Encode(&Free{Sequence: "x"})}
	messages["put"], messages["attend"] = Encode(putOf(geometries[3])), Encode(attendOf(geometries[3]))
	messages["send"] = Encode(&Send{Geometry: geometries[3], Sequence: "x", Epoch: 5, Block: 7, Rows: 200, Lo: 3, Hi: 200, To: "b"})
	messages["entry"] = entryOf(geometries[3]).Encode()
	for name, b := range messages {
		for n := range b {
			if err := parse[name](b[:n]); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(b), err)
			}
		}
		if err := parse[name](append(b, 0)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s and a byte: %v", name, err)
		}
	}
	for _, head := range []string{`{"Sequence":"x"} `, `{"sequence":"x"}`, `{"Sequence":"x","More":1}`, `{"Sequence":"y","Sequence":"x"}`, `{"Sequence":"x y"}`, `[]`, `null`} {
		if err := parse["free"](append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", head, err)
		}
	}
	g := geometries[0]
	for _, f := range []Send{{noRows{}, g, "x", 0, 0, 257, 0, 1, "b"}, {noRows{}, g, "x", 0, 0, 5, 0, 6, "b"}, {noRows{}, g, "x", 0, 0, 5, 3, 3, "b"}, {noRows{}, g, "x", 0, 0, 0, 0, 0, ""}, {noRows{}, g, "", 0, 0, 5, 0, 1, "b"}, {noRows{}, g, "x", 0, -1, 5, 0, 1, "b"}} {
		if _, err := Decode[Send](Encode(&f)); !errors.Is(err, ErrFormat) {
			t.Errorf("send %+v: %v", f, err)
		}
	}
	for what, change := range map[string]func(e *Entry){
		"a block without number": func(e *Entry) { e.Length = 800 },
		"a worker twice":         func(e *Entry) { e.Blocks[0] = []string{"a", "a"} },
		"many keys":              func(e *Entry) { e.Length = math.MaxInt32 },
		"type":                   func(e *Entry) { e.Geometry.Type = 9 },
		"no name":                func(e *Entry) { e.ID = "" },
	} {
		entry := entryOf(g)
		change(entry)
		if _, err := DecodeEntry(entry.Encode()); !errors.Is(err, ErrFormat) {
			t.Errorf("entry, %s: %v", what, err)
		}
	}
	for what, change := range map[string]func(p *Put){
		"type":         func(p *Put) { p.Geometry.Type = 9 },
		"float8":       func(p *Put) { p.Geometry.Type = kernel.Float8E4M3 },
		"heads":        func(p *Put) { p.Geometry.Heads = 0 },
		"group":        func(p *Put) { p.Geometry.Group = 1 },
		"no int8":      func(p *Put) { p.Geometry.Type = kernel.Int8 },
		"large":        func(p *Put) { p.Geometry = Geometry{kernel.Float32, MaxHeads, maxHeadSize, maxHeadSize, 0} },
		"block":        func(p *Put) { p.Items[0].Block = MaxBlock + 1 },
		"negative":     func(p *Put) { p.Items[0].Block = -1 },
		"offset":       func(p *Put) { p.Items[0].Offset = 255 },
		"no rows":      func(p *Put) { p.Items[0].Count, p.Items[0].Rows = 0, nil },
		"short rows":   func(p *Put) { p.Items[1].Rows = p.Items[1].Rows[1:] },
		"no name":      func(p *Put) { p.Items[0].Sequence = "" },
		"a long name":  func(p *Put) { p.Items[0].Sequence = string(bytesFrom(65)) },
		"a wrong size": func(p *Put) { p.Geometry.KeySize++ },
	} {
		p := putOf(g)
		change(p)
		if _, err := Decode[Put](Encode(p)); !errors.Is(err, ErrFormat) {
			t.Errorf("put, %s: %v", what, err)
		}
	}
	for what, change := range map[string]func(a *Attend){
		"type":         func(a *Attend) { a.Call.Type = kernel.Int8 },
		"float8":       func(a *Attend) { a.Call.Type = kernel.Float8E5M2 },
		"heads":        func(a *Attend) { a.Geometry.Heads = 3 },
		"slopes":       func(a *Attend) { a.Call.Scoring.ALiBi = a.Call.Scoring.ALiBi[1:] },
		"keys":         func(a *Attend) { a.Items[0].Keys = 768 },
		"order":        func(a *Attend) { a.Items[0].Ranges[1].First = 1 },
		"empty":        func(a *Attend) { a.Items[0].Ranges[1].Count = 0 },
		"far":          func(a *Attend) { a.Items[0].Ranges[1] = Range{MaxBlock, math.MaxInt32} },
		"no queries":   func(a *Attend) { a.Items[1].Count, a.Items[1].Rows = 0, nil },
		"many queries": func(a *Attend) { a.Items[1].Count = math.MaxInt32 },
		"short rows":   func(a *Attend) { a.Items[1].Rows = a.Items[1].Rows[1:] },
	} {
		a := attendOf(g)
		change(a)
		if _, err := Decode[Attend](Encode(a)); !errors.Is(err, ErrFormat) {
			t.Errorf("attend, %s: %v", what, err)
		}
	}
	windows := map[string][2]int{"without sides": {-1, -1}, "beyond all": {-2, 0}}
	if far := int64(math.MaxInt32) + 1; int64(int(far)) == far { // an int of 32 bits cannot be too far
		windows["too far"] = [2]int{int(far), 0}
	}
	for what, window := range windows {
		a := attendOf(g)
		a.Call.Scoring.Window = &window
		if _, err := Decode[Attend](Encode(a)); !errors.Is(err, ErrFormat) {
			t.Errorf("window %s: %v", what, err)
		}
	}
}

// TestFields: every field of kernel.Scoring is sent, looked at by the client, or refused if it is
// set.
func TestFields(t *testing.T) {
	all := reflect.TypeFor[kernel.Scoring]()
	value := kernel.Scoring{
		Scale: 2, DynamicInt12: true, BFloat16: true, Score: func(*kernel.ScoreTile) {}, Softcap: 3, ALiBi: []float32{4}, Bias: kernel.BHLD([]float32{5}, 1, 1, 1, 1),
		Mask: kernel.Window(6, 7), QueryStart: []int{8}, KeyStart: []int{9}, Sinks: []float32{10}, Dropout: kernel.Dropout{Rate: 0.5},
		Parents: []int32{-1}, KeyRows: kernel.KeyRows{Rows: []int32{11}, Shape: [4]int{1, 1, 1, 1}},
	}
	clients := []string{"Sinks", "QueryStart"}
	got := map[string]string{"DynamicInt12": "true", "BFloat16": "true", "Score": "a func", "Bias": value.Bias.String(), "KeyStart": "1 numbers",
		"Dropout": "a rate of 0.5", "Parents": "1 numbers", "KeyRows": "lists of the shape [1 1 1 1]"}
	for n := range all.NumField() {
		name := all.Field(n).Name
		var s kernel.Scoring
		to := reflect.ValueOf(&s).Elem().Field(n)
		to.Set(reflect.ValueOf(value).Field(n))
		if to.IsZero() {
			t.Errorf("the test has no value for %s", name)
		}
		sent := slices.Contains(taken, name) && !slices.Contains(clients, name)
		err := CheckScoring(&s)
		var bad *kernel.Error
		if isRefused := errors.As(err, &bad) && bad.Arg() == "Options."+name; isRefused == (sent || slices.Contains(clients, name)) {
			t.Errorf("%s: got error %v, and it is sent: %v", name, err, sent)
		} else if want := got[name]; isRefused && bad.Got != want {
			t.Errorf("%s: got %q in the error, want %q", name, bad.Got, want)
		}
		x := NewScoring(&s)
		if same := reflect.DeepEqual(x.Kernel(), s); same != sent {
			t.Errorf("%s: the same value was sent: %v, want %v", name, same, sent)
		}
	}
	for what, x := range map[string]struct { // as the kernel takes and refuses them
		s     kernel.Scoring
		taken bool
	}{
		"no key starts":              {kernel.Scoring{KeyStart: []int{}}, true},
		"no parents":                 {kernel.Scoring{Parents: []int32{}}, false},
		"a seed that drops nothing":  {kernel.Scoring{Dropout: kernel.Dropout{Seed: 5, Sequences: []uint32{1}}}, true},
		"a rate that is no number":   {kernel.Scoring{Dropout: kernel.Dropout{Rate: float32(math.NaN())}}, false},
		"lists of the keys, no rows": {kernel.Scoring{KeyRows: kernel.KeyRows{Rows: []int32{}}}, false},
	} {
		if err := CheckScoring(&x.s); (err == nil) != x.taken {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The smallest items that a message can have are read, and no message makes its reader allocate
// many times its bytes.
func TestAllocatedBytes(t *testing.T) {
	g := Geometry{Type: kernel.Float32, Heads: 1, KeySize: 1, ValueSize: 1}
	few, many := &Attend{Geometry: g, Call: Call{Heads: 1}}, []Range{}
	for i := range 9 {
		many = append(many, Range{2 * i, 1})
	}
	for _, ranges := range [][]Range{{}, {{0, 1}}, many} {
		few.Items = append(few.Items, Queries{"a", 0, 5000, 0, 1, ranges, bytesFrom(4)})
	}
	same(t, few)
	same(t, &Put{g, []Keys{{"a", 0, 0, 0, 1, bytesFrom(g.RowBytes())}}})
	const size = 1 << 20
	item := `{"Sequence":"a","Epoch":0,"Keys":0,"Start":0,"Count":1,"Ranges":[`
	for name, parts := range map[string][3]string{
		"no fields": {`{"Items":[`, `{},`, `{}]}`}, "no items": {`{"Items":[`, `null,`, `null]}`}, "spaces": {`{"Items":[`, `{}` + strings.Repeat(" ", 80) + `,`, `{}]}`},
		"items": {`{"Items":[`, item + `]},`, item + `]}]}`}, "no ranges": {`{"Items":[` + item, `null,`, `null]}]}`}, "ranges": {`{"Items":[` + item, `null      ,`, `null]}]}`},
	} {
		head := parts[0] + strings.Repeat(parts[1], size/len(parts[1])) + parts[2]
		data := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errAttend := Decode[Attend](data)
		_, errPut := Decode[Put](data)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 32*size || errAttend == nil || errPut == nil {
			t.Errorf("%s: %d times the bytes of the message; %v, %v", name, got/size, errAttend, errPut)
		} else {
			t.Logf("%s: %d times the bytes of the message", name, got/size)
		}
	}
}

// FuzzParse: no bytes do harm, and a message that is accepted is the one that is written of
// its contents.
func FuzzParse(f *testing.F) {
	for _, g := range geometries {
		f.Add(Encode(putOf(g)))
		f.Add(Encode(attendOf(g)))
	}
	f.Add(entryOf(geometries[0]).Encode())
	f.Add(Encode(&Free{Sequence: "x"}))
	f.Add(Encode(&Send{Geometry: geometries[3], Sequence: "x", Epoch: 5, Block: 7, Rows: 200, Lo: 3, Hi: 200, To: "b"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(what string, written []byte, err error) {
			if err == nil && !bytes.Equal(written, data) {
				t.Errorf("%s: accepted %x, written %x", what, data, written)
			} else if err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %v", what, err)
			}
		}
		fuzz[Put](data, check)
		fuzz[Attend](data, check)
		fuzz[Send](data, check)
		fuzz[Free](data, check)
		entry, err := DecodeEntry(data)
		if err != nil {
			entry = &Entry{}
		}
		check("entry", entry.Encode(), err)
		DecodeAnswer(data, attendOf(geometries[0]), func(int, []byte) {})
		DecodeStatuses(data, 3)
	})
}

// fuzz decodes a message, and encodes it again.
func fuzz[T any, M interface {
	*T
	Message
}](data []byte, check func(what string, written []byte, err error)) {
	m, err := Decode[T, M](data)
	var written []byte
	if err == nil {
		written = Encode(M(m))
	}
	check(reflect.TypeFor[T]().Name(), written, err)
}
