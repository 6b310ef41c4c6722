package receipt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

var update = flag.Bool("update", false, "write testdata/tiny.json again")

// sampler has all that decides about a token.
var sampler = decoder.Sampler{Temperature: 0.9, TopK: 50, TopP: 0.95, MinP: 0.001, RepetitionPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.2, PenaltyWindow: 20, Seed: 7}

// tiny returns a tiny model.
func tiny(t testing.TB, exec kernel.Exec) (Model, *decoder.Model) {
	t.Helper()
	f := tinyllama.New(nil)
	f.AddVocabulary()
	return load(t, f.Write(t), decoder.Options{Exec: exec})
}

func load(t testing.TB, path string, o decoder.Options) (Model, *decoder.Model) {
	t.Helper()
	m, err := decoder.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	files, err := Files(path, true)
	if err != nil {
		t.Fatal(err)
	}
	return Model{Name: "tiny", Architecture: "llama", Files: files}, m
}

// record returns the receipt of an answer.
func record(t testing.TB, model Model, m *decoder.Model, o decoder.GenerateOptions) *Receipt {
	t.Helper()
	messages := []chattemplate.Message{{Role: "user", Content: "what is this?"}}
	prompt, err := m.EncodeChat(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Record(model, m, prompt, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Conversation(&chattemplate.Conversation{Messages: messages}); err != nil {
		t.Fatal(err)
	}
	o.Logits = func(_ int, logits []float32) { c.Logits(logits) }
	for token, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		c.Add(token)
	}
	return c.Receipt()
}

// TestConversation: a receipt has the tools, calls, results, reasoning, documents and variables of
// a conversation, and each of them counts.
func TestConversation(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.Set("tokenizer.chat_template", "{{ messages | tojson }}{{ tools | tojson }}{{ documents | tojson }}{{ x | tojson }}{{ y }}{{ strftime_now('%Y') }}")
	model, m := load(t, file.Write(t), decoder.Options{Context: 1500})
	talk := &chattemplate.Conversation{
		Messages: []chattemplate.Message{
			{Role: "user", Content: "<a>", Name: "n"},
			{Role: "assistant", Reasoning: "r", Calls: []chattemplate.ToolCall{{ID: "i", Name: "f", Arguments: json.RawMessage(`{"a":  "<b>"}`)}}},
			{Role: "tool", Content: "c", CallID: "i"},
		},
		Tools:     []chattemplate.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":  "object"}`), Strict: true}},
		Documents: json.RawMessage(`[{"text":  "x"}]`),
		Variables: map[string]any{"x": 2.0, "y": json.RawMessage(`{"a":  [1, "<"]}`)},
		Date:      chattemplate.DateOf(time.Date(1999, 1, 2, 0, 0, 0, 0, time.UTC)),
	}
	prompt, err := m.EncodeConversation(t.Context(), talk)
	if err != nil {
		t.Fatal(err)
	}
	o := decoder.GenerateOptions{MaxTokens: 3}
	c, err := Record(model, m, prompt, &o)
	if err == nil {
		err = c.Conversation(talk)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Logits = func(_ int, logits []float32) { c.Logits(logits) }
	for token, err := range m.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		c.Add(token)
	}
	r := copied(t, c.Receipt())
	if err := Verify(t.Context(), model, m, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *Conversation){
		"name":      func(c *Conversation) { c.Messages[0].Name = "" },
		"reasoning": func(c *Conversation) { c.Messages[1].Reasoning = "s" },
		"calls":     func(c *Conversation) { c.Messages[1].Calls[0].Arguments = json.RawMessage(`{"a": 1}`) },
		"id":        func(c *Conversation) { c.Messages[2].CallID = "j" },
		"tools":     func(c *Conversation) { c.Tools[0].Description = "e" },
		"documents": func(c *Conversation) { c.Documents = nil },
		"variables": func(c *Conversation) { c.Variables["x"] = json.RawMessage("2") },
		"date":      func(c *Conversation) { c.Date = &chattemplate.DefaultDate },
	} {
		forged := copied(t, r)
		change(&forged.Conversation)
		if err := Verify(t.Context(), model, m, forged, Options{}); !errors.Is(err, ErrMismatch) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for name, bad := range map[string]*chattemplate.Conversation{
		"tools":     {Tools: []chattemplate.Tool{{Description: "\xff"}}},
		"documents": {Documents: json.RawMessage("\xff")},
		"variables": {Variables: map[string]any{"\xff": 1}},
		"kind":      {Variables: map[string]any{"a": t}},
		"fields":    {Messages: []chattemplate.Message{{Fields: json.RawMessage("{}")}}},
	} {
		if err := c.Conversation(bad); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("bad %s: %v", name, err)
		}
	}
	forged := copied(t, r)
	if forged.Messages = nil; forged.check() == nil {
		t.Error("tools without messages are no error")
	}
}

// copied returns a receipt that was written and read.
func copied(t testing.TB, r *Receipt) *Receipt {
	t.Helper()
	data, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// A receipt holds on every tier and number of threads, with guesses or without, whole or in part.
func TestVerify(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	for _, o := range []decoder.GenerateOptions{
		{MaxTokens: 150, Sampler: sampler, Stop: []int32{}},
		{MaxTokens: 30, Draft: 4},
		{MaxTokens: 60, Sampler: decoder.Sampler{Temperature: 1, Seed: 1<<64 - 1}, StopText: []string{"a"}},
		{MaxTokens: 40, Sampler: sampler, Grammar: made(t, grammar.Source{Text: `root ::= [a-z]{3,9} (" " root)?`})},
		{MaxTokens: 60, Sampler: sampler, Stop: []int32{}, Markers: []int32{1, 2}, Budget: &decoder.Budget{Open: true, End: "<|im_end|>", Tokens: 9}},
		{MaxTokens: 60, Draft: 3, Stop: []int32{}, Budget: &decoder.Budget{Begin: "e", End: "the end", Tokens: 2}},
		{MaxTokens: 40, Draft: 2, Grammar: made(t, grammar.Source{Text: `{"enum": ["to the cat", "aeiou"]}`, JSON: true})},
	} {
		r := copied(t, record(t, model, m, o))
		for _, tier := range kernel.Tiers() {
			for _, threads := range []int{1, 3} {
				other, err := m.With(decoder.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
				if err != nil {
					t.Fatal(err)
				}
				for _, spot := range []int{0, 1, 5} {
					if err := Verify(t.Context(), model, other, r, Options{Spot: spot, Random: rand.New(rand.NewPCG(1, 2))}); err != nil {
						t.Errorf("%s, %d threads, spot %d: %v", tier, threads, spot, err)
					}
				}
			}
		}
	}
}

// made returns a grammar.
func made(t testing.TB, s grammar.Source) *grammar.Grammar {
	t.Helper()
	g, err := s.Grammar()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A receipt has all settings that change results.
func TestSettings(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	plain := record(t, model, m, decoder.GenerateOptions{MaxTokens: 8})
	for _, o := range []decoder.Options{
		{Context: 100},
		{CacheType: kernel.Float16},
		{CacheType: kernel.Int8, CacheValueType: kernel.Int4},
		{CacheType: kernel.Int4, Unrotated: true},
		{CacheType: kernel.Int8, DynamicInt12: true},
	} {
		other, err := m.With(o)
		if err != nil {
			t.Fatal(err)
		}
		r := copied(t, record(t, model, other, decoder.GenerateOptions{MaxTokens: 8}))
		o, err := r.Settings.Options()
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.With(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(t.Context(), model, again, r, Options{}); err != nil {
			t.Errorf("%+v: %v", r.Settings, err)
		}
		if r.Settings == plain.Settings || o.CacheType != 0 && slices.Equal(r.Hashes, plain.Hashes) {
			t.Errorf("%+v: the logits are those without", r.Settings)
		}
		if err := Verify(t.Context(), model, m, r, Options{}); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%+v, with a model of other settings: %v", r.Settings, err)
		}
	}
}

// A forged grammar is found, and one that is none is an error.
func TestForgedGrammar(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	good := record(t, model, m, decoder.GenerateOptions{MaxTokens: 20, Sampler: sampler, Grammar: made(t, grammar.Source{Text: `root ::= [a-z ]{30}`})})
	const spots = 12
	if len(good.Tokens) <= spots {
		t.Fatalf("%d tokens, want more than %d", len(good.Tokens), spots)
	}
	for name, forge := range map[string]func(r *Receipt){
		"none":    func(r *Receipt) { r.Grammar = nil },
		"another": func(r *Receipt) { r.Grammar.Text = `root ::= [A-Z ]+` },
		"longer":  func(r *Receipt) { r.Grammar.Text = `root ::= [a-z ]{3}` },
	} {
		r := copied(t, good)
		forge(r)
		for _, spot := range []int{0, spots} {
			if err := Verify(t.Context(), model, m, copied(t, r), Options{Spot: spot, Random: rand.New(rand.NewPCG(1, 2))}); !errors.As(err, new(*kernel.Error)) {
				t.Errorf("%s, spot %d: %v", name, spot, err)
			}
		}
	}
	for _, g := range []Grammar{{formGBNF, `root ::= (`}, {formSchema, `root ::= "a"`}, {formSchema, `{"type": 3}`}, {formGBNF, `root ::= ` + strings.Repeat("(", 1<<16)}} {
		r := copied(t, good)
		r.Grammar = &g
		if err := Verify(t.Context(), model, m, copied(t, r), Options{}); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%+.40v: %v", g, err)
		}
	}
}

// What JSON cannot hold is refused, and else a signature holds after writing and reading.
func TestBytes(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	o := decoder.GenerateOptions{MaxTokens: 3, Grammar: made(t, grammar.Source{Text: "{\"const\": \"<cat&\", \"title\": \"\xff\xff\\u2028\"}", JSON: true})}
	r := record(t, model, m, o)
	if err := r.Sign(ed25519.NewKeyFromSeed(make([]byte, 32))); err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), model, m, copied(t, r), Options{}); err != nil {
		t.Error(err)
	}
	c, err := Record(model, m, []int32{1}, &o)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []chattemplate.Message{{Role: "user", Content: "a\xff"}, {Role: "\xe2\x82", Content: "a"}} {
		if err := c.Conversation(&chattemplate.Conversation{Messages: []chattemplate.Message{{Role: "user"}, message}}); !errors.As(err, new(*kernel.Error)) || c.r.Messages != nil {
			t.Errorf("%q: %v", message, err)
		}
	}
	model.Files = []File{{Name: "a\xff.gguf"}}
	if _, err := Record(model, m, []int32{1}, &o); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a file's name: %v", err)
	}
}

