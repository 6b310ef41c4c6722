package folder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/embedding"
)

// FuzzReadModules reads any files of sentence-transformers: the modules are known ones, within the
// folder.
func FuzzReadModules(f *testing.F) {
	const list = `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},` +
		`{"path":"2_Dense","type":"sentence_transformers.models.Dense"},{"path":"3_Normalize","type":"sentence_transformers.models.Normalize"}]`
	f.Add([]byte(list), []byte(`{"pooling_mode_cls_token":true}`), []byte(`{"in_features":8,"out_features":4,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`),
		[]byte(`{"max_seq_length":128,"do_lower_case":false}`), []byte(`{"prompts":{"query":"q: "},"default_prompt_name":"query","similarity_fn_name":"cosine"}`))
	f.Add([]byte(`[{"path":"","type":"Transformer"},{"path":"../1_Pooling","type":"Pooling"}]`), []byte(`{"pooling_mode":"mean"}`), []byte(`{}`), []byte(`{}`), []byte(`{"default_prompt_name":""}`))
	dir := f.TempDir()
	for _, sub := range []string{"1_Pooling", "2_Dense"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o777); err != nil {
			f.Fatal(err)
		}
	}
	names := []string{"modules.json", "1_Pooling/config.json", "2_Dense/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"}
	f.Fuzz(func(t *testing.T, modules, pooling, dense, length, prompts []byte) {
		for i, data := range [][]byte{modules, pooling, dense, length, prompts} {
			if err := os.WriteFile(filepath.Join(dir, names[i]), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		m, err := ReadModules(dir)
		if err != nil {
			return
		}
		for _, p := range m.Poolings {
			if !slices.Contains(embedding.Poolings, p) {
				t.Errorf("pooling %q", p)
			}
		}
		if _, ok := m.Prompts[m.DefaultPrompt]; !ok && m.DefaultPrompt != "" {
			t.Errorf("default prompt %q of %q", m.DefaultPrompt, m.Prompts)
		}
		for _, x := range m.After {
			if d := x.Dense; d != nil && (d.In < 1 || d.Out < 1 || d.In > 1<<20 || d.Out > 1<<20 || d.Folder != "" && !filepath.IsLocal(d.Folder)) {
				t.Errorf("%+v", d)
			}
		}
	})
}
