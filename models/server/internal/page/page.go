// Package page is the web page of a server: conversations, semantic search, and what the models
// are. It is one document that loads nothing, and asks the API of the server that it comes from.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

//go:embed page.html page.css *.js
var files embed.FS

// scripts are the parts of the script. Later ones use what earlier ones define.
var scripts = []string{"api.js", "markdown.js", "passages.js", "chat.js", "search.js", "main.js"}

// Handler returns what answers with the page. It does not look at the path.
func Handler() http.Handler {
	style, script := read("page.css"), ""
	for _, name := range scripts {
		script += "\n" + read(name)
	}
	document := []byte(strings.NewReplacer("/*style*/", style, "/*script*/", script).Replace(read("page.html")))
	sum := sha256.Sum256(document)
	headers := map[string]string{
		"Content-Type":                 "text/html; charset=utf-8",
		"Content-Security-Policy":      policy(style, script),
		"Cache-Control":                "no-cache", // but with the ETag
		"ETag":                         `"` + hex.EncodeToString(sum[:8]) + `"`,
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
	})
}

// read returns a file of this package.
func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the compiler has put it there
	}
	return string(data)
}

// policy allows this style, this script, and requests to the server, and nothing else. Not even the
// script can make HTML or code of a string.
func policy(style, script string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"style-src " + source(style),
		"script-src " + source(script),
		"connect-src 'self'",
		"img-src data:", // the icon
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
}

// source allows an element with this text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