// Whatever is forged is found, at its place.
func TestForged(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	good := record(t, model, m, decoder.GenerateOptions{MaxTokens: 40, Sampler: sampler, Stop: []int32{}})
	for name, c := range map[string]struct {
		forge func(r *Receipt)
		field string
		token int
	}{
		"token":    {func(r *Receipt) { r.Tokens[9] ^= 1 }, "tokens", 9},
		"seed":     {func(r *Receipt) { r.Sampler.Seed++ }, "tokens", -2},
		"hash":     {func(r *Receipt) { r.Hashes[12][31] ^= 1 }, "hashes", 12},
		"file":     {func(r *Receipt) { r.Model.Files[0].SHA256[0] ^= 1 }, "model.files", -1},
		"files":    {func(r *Receipt) { r.Model.Files = append(r.Model.Files, File{Name: "x"}) }, "model.files", -1},
		"model":    {func(r *Receipt) { r.Model.Architecture = "qwen2" }, "model.architecture", -1},
		"contract": {func(r *Receipt) { r.Contract-- }, "contract", -1},
		"settings": {func(r *Receipt) { r.Settings.CacheValues = "float16" }, "settings", -1},
		"context":  {func(r *Receipt) { r.Settings.Context-- }, "settings", -1},
		"penalty":  {func(r *Receipt) { r.Sampler.RepetitionPenalty = 5 }, "tokens", -2},
		"message":  {func(r *Receipt) { r.Messages[0].Content = "what is that?" }, "prompt", -2},
		"role":     {func(r *Receipt) { r.Messages[0].Role = "assistant" }, "prompt", -2},
		"prompt":   {func(r *Receipt) { r.Messages = nil; r.Prompt[3] ^= 1 }, "hashes", 0},
		"unknown":  {func(r *Receipt) { r.Tokens[0] = tinyllama.Vocab }, "tokens", 0},
		"negative": {func(r *Receipt) { r.Prompt[1] = -1 }, "prompt", 1},
		"short":    {func(r *Receipt) { r.Tokens, r.Hashes = r.Tokens[:20], r.Hashes[:20] }, "end", -1},
		"max":      {func(r *Receipt) { r.MaxTokens = 20 }, "tokens", 20},
		"stop":     {func(r *Receipt) { r.Stop = []int32{r.Tokens[0]} }, "tokens", 1},
		"end":      {func(r *Receipt) { r.End = "stop token" }, "end", -1},
		"text":     {func(r *Receipt) { r.Text += "!" }, "text", -1},
	} {
		t.Run(name, func(t *testing.T) {
			r := copied(t, good)
			c.forge(r)
			err := Verify(t.Context(), model, m, copied(t, r), Options{})
			var bad *kernel.Error
			if !errors.As(err, &bad) || bad.Kind != ErrMismatch || !isAbout(bad, c.field, c.token) {
				t.Errorf("%v, want a mismatch of %s[%d]", err, c.field, c.token)
			}
		})
	}
	if err := Verify(t.Context(), model, m, good, Options{}); err != nil {
		t.Errorf("the true one: %v", err)
	}
	r := copied(t, good) // a spot check of all but one place finds either of two forgeries
	r.Hashes[10][0] ^= 1
	if err := Verify(t.Context(), model, m, r, Options{Spot: 39, Random: rand.New(rand.NewPCG(1, 2))}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a spot check: %v", err)
	}
}

