package wire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
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
	c := Call{Type: kernel.Float16, Heads: 2 * g.Heads, Scoring: kernel.Scoring{Scale: 0.5, Softcap: 3, Mask: kernel.Window(-1, 7)}}
	for i := range c.Heads {
		c.Scoring.ALiBi = append(c.Scoring.ALiBi, float32(i))
	}
	row := c.Heads * g.KeySize * 2
	return &Attend{g, c, []Queries{
		{"a", 7, 1000, -5, 1, []Range{{0, 2}, {3, 1}}, bytesFrom(row)},
		{"b", 1 << 63, 1, 0, 3, nil, bytesFrom(3 * row)},
	}}
}

func entryOf(g Geometry) *Entry {
	return &Entry{Wire: 3, Contract: 4, ID: "s.x", Geometry: g, Replicas: 2, Writer: "w", Epoch: 1 << 40, Length: 600,
		Blocks: [][]string{{"a", "b"}, {"b"}, {"c", "a"}}}
}

// What is written is read.
func TestRoundTrip(t *testing.T) {
	for _, g := range geometries {
		put := putOf(g)
		if got, err := ParsePut(put.Append(nil)); err != nil || !reflect.DeepEqual(got, put) {
			t.Errorf("%+v: %v\n%+v", g, err, got)
		}
		attend := attendOf(g)
		if got, err := ParseAttend(attend.Append(nil)); err != nil || !reflect.DeepEqual(got, attend) {
			t.Errorf("%+v: %v\n%+v", g, err, got)
		}
		if n := len(put.Append(nil)); n > PutOverhead+2*KeysOverhead+3*g.RowBytes() {
			t.Errorf("%d bytes, more than the overhead says", n)
		}
	}
	names := []string{"x", "yz"}
	if got, err := ParseNames(AppendNames(nil, names)); err != nil || !slices.Equal(got, names) {
		t.Error(got, err)
	}
	send := &Send{geometries[3], "x", 5, 7, 200, 3, 200, "b"}
	if got, err := ParseSend(send.Append(nil)); err != nil || !reflect.DeepEqual(got, send) {
		t.Error(got, err)
	}
	drop := &Drop{9, "x", []int{0, MaxBlock}}
	if got, err := ParseDrop(drop.Append(nil)); err != nil || !reflect.DeepEqual(got, drop) {
		t.Error(got, err)
	}
	entry := entryOf(geometries[3])
	if got, err := ParseEntry(entry.Append(nil)); err != nil || !reflect.DeepEqual(got, entry) {
		t.Error(got, err)
	}
	if wire, contract := EntryVersion(entry.Append(nil)[:8]); wire != 3 || contract != 4 {
		t.Error(wire, contract)
	}
	statuses := []Status{OK, Gap, Misfit}
	if got, err := ParseStatuses(AppendStatuses(nil, statuses), 3); err != nil || !slices.Equal(got, statuses) {
		t.Error(got, err)
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
	took, err := ParseAnswer(b, a, func(n int, partial []byte) {
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
		if _, err := ParseAnswer(b[:n], a, func(int, []byte) { called = true }); err == nil || called {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// Messages that are cut off, or go on, or whose numbers do not fit are errors.
func TestHostile(t *testing.T) {
	parse := map[string]func([]byte) error{
		"put":    func(b []byte) error { _, err := ParsePut(b); return err },
		"attend": func(b []byte) error { _, err := ParseAttend(b); return err },
		"free":   func(b []byte) error { _, err := ParseNames(b); return err },
		"send":   func(b []byte) error { _, err := ParseSend(b); return err },
		"drop":   func(b []byte) error { _, err := ParseDrop(b); return err },
		"entry":  func(b []byte) error { _, err := ParseEntry(b); return err },
	}
	messages := map[string][]byte{"free": AppendNames(nil, []string{"x", "yz"})}
	messages["put"], messages["attend"] = putOf(geometries[3]).Append(nil), attendOf(geometries[3]).Append(nil)
	messages["send"] = (&Send{geometries[3], "x", 5, 7, 200, 3, 200, "b"}).Append(nil)
	messages["drop"], messages["entry"] = (&Drop{9, "x", []int{0, 5}}).Append(nil), entryOf(geometries[3]).Append(nil)
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
	g := geometries[0]
	for _, f := range []Send{{g, "x", 0, 0, 257, 0, 1, "b"}, {g, "x", 0, 0, 5, 0, 6, "b"}, {g, "x", 0, 0, 5, 3, 3, "b"}, {g, "x", 0, 0, 0, 0, 0, ""}, {g, "", 0, 0, 5, 0, 1, "b"}, {g, "x", 0, -1, 5, 0, 1, "b"}} {
		if _, err := ParseSend(f.Append(nil)); !errors.Is(err, ErrFormat) {
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
		if _, err := ParseEntry(entry.Append(nil)); !errors.Is(err, ErrFormat) {
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
		if _, err := ParsePut(p.Append(nil)); !errors.Is(err, ErrFormat) {
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
		if _, err := ParseAttend(a.Append(nil)); !errors.Is(err, ErrFormat) {
			t.Errorf("attend, %s: %v", what, err)
		}
	}
	const window = 9 + 1 + 2 + 2*4 // where it stands in a message
	for what, change := range map[string]func(data []byte){
		"no window":         func(data []byte) { data[window] = 0 },
		"a third":           func(data []byte) { data[window] = 2 },
		"without sides":     func(data []byte) { copy(data[window+1:], "\xff\xff\xff\xff\xff\xff\xff\xff") },
		"a side beyond all": func(data []byte) { data[window+4] = 0x80 },
	} {
		data := attendOf(g).Append(nil)
		change(data)
		if _, err := ParseAttend(data); !errors.Is(err, ErrFormat) {
			t.Errorf("attend, %s: %v", what, err)
		}
	}
}

// TestFields: every field of kernel.Scoring is sent, looked at by the client, or refused if it is set.
func TestFields(t *testing.T) {
	all := reflect.TypeFor[kernel.Scoring]()
	if all.NumField() != len(fields) {
		t.Errorf("%d fields in the table, kernel.Scoring has %d", len(fields), all.NumField())
	}
	value := kernel.Scoring{
		Scale: 2, DynamicInt12: true, BFloat16: true, Score: func(*kernel.ScoreTile) {}, Softcap: 3, ALiBi: []float32{4}, Bias: kernel.BHLD([]float32{5}, 1, 1, 1, 1),
		Mask: kernel.Window(6, 7), QueryStart: []int{8}, KeyStart: []int{9}, Sinks: []float32{10}, Dropout: kernel.Dropout{Rate: 0.5},
		Parents: []int32{-1}, KeyRows: kernel.KeyRows{Rows: []int32{11}, Shape: [4]int{1, 1, 1, 1}},
	}
	clients := []string{"Sinks", "QueryStart"}
	for x := range fields {
		f := &fields[x]
		var s kernel.Scoring
		to := reflect.ValueOf(&s).Elem().FieldByName(f.name)
		if !to.IsValid() {
			t.Errorf("kernel.Scoring has no %s", f.name)
			continue
		}
		to.Set(reflect.ValueOf(value).FieldByName(f.name))
		if to.IsZero() {
			t.Errorf("the test has no value for %s", f.name)
		}
		sent := f.put != nil
		err := CheckScoring(&s)
		var bad *kernel.Error
		if isRefused := errors.As(err, &bad) && bad.Arg() == "Options."+f.name; isRefused == (sent || slices.Contains(clients, f.name)) {
			t.Errorf("%s: got error %v, and it is sent: %v", f.name, err, sent)
		}
		g := geometries[0]
		a := Attend{Geometry: g, Call: Call{Heads: g.Heads, Scoring: s}}
		if f.name == "ALiBi" {
			a.Call.Scoring.ALiBi = make([]float32, g.Heads)
		}
		data := a.Append(nil)
		if want := AttendOverhead + ScoringBytes(&a.Call.Scoring); len(data) != want {
			t.Errorf("%s: a message of %d bytes, want %d", f.name, len(data), want)
		}
		got, err := ParseAttend(data)
		if err != nil {
			t.Fatal(f.name, err)
		}
		if same := reflect.DeepEqual(got.Call.Scoring, a.Call.Scoring); same != sent {
			t.Errorf("%s: the same value was read: %v, want %v", f.name, same, sent)
		}
	}
}

// FuzzParse: no bytes do harm, and a message that is accepted is the one that is written of
// its contents.
func FuzzParse(f *testing.F) {
	for _, g := range geometries {
		f.Add(putOf(g).Append(nil))
		f.Add(attendOf(g).Append(nil))
	}
	f.Add((&Drop{9, "x", []int{0, 5}}).Append(nil))
	f.Add(entryOf(geometries[0]).Append(nil))
	f.Add(AppendNames(nil, []string{"x", "yz"}))
	f.Add((&Send{geometries[3], "x", 5, 7, 200, 3, 200, "b"}).Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(what string, written []byte, err error) {
			if err == nil && !bytes.Equal(written, data) {
				t.Errorf("%s: accepted %x, written %x", what, data, written)
			} else if err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %v", what, err)
			}
		}
		p, err := ParsePut(data)
		check("put", p.Append(nil), err)
		a, err := ParseAttend(data)
		check("attend", a.Append(nil), err)
		names, err := ParseNames(data)
		check("free", AppendNames(nil, names), err)
		send, err := ParseSend(data)
		check("send", send.Append(nil), err)
		drop, err := ParseDrop(data)
		check("drop", drop.Append(nil), err)
		entry, err := ParseEntry(data)
		check("entry", entry.Append(nil), err)
		a = attendOf(geometries[0])
		ParseAnswer(data, a, func(int, []byte) {})
		ParseStatuses(data, 3)
	})
}
