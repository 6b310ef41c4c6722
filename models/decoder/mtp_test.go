package decoder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/packed"
	"github.com/attn-go/attn/models/internal/tinyfolders"
	"github.com/attn-go/attn/models/safetensors"
)

// mtpFolders are models whose files bring a layer that guesses further tokens. Qwen's and
// NVIDIA's call it mtp, the others count it among the layers.
var mtpFolders = []string{"glm4_moe-25", "deepseek_v3-31", "glm4_moe_lite-32", "qwen3_next-2", "qwen3_5_text-2", "qwen3_5_moe_text-41", "nemotron_h-41", "nemotron_h-latent-41"}

// aloneAhead makes a model of the layer alone, whose embeddings are the joined states of tokens.
func aloneAhead(t *testing.T, v *tinyfolders.Model, ids []int32, states []float32, c Config) string {
	names := v.AheadNames()
	join, token, state := v.All[names.Join].Data, v.All[names.Token].Data, v.All[names.State].Data
	w := c.Width
	norm := func(x, weight []float32) (y []float64) {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		for i, z := range x {
			g := float64(weight[i])
			if v.Arch.Final.LessOne {
				g++
			}
			y = append(y, float64(z)/math.Sqrt(sum/float64(w)+float64(c.Epsilon))*g)
		}
		return y
	}
	embeddings, root, final := "model.embed_tokens.weight", "model.", "model.norm.weight"
	if v.Arch.MoreFeed != nil {
		embeddings, root, final = "backbone.embeddings.weight", "backbone.", "backbone.norm_f.weight"
	}
	words := v.All[embeddings].Data
	table := make([]float32, len(words))
	for j, id := range ids[1:] {
		both := append(norm(words[int(id)*w:][:w], token), norm(states[j*w:][:w], state)...)
		for i := range w {
			sum := 0.0
			for k, x := range both {
				sum += x * float64(join[i*2*w+k])
			}
			table[j*w+i] = float32(sum)
		}
	}
	one := *v
	one.Names, one.All = nil, map[string]*safetensors.Tensor{}
	one.Set(embeddings, table, c.Vocab, w)
	head := v.All["lm_head.weight"]
	if head == nil {
		head = v.All[embeddings]
	}
	one.Set("lm_head.weight", head.Data, c.Vocab, w)
	one.Set(final, v.All[names.Final].Data, w)
	for i, at := range names.Layers {
		for _, name := range v.Names {
			if rest, ok := strings.CutPrefix(name, at); ok && !slices.Contains([]string{names.Join, names.Token, names.State, names.Final}, name) {
				one.Set(fmt.Sprintf("%slayers.%d.%s", root, i, rest), v.All[name].Data, v.All[name].Shape...)
			}
		}
	}
	tinyfolders.SetKey(t, v.Dir, "num_hidden_layers", len(names.Layers))
	tinyfolders.SetKey(t, v.Dir, "tie_word_embeddings", false)
	for key, value := range map[string]any{"num_nextn_predict_layers": 0, "first_k_dense_replace": 0, "mlp_layer_types": []string{"sparse"}, "layer_types": []string{"full_attention"}, "layers_block_type": []string{"full_attention", "moe"}} {
		if key != "num_nextn_predict_layers" || v.Arch.Family.Ahead == nil {
			if config := map[string]any{}; folder.ReadJSON(filepath.Join(v.Dir, configFile), &config) == nil && config[key] != nil {
				tinyfolders.SetKey(t, v.Dir, key, value)
			}
		}
	}
	return one.Write()
}

