package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
	"github.com/attn-go/attn/models/server/internal/page"
)

func get(method string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	page.Handler().ServeHTTP(w, r)
	return w
}

// An element of the page.
type element struct {
	name   string
	attr   map[string]string
	text   string // directly in it
	parent *element
}

// elements returns the elements of the page with a name, or all of them. The page is to be one
// that an XML parser reads, too, but for elements of HTML without an end, and for script and style,
// whose text is taken as it is.
func elements(t *testing.T, name string) (list []*element) {
	t.Helper()
	text := get("GET").Body.String()
	raw := map[string]string{}
	for _, name := range []string{"script", "style"} {
		text = regexp.MustCompile(`(?s)(<`+name+`\b[^>]*>)(.*?)</`+name+`>`).ReplaceAllStringFunc(text, func(found string) string {
			begin := strings.Index(found, ">") + 1
			raw[name] += strings.TrimSuffix(found[begin:], "</"+name+">")
			return found[:begin] + "</" + name + ">"
		})
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var in *element
	for {
		token, err := d.Token()
		if err == io.EOF && in == nil {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in = &element{name: x.Name.Local, attr: map[string]string{}, text: raw[x.Name.Local], parent: in}
			for _, a := range x.Attr {
				in.attr[a.Name.Local] = a.Value
			}
			if name == "" || in.name == name {
				list = append(list, in)
			}
		case xml.EndElement:
			in = in.parent
		case xml.CharData:
			if in != nil {
				in.text += string(x)
			}
		}
	}
}

// TestHeaders: the page has its type, is not kept without being asked for, and HEAD is answered.
func TestHeaders(t *testing.T) {
	w := get("GET")
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if w.Code != http.StatusOK || w.Body.Len() < 1000 {
		t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
	}
	if again := get("GET", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("with the ETag %q: status %d", w.Header().Get("ETag"), again.Code)
	}
	if head := get("HEAD"); head.Code != http.StatusOK || head.Body.Len() != 0 {
		t.Errorf("HEAD: status %d, %d bytes", head.Code, head.Body.Len())
	}
}

// TestPolicy: the policy has the hashes of the one script and the one style of the page, as a
// browser computes them, and allows nothing else but requests to the server and the icon.
func TestPolicy(t *testing.T) {
	var want []string
	for name, element := range map[string]string{"script-src": "script", "style-src": "style"} {
		list := elements(t, element)
		if len(list) != 1 || len(list[0].text) < 1000 {
			t.Fatalf("%d elements %s, want one with a text", len(list), element)
		}
		sum := sha256.Sum256([]byte(list[0].text))
		want = append(want, name+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	want = append(want, "default-src 'none'", "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'")
	got := strings.Split(get("GET").Header().Get("Content-Security-Policy"), "; ")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDocument: no element has a handler, a style or an address of its own, every field has a
// label, and ids are there once.
func TestDocument(t *testing.T) {
	ids, labelled := map[string]bool{}, map[string]bool{}
	list := elements(t, "")
	for _, n := range list {
		for key, value := range n.attr {
			local := strings.HasPrefix(value, "#") || strings.HasPrefix(value, "data:")
			if key == "style" || key == "src" || key == "action" || strings.HasPrefix(key, "on") || key == "href" && !local {
				t.Errorf("%s has %s=%q", n.name, key, value)
			}
		}
		if id := n.attr["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
		if n.name == "label" {
			labelled[n.attr["for"]] = true
		}
	}
	fields := 0
	for _, n := range list {
		if n.name != "input" && n.name != "textarea" && n.name != "select" {
			continue
		}
		fields++
		if id := n.attr["id"]; !labelled[id] && n.parent.name != "label" {
			t.Errorf("the %s %s has no label", n.name, id)
		}
	}
	if fields < 10 {
		t.Errorf("%d fields only", fields)
	}
	for _, n := range list {
		for _, key := range []string{"for", "aria-labelledby", "aria-describedby"} {
			if id := n.attr[key]; id != "" && !ids[id] {
				t.Errorf("%s: %s=%q names nothing", n.name, key, id)
			}
		}
	}
}

// TestScript: nothing in the script makes HTML or code of a string, or keeps anything, and every id
// that it names is in the page.
func TestScript(t *testing.T) {
	script := elements(t, "script")[0].text
	for _, no := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "sessionStorage", "indexedDB", "cookie", "import(", "http:", "https:"} {
		if strings.Contains(script, no) {
			t.Errorf("the script has %q", no)
		}
	}
	ids := map[string]bool{}
	for _, n := range elements(t, "") {
		ids[n.attr["id"]] = true
	}
	named := regexp.MustCompile(`\$\("([a-z-]+)"\)`).FindAllStringSubmatch(script, -1)
	if len(named) < 30 {
		t.Errorf("the script names %d elements only", len(named))
	}
	for _, m := range named {
		if !ids[m[1]] {
			t.Errorf("the script names %q, which is not in the page", m[1])
		}
	}
}