// Receipts of another form are errors, and take no more memory than their bytes.
func TestHostile(t *testing.T) {
	of := func(o map[string]any) map[string]any { return o["generation"].(map[string]any) }
	model, m := tiny(t, kernel.Exec{})
	good, err := record(t, model, m, decoder.GenerateOptions{MaxTokens: 4}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(o map[string]any)) []byte {
		var o map[string]any
		if err := json.Unmarshal(good, &o); err != nil {
			t.Fatal(err)
		}
		f(o)
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for n := range len(good) - 2 {
		if _, err := Read(bytes.NewReader(good[:n])); !errors.As(err, new(*kernel.Error)) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	for name, data := range map[string][]byte{
		"twice":    append(good[:len(good)-1:len(good)-1], good...),
		"huge":     bytes.Repeat([]byte("1"), MostBytes+1),
		"deep":     bytes.Repeat([]byte("["), 1<<20),
		"version":  change(func(o map[string]any) { o["version"] = 2 }),
		"field":    change(func(o map[string]any) { o["more"] = 2 }),
		"prompt":   change(func(o map[string]any) { of(o)["prompt"] = []int{} }),
		"hashes":   change(func(o map[string]any) { of(o)["hashes"] = []string{} }),
		"hash":     change(func(o map[string]any) { of(o)["hashes"].([]any)[0] = strings.Repeat("AB", 32) }),
		"tokens":   change(func(o map[string]any) { of(o)["tokens"], of(o)["hashes"] = []int{}, []string{} }),
		"id":       change(func(o map[string]any) { of(o)["tokens"].([]any)[0] = int64(1) << 40 }),
		"many":     change(func(o map[string]any) { of(o)["prompt"] = make([]int, MostTokens) }),
		"context":  change(func(o map[string]any) { of(o)["settings"].(map[string]any)["context"] = int64(1) << 40 }),
		"less":     change(func(o map[string]any) { of(o)["settings"].(map[string]any)["context"] = 3 }),
		"cache":    change(func(o map[string]any) { of(o)["settings"].(map[string]any)["cache"] = "f8" }),
		"grammar":  change(func(o map[string]any) { of(o)["grammar"] = Grammar{Form: "bnf"} }),
		"integers": change(func(o map[string]any) { of(o)["settings"].(map[string]any)["quantized"] = true }),
		"sampler":  change(func(o map[string]any) { of(o)["sampler"].(map[string]any)["temperature"] = -1 }),
		"seed":     change(func(o map[string]any) { of(o)["sampler"].(map[string]any)["seed"] = -1 }),
		"max":      change(func(o map[string]any) { of(o)["max_tokens"] = -1 }),
		"none":     change(func(o map[string]any) { delete(o, "generation") }),
		"two":      change(func(o map[string]any) { o["ranking"] = Ranking{Passages: make([]Reading, 1)} }),
		"no files": change(func(o map[string]any) { o["model"].(map[string]any)["files"] = []int{} }),
	} {
		if _, err := Read(bytes.NewReader(data)); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// filled sets every field below v to something, so that none is left out of JSON.
func filled(v reflect.Value) {
	if _, ok := v.Interface().(chattemplate.Date); ok {
		v.Set(reflect.ValueOf(chattemplate.DefaultDate))
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte("1"))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(json.RawMessage("1")))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("a")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}

// The schema has the fields of a receipt, all that there may be.
func TestSchema(t *testing.T) {
	r := &Receipt{}
	filled(reflect.ValueOf(r).Elem())
	data, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]object
		Items      *object
		Ref        string            `json:"$ref"`
		Defs       map[string]object `json:"$defs"`
	}
	var schema object
	var value map[string]any
	if err := errors.Join(json.Unmarshal(Schema, &schema), json.Unmarshal(data, &value)); err != nil {
		t.Fatal(err)
	}
	var compare func(at string, s object, v any)
	compare = func(at string, s object, v any) {
		if s.Ref != "" {
			s = schema.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		}
		if list, ok := v.([]any); ok && s.Items != nil {
			compare(at+"[0]", *s.Items, list[0])
		}
		fields, ok := v.(map[string]any)
		if !ok || s.Properties == nil {
			return
		}
		if a, b := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields)); !slices.Equal(a, b) {
			t.Errorf("%s: the schema has %q, a receipt %q", at, a, b)
		}
		for name, x := range fields {
			compare(at+"."+name, s.Properties[name], x)
		}
	}
	compare("receipt", schema, value)
}