// TestMTPLayer: the layer computes what a model of this one layer computes, which TestReferences
// compares with transformers, of states that are joined here in float64.
func TestMTPLayer(t *testing.T) {
	for _, name := range mtpFolders {
		t.Run(name, func(t *testing.T) {
			v := tinyfolders.Read(t, tinyFolder(name)).AddAhead()
			m, err := Load(v.Write(), Options{MTP: true})
			if err != nil {
				t.Fatal(err)
			}
			ids := prompt(40, 3)
			s := session(t, m, 1, len(ids))
			hidden, err := s.Hidden(t.Context(), Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})
			if err != nil {
				t.Fatal(err)
			}
			states := slices.Clone(hidden[0])
			d := session(t, m.ahead, 1, len(ids))
			got := slices.Clone(forward(t, d, Step{Text: d.NewText(), Tokens: ids[1:], Logits: LogitsAll, before: states})[0])

			if v.Arch.MoreFeed == nil { // whose layer no GGUF file has
				_, f := convert(t, v.Dir)
				file, err := New(f, Options{MTP: true})
				if err != nil {
					t.Fatal(err)
				}
				d = session(t, file.ahead, 1, len(ids))
				if same := forward(t, d, Step{Text: d.NewText(), Tokens: ids[1:], Logits: LogitsAll, before: states})[0]; name != "glm4_moe_lite-32" && name != "deepseek_v3-31" { // which have rotated elements in another order
					sameBits(t, "the GGUF file", same, got)
				}
			}

			one, err := Load(aloneAhead(t, v, ids, states, m.config), Options{})
			if err != nil {
				t.Fatal(err)
			}
			places := make([]int32, len(ids)-1)
			for i := range places {
				places[i] = int32(i)
			}
			s = session(t, one, 1, len(ids))
			want := forward(t, s, Step{Text: s.NewText(), Tokens: places, Logits: LogitsAll})[0]
			largest, worst := 0.0, 0.0
			for i, x := range want {
				largest, worst = max(largest, math.Abs(float64(x))), max(worst, math.Abs(float64(x-got[i])))
			}
			if worst > 1e-5*largest || largest < 0.01 {
				t.Errorf("logits differ by %g of %g", worst, largest)
			}
		})
	}
}

// TestMTP: whatever the layer guesses, the tokens are the same, in turns of a conversation, too.
func TestMTP(t *testing.T) {
	for _, name := range mtpFolders {
		dir := tinyfolders.Read(t, tinyFolder(name)).AddAhead().Write()
		plain, err := Load(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir, Options{MTP: true, PageSize: 16})
		if err != nil {
			t.Fatal(err)
		}
		some := prompts()
		for _, p := range some {
			for i := range p {
				p[i] %= int32(m.config.Vocab)
			}
		}
		for i, sampler := range samplers {
			o := GenerateOptions{MaxTokens: 40, Sampler: sampler, Stop: []int32{}}
			want := collect(t, 4, plain.GenerateBatch(t.Context(), some, o))
			o.Draft = 1 + 2*i
			s := session(t, m, 4, 256)
			texts := make([]*Text, len(some))
			for turn := range 3 {
				var steps []Step
				for i, p := range some {
					if texts[i] == nil {
						texts[i] = s.NewText()
					} else if err := texts[i].Truncate(len(p) - turn); err != nil {
						t.Fatal(err)
					}
					steps = append(steps, Step{Text: texts[i], Tokens: p[texts[i].Len():]})
				}
				if got := collect(t, 4, s.Generate(t.Context(), o, steps...)); !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
					t.Errorf("%s, %+v, turn %d: tokens %v, want %v", name, sampler, turn, got, want)
				}
			}
		}
	}
}

