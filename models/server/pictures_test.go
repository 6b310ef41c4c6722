package server

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/testweights"
)

var (
	picturesDir   = flag.String("pictures", "", "`folder` for the pictures of README.md: see .ci/step pictures")
	pictureReport = flag.String("report", "", "the `file` that bench report drew, for TestPictures")
)

// TestPictures writes the pictures of README.md: the page of a server with SmolLM2, and the
// first screen of a report, on light and on dark ground.
func TestPictures(t *testing.T) {
	if *picturesDir == "" {
		t.Skip("NOT RUN: the pictures of README.md, which .ci/step pictures makes")
	}
	var models []*Model
	for _, m := range [][2]string{{testweights.SmolLM2, "SmolLM2-135M-Instruct"}, {testweights.MiniLM, "all-MiniLM-L6-v2"}} {
		// Another processor is free for the browser, which measures the speed that it shows.
		m, err := Load(testweights.Path(t, m[0]), LoadOptions{Name: m[1], Exec: kernel.Exec{Threads: 1}})
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	settings := fixed()
	settings.CacheBytes = 1 << 28
	s := serverOf(t, settings, models...)
	post(s, "/v1/completions", `{"model": "SmolLM2-135M-Instruct", "prompt": "One", "max_tokens": 1}`) // so that the first answer does not wait for memory
	web := httptest.NewServer(s)
	defer web.Close()
	b := newBrowser(t, web.URL)
	b.do("Emulation.setScrollbarsHidden", object{"hidden": true})
	b.size(800, 620, 1.5)
	for i, text := range []string{"Rewrite in the past tense: She walks to the market and buys bread.", "What is the capital of France?"} {
		b.write("say", text)
		b.press("Enter")
		b.until(fmt.Sprintf(`document.querySelectorAll(".turn.assistant .about").length === %d`, i+1))
	}
	b.pictures("server")

	path, err := filepath.Abs(*pictureReport)
	if err != nil {
		t.Fatal(err)
	}
	b.size(1040, 806, 1)
	b.do("Page.navigate", object{"url": "file://" + path})
	b.until(`document.readyState === "complete" && location.protocol === "file:"`)
	b.pictures("report")
}

// size sets the size of the page, and how many pixels of a picture stand for a pixel of the page at
// each side.
func (b *browser) size(width, height int, scale float64) {
	b.do("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false})
}

// pictures writes what the page shows as NAME-light.png and NAME-dark.png.
func (b *browser) pictures(name string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.do("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}})
		data := call[struct{ Data []byte }](b, "Page.captureScreenshot", object{"format": "png"}).Data
		if len(data) > 150_000 {
			b.t.Errorf("the picture %s-%s.png has %d bytes, want at most 150,000", name, scheme, len(data))
		}
		if err := os.WriteFile(filepath.Join(*picturesDir, name+"-"+scheme+".png"), data, 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
}