func TestSign(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	public := key.Public().(ed25519.PublicKey)
	r := record(t, model, m, decoder.GenerateOptions{MaxTokens: 4, Sampler: sampler})
	if err := r.CheckKey(public); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("without a signature: %v", err)
	}
	if err := r.Sign(key); err != nil {
		t.Fatal(err)
	}
	if r = copied(t, r); r.CheckKey(public) != nil || Verify(t.Context(), model, m, r, Options{}) != nil {
		t.Errorf("signed: %v", r.CheckKey(public))
	}
	if err := r.CheckKey(other.Public().(ed25519.PublicKey)); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("another key: %v", err)
	}
	r.Model.Name = "larger"
	if err := Verify(t.Context(), model, m, r, Options{}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("changed: %v", err)
	}
	if err := r.Sign(key[:3]); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a short key: %v", err)
	}
}

// A digest is computed once, and again if the size or the time of the file is another.
func TestFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	name := filepath.Join(dir, "a.gguf")
	put := func(text string, at int64) {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chtimes(name, time.Unix(at, 0), time.Unix(at, 0))); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(path string, rehash bool) Hash {
		files, err := Files(path, rehash)
		if err != nil || len(files) != 1 || files[0].Name != "a.gguf" {
			t.Fatal(files, err)
		}
		return files[0].SHA256
	}
	put("one", 1e9)
	one := sum(name, false)
	put("two", 1e9)
	if sum(name, false) != one {
		t.Error("a file with the same size and time is read again")
	}
	two := sum(name, true)
	if two == one || sum(dir, false) != two {
		t.Error("rehash does not replace what is kept, or a folder has another digest")
	}
	put("six", 2e9)
	if sum(name, false) == two {
		t.Error("a file of another time is not read again")
	}
	if _, err := Files(filepath.Join(dir, "none"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// The committed receipt was made on amd64, with tier avx2. It holds everywhere.
func TestCommitted(t *testing.T) {
	model, m := tiny(t, kernel.Exec{})
	const name = "testdata/tiny.json"
	if *update {
		data, err := record(t, model, m, decoder.GenerateOptions{MaxTokens: 24, Sampler: sampler, Stop: []int32{}}).Bytes()
		if err := errors.Join(err, os.WriteFile(name, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), model, m, all[0], Options{}); err != nil {
		t.Error(err)
	}
}

// TestCommittedSession: a session with calls of tools that was had through /v1/responses on amd64,
// by TestSessions of package server with -args -update, holds everywhere, and not if a turn is
// missing.
func TestCommittedSession(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.AddTools()
	model, m := load(t, file.Write(t), decoder.Options{Context: 700})
	f, err := os.Open("testdata/session.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySession(t.Context(), model, m, nil, Options{}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("no receipts: %v", err)
	}
	if err := VerifySession(t.Context(), model, m, all, Options{}); err != nil || len(all) != 5 {
		t.Errorf("%d turns: %v", len(all), err)
	}
	if err := Follows(t.Context(), m, all[0], all[2]); !errors.Is(err, ErrMismatch) {
		t.Errorf("without a turn: %v", err)
	}
}

// A receipt of SmolLM2 that one tier makes holds on another, and takes at most 100 bytes a token.
func TestSmolLM2(t *testing.T) {
	model, m := load(t, testweights.Path(t, testweights.SmolLM2), decoder.Options{})
	r := record(t, model, m, decoder.GenerateOptions{MaxTokens: 8, Stop: []int32{}, Sampler: sampler})
	empty, of := *r, *r.Generation
	empty.Generation = &of
	empty.Tokens, empty.Hashes, empty.Text = nil, nil, ""
	whole, err := r.Bytes()
	rest, err2 := empty.Bytes()
	if n := (len(whole) - len(rest)) / len(r.Tokens); n > 100 || errors.Join(err, err2) != nil {
		t.Errorf("%d bytes a token, want at most 100", n)
	}
	other, err := m.With(decoder.Options{Exec: kernel.Exec{Tier: kernel.Tiers()[len(kernel.Tiers())-1]}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(t.Context(), model, other, r, Options{}); err != nil {
		t.Error(err)
	}
}

func BenchmarkSmolLM2(b *testing.B) {
	model, m := load(b, testweights.Path(b, testweights.SmolLM2), decoder.Options{Exec: kernel.Exec{Threads: 1}})
	o := decoder.GenerateOptions{MaxTokens: 128, Stop: []int32{}}
	r := record(b, model, m, o)
	b.Run("generate", func(b *testing.B) {
		for b.Loop() {
			for _, err := range m.Generate(b.Context(), r.Prompt, o) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		for b.Loop() {
			record(b, model, m, o)
		}
	})
	b.Run("hash", func(b *testing.B) {
		logits := make([]float32, m.Config().Vocab)
		for b.Loop() {
			var c chain
			for range o.MaxTokens {
				c.add(logits)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if err := Verify(b.Context(), model, m, r, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Both ways to hash numbers give the hash of their little-endian bytes.
func TestWriteFloats(t *testing.T) {
	defer func(was bool) { littleEndian = was }(littleEndian)
	ways := []bool{false}
	if littleEndian {
		ways = append(ways, true)
	}
	for _, n := range []int{0, 1, 255, 256, 257, 700} {
		all, data := make([]float32, n), []byte{}
		for i := range all {
			bits := uint32(i)*0x9e3779b9 + 0x7f800001
			all[i] = math.Float32frombits(bits)
			data = append(data, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
		}
		want := sha256.Sum256(data)
		for _, littleEndian = range ways {
			h := sha256.New()
			writeFloats(h, all)
			if !bytes.Equal(h.Sum(nil), want[:]) {
				t.Errorf("%d numbers, without a copy %t: another hash", n, littleEndian)
			}
		}
	}
}

// isAbout tells whether an error is about a field, or about an item of it: -1 for none, -2 for any
// or none.
func isAbout(bad *kernel.Error, field string, i int) bool {
	if i == -2 {
		name, _, _ := strings.Cut(bad.Arg(), "[")
		return name == field
	}
	if i >= 0 {
		field = fmt.Sprintf("%s[%d]", field, i)
	}
	return bad.Arg() == field
}