// TestMTPRight: where the layer says what the model will say, all guesses are right. Embeddings are
// points of circles, of which the head has the next ones, so that every token follows the one
// before; the layer turns either the state before a token twice or passes the token on.
func TestMTPRight(t *testing.T) {
	const n, draft = 60, 4
	for _, of := range []string{"state", "token"} {
		v := tinyfolders.Read(t, tinyFolder("deepseek_v3-31")).AddAhead()
		vocab := v.Circles(of == "state")
		m, err := Load(v.Write(), Options{MTP: true})
		if err != nil {
			t.Fatal(err)
		}
		s, passes := session(t, m, 2, 256), 0
		s.tokens.See = func(name string, _ int, _ []float32) {
			if name == "embd" {
				passes++
			}
		}
		steps := []Step{{Text: s.NewText(), Tokens: []int32{5}}, {Text: s.NewText(), Tokens: prompt(30, 2)}}
		for _, got := range collect(t, 2, s.Generate(t.Context(), GenerateOptions{MaxTokens: n, Stop: []int32{}, Draft: draft}, steps...)) {
			for i, id := range got[1:] {
				if int(id) != (int(got[i])+1)%vocab {
					t.Fatalf("the tokens %v do not follow each other", got)
				}
			}
		}
		if want := n/(draft+1) + 1; passes != want {
			t.Errorf("by the %s: %d passes for %d tokens of each text, want %d", of, passes, n, want)
		}
	}
}

// TestMTPErrors: what brings no layer, or is loaded without it, is an error of the option. EAGLE's
// heads are no layers of a model, and refused by the name of their class.
func TestMTPErrors(t *testing.T) {
	dir := tinyfolders.Read(t, tinyFolder("glm4_moe-25")).AddAhead().Write()
	without, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, later := without.With(Options{MTP: true})
	_, none := Load(tinyFolder("llama-2"), Options{MTP: true})
	_, missing := Load(tinyFolder("qwen3_5_text-2"), Options{MTP: true})
	other := tinyfolders.Read(t, tinyFolder("nemotron_h-41")).AddAhead()
	tinyfolders.SetKey(t, other.Dir, "mtp_layers_block_type", []string{"full_attention", "mlp"})
	other.Names = slices.DeleteFunc(other.Names, func(name string) bool { return name == "mtp.layers.1.final_layernorm.weight" })
	_, parts := Load(other.Write(), Options{MTP: true})
	tinyfolders.SetKey(t, other.Dir, "mtp_layers_block_type", []string{})
	_, empty := Load(other.Dir, Options{MTP: true})
	tinyfolders.SetKey(t, other.Dir, "mtp_layers_block_type", nil)
	tinyfolders.SetKey(t, other.Dir, "mtp_hybrid_override_pattern", "")
	_, letters := Load(other.Dir, Options{MTP: true})
	for what, err := range map[string]error{"loaded without": later, "another family": none, "not there": missing, "other parts": parts, "no parts": empty, "no letters": letters} {
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || bad.Arg() != "Options.MTP" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, change := range []func(*arch.Attention) arch.Mixer{
		func(a *arch.Attention) arch.Mixer { return &arch.Both{Attention: *a} },
		func(a *arch.Attention) arch.Mixer { a.Window = 5; return a },
	} {
		m := *without.arch
		m.Layers = slices.Clone(m.Layers)
		last, a := &m.Layers[len(m.Layers)-1], *m.Layers[len(m.Layers)-1].Attention()
		if last.Mixer = change(&a); m.Ahead() != nil {
			t.Errorf("%T with a window of %d: a model of a layer that guesses", last.Mixer, a.Window)
		}
	}
	eagle := copied(t, "llama-2")
	tinyfolders.SetKey(t, eagle, "architectures", []string{"LlamaForCausalLMEagle3"})
	if _, err := Load(eagle, Options{}); err == nil || !strings.Contains(err.Error(), "Eagle3") {
		t.Errorf("EAGLE: %v", err)
	}
}

// TestMTPFiles: tensors that no layer has, or two of one name, and keys that say what the tensors
// do not, are errors that name them as the files do.
func TestMTPFiles(t *testing.T) {
	const up, gate, twice = "mtp.layers.0.mlp.up_proj.weight", "mtp.layers.1.mixer.gate.weight", "model.layers.4."
	const final, count = "mtp.layers.1.final_layernorm.weight", "num_nextn_predict_layers"
	counts := func(n any) func(v *tinyfolders.Model) {
		return func(v *tinyfolders.Model) { tinyfolders.SetKey(t, v.Dir, count, n) }
	}
	more := func(name string) func(v *tinyfolders.Model) {
		return func(v *tinyfolders.Model) { v.Set(name, []float32{1}, 1) }
	}
	less := func(name string) func(v *tinyfolders.Model) {
		return func(v *tinyfolders.Model) {
			v.Names = slices.DeleteFunc(v.Names, func(x string) bool { return x == name })
		}
	}
	for what, c := range map[string]struct {
		folder, where string
		mtp           bool
		change        func(v *tinyfolders.Model)
	}{
		"a layer of both names": {"qwen3_5_text-2", "mtp.layers.0.input_layernorm.weight", true, func(v *tinyfolders.Model) {
			for _, name := range slices.Clone(v.Names) {
				if rest, ok := strings.CutPrefix(name, "mtp.layers.0."); ok {
					v.Set(twice+rest, v.All[name].Data, v.All[name].Shape...)
				}
			}
		}},
		"a further layer": {"qwen3_5_text-2", twice + "a.weight", false, more(twice + "a.weight")},
		"two joints": {"qwen3_5_text-2", "mtp.fc.weight", true, func(v *tinyfolders.Model) {
			x := v.All["mtp.fc.weight"]
			v.Set("mtp.layers.0.eh_proj.weight", x.Data, x.Shape...)
		}},
		"a part is missing":        {"qwen3_5_text-2", up, true, less(up)},
		"a router is missing":      {"nemotron_h-41", gate, true, less(gate)},
		"no norm of two parts":     {"nemotron_h-41", final, true, less(final)},
		"no norm of one part":      {"qwen3_5_text-2", "mtp.norm.weight", true, less("mtp.norm.weight")},
		"a part that is not known": {"nemotron_h-41", "mtp.layers.1.mixer.a.weight", true, more("mtp.layers.1.mixer.a.weight")},
		"a part of no layer":       {"nemotron_h-41", "mtp.layers.2.norm.weight", true, more("mtp.layers.2.norm.weight")},
		"another part of none":     {"qwen3_5_text-2", "mtp.layers.1.norm.weight", true, more("mtp.layers.1.norm.weight")},
		"a tensor of no layer":     {"nemotron_h-latent-41", "mtp.a.weight", true, more("mtp.a.weight")},
		"another tensor of none":   {"qwen3_5_text-2", "mtp.a.weight", true, more("mtp.a.weight")},
		"more than there are":      {"nemotron_h-41", count, true, counts(7)},
		"less than none":           {"nemotron_h-41", count, false, counts(-1)},
		"no number":                {"nemotron_h-latent-41", count, false, counts("x")},
		"more than any has":        {"nemotron_h-41", count, false, counts(1 << 20)},
		"no embeddings of its own": {"qwen3_5_text-2", "mtp_use_dedicated_embeddings", true, func(v *tinyfolders.Model) {
			tinyfolders.SetKey(t, v.Dir, "mtp_use_dedicated_embeddings", true)
		}},
		"a layer without the joint": {"glm4_moe-25", "model.layers.3.enorm.weight", false, less("model.layers.3.eh_proj.weight")},
	} {
		v := tinyfolders.Read(t, tinyFolder(c.folder)).AddAhead()
		c.change(v)
		_, err := Load(v.Write(), Options{MTP: c.mtp})
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || !strings.HasSuffix(bad.Where, c.where) {
			t.Errorf("%s: %v, want an error of %s", what, err, c.where)
		}
	}
	dir := copied(t, "glm4_moe-25")
	v, _ := convert(t, dir)
	v.Set("glm4moe.nextn_predict_layers", uint32(1))
	f, err := gguf.New(v.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprintf("blk.%d.", v.c.Layers-1)
	tinyfolders.SetKey(t, dir, "num_hidden_layers", v.c.Layers-1)
	tinyfolders.SetKey(t, dir, "num_nextn_predict_layers", 1)
	_, inFile := New(f, Options{})
	_, inFolder := Load(dir, Options{})
	for where, err := range map[string]error{last: inFile, fmt.Sprintf("model.layers.%d.", v.c.Layers-1): inFolder} {
		if err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("an ordinary layer that is counted among others: %v, want an error of %s", err, where)
		}
	}
}

// TestMTPEmbeddings: the layer reads embeddings of its own if it has some.
func TestMTPEmbeddings(t *testing.T) {
	v := tinyfolders.Read(t, tinyFolder("qwen3_5_text-2")).AddAhead()
	ids, width := prompt(5, 3), v.Arch.Width
	guess := func() []float32 {
		m, err := Load(v.Write(), Options{MTP: true})
		if err != nil {
			t.Fatal(err)
		}
		d := session(t, m.ahead, 1, len(ids))
		states := make([]float32, len(ids)*width)
		for i := range states {
			states[i] = 1
		}
		return slices.Clone(forward(t, d, Step{Text: d.NewText(), Tokens: ids, before: states})[0])
	}
	shared := guess()
	tinyfolders.SetKey(t, v.Dir, "mtp_use_dedicated_embeddings", true)
	x := v.All["model.embed_tokens.weight"]
	v.Set("mtp.embed_tokens.weight", x.Data, x.Shape...)
	sameBits(t, "equal embeddings", guess(), shared)
	y := slices.Clone(x.Data)
	slices.Reverse(y)
	v.Set("mtp.embed_tokens.weight", y, x.Shape...)
	if slices.Equal(guess(), shared) {
		t.Error("other embeddings change nothing")
	}
}

// TestMTPInspected: the name of what a model brings says who reads it.
func TestMTPInspected(t *testing.T) {
	dir := tinyfolders.Read(t, tinyFolder("qwen3_5_text-2")).AddAhead().Write()
	for u, want := range map[use]string{generates: "guessing layers, read with -mtp", embeds: "guessing layers, which nothing reads", ranks: "guessing layers, which nothing reads"} {
		x, err := open(dir, u, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name, n := x.guessing(x.arch, u); name != want || n != 1 {
			t.Errorf("use %d: %s %d, want %s 1", u, name, n, want)
		}
		if err := x.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMTPFurther: further layers are counted, and passed over, with and without the option.
func TestMTPFurther(t *testing.T) {
	for _, folder := range []string{"qwen3_5_text-2", "nemotron_h-41"} {
		v := tinyfolders.Read(t, tinyFolder(folder)).AddAhead()
		layers := v.AheadNames().Layers
		for i, at := range layers {
			for _, name := range slices.Clone(v.Names) {
				if rest, ok := strings.CutPrefix(name, at); ok {
					v.Set(fmt.Sprintf("mtp.layers.%d.%s", len(layers)+i, rest), v.All[name].Data, v.All[name].Shape...)
				}
			}
		}
		if len(layers) > 1 {
			tinyfolders.SetKey(t, v.Dir, "num_nextn_predict_layers", 2)
		}
		dir := v.Write()
		for _, mtp := range []bool{false, true} {
			if _, err := Load(dir, Options{MTP: mtp}); err != nil {
				t.Errorf("%s, MTP %v: %v", folder, mtp, err)
			}
		}
		x, err := open(dir, generates, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if name, n := x.guessing(x.arch, generates); name != "guessing layers, the first one read with -mtp" || n != 2 {
			t.Errorf("%s: %s %d", folder, name, n)
		}
		if err := x.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMTPKept: layers that are kept without the one that guesses are not all of a load with it.
func TestMTPKept(t *testing.T) {
	dir := tinyfolders.Read(t, tinyFolder("glm4_moe-25")).AddAhead().Write()
	var kept [][]byte
	for _, mtp := range []bool{false, true, true} {
		if _, err := Load(dir, Options{KeepPacked: true, MTP: mtp}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "model.safetensors"+packed.Suffix))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, data)
	}
	if len(kept[1]) <= len(kept[0]) || !bytes.Equal(kept[1], kept[2]) {
		t.Errorf("%d bytes are kept, %d with the layer that guesses, and %d after another load", len(kept[0]), len(kept[1]), len(kept[2]))
	}
}

// TestTrail: a trail has the states after the last tokens, whatever was added at once.
func TestTrail(t *testing.T) {
	for _, least := range []int{1, chunk} {
		var a trail
		for first, i := 0, 0; i < 5*chunk; i++ {
			n := 1 + i%7*i%(chunk/2)
			states := make([]float32, 2*n)
			for j := range states {
				states[j] = float32(2*first + j)
			}
			if i == 100 {
				a.cut(first-1, 2) // the next ones do not follow
			}
			a.add(first, states, 2, least)
			first += n
			if has := len(a.states) / 2; a.first+has != first || has > 2*least || has < min(n, least) {
				t.Fatalf("%d states from %d on after %d tokens", has, a.first, first)
			}
			for j, x := range a.states {
				if x != float32(2*a.first+j) {
					t.Fatalf("state %d is another one", a.first+j/2)
				}
			}
		}
	}
}

// TestMTPTexts: texts that are forked, truncated, read on or left by a call that has failed go on
// with the same tokens as without guesses, up to the end of the context.
func TestMTPTexts(t *testing.T) {
	const length, most = 120, 40
	for _, name := range []string{"qwen3_5_text-2", "glm4_moe-25"} {
		dir := tinyfolders.Read(t, tinyFolder(name)).AddAhead().Write()
		plain, err := Load(dir, Options{Context: length})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir, Options{MTP: true, PageSize: 16, Context: length})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		s := session(t, m, 4, length)
		texts := []*Text{s.NewText(), s.NewText()}
		failed := 0
		for round := range 40 {
			var steps []Step
			var prompts [][]int32
			for i, x := range texts {
				n := r.IntN(min(x.Len(), length-21) + 1)
				if r.IntN(4) == 0 {
					fork, err := x.Fork(n)
					if err != nil {
						t.Fatal(err)
					}
					x.Free()
					texts[i] = fork
				} else if err := x.Truncate(n); err != nil {
					t.Fatal(err)
				}
				x = texts[i]
				if r.IntN(4) == 0 && x.Len() < length/2 {
					forward(t, s, Step{Text: x, Tokens: []int32{1, 2, 3}, Logits: LogitsNone})
				}
				ids := make([]int32, 1+r.IntN(17))
				for j := range ids {
					ids[j] = r.Int32N(int32(m.config.Vocab))
				}
				steps, prompts = append(steps, Step{Text: x, Tokens: ids}), append(prompts, append(slices.Clone(x.Tokens()), ids...))
			}
			o := GenerateOptions{MaxTokens: 1 + r.IntN(most), Stop: []int32{}}
			want := collect(t, len(texts), plain.GenerateBatch(t.Context(), prompts, o))
			o.Draft = 1 + r.IntN(6)
			stop := &stops{Context: t.Context(), calls: 1 << 30}
			if r.IntN(3) == 0 {
				stop.calls = r.IntN(100)
			}
			got := make([][]int32, len(texts))
			var failure error
			for token, err := range s.Generate(stop, o, steps...) {
				if failure = err; err != nil {
					break
				}
				got[token.Index] = append(got[token.Index], token.ID)
			}
			if failure != nil {
				failed++
			}
			for i, x := range got {
				w := want[i]
				if errors.Is(failure, context.Canceled) {
					w = w[:min(len(w), len(x))]
				} else if failure != nil {
					t.Fatal(failure)
				}
				if !slices.Equal(x, w) {
					t.Fatalf("%s, round %d, text %d: tokens %v, want %v", name, round, i, x, w)
				}
			}
		}
		if failed == 0 {
			t.Errorf("%s: no call has failed", name)
		}
	}
}
