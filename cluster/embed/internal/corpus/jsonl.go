package corpus

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// jsonLine returns the record of the next line that is not blank.
func (r *Reader) jsonLine(f file) (Record, error) {
	var skipped int64
	for {
		// A byte of a text takes at most six bytes of JSON.
		limit := 6*r.opts.MaxText + 4*maxID
		line, took, err := r.readLine(limit)
		if err != nil {
			return Record{}, err
		}
		skipped += took
		if strings.TrimSpace(line) == "" {
			continue
		}
		record := Record{Source: fmt.Sprintf("%s:%d", f.name(), r.line), Bytes: skipped}
		switch {
		case len(line) > limit:
			record.Reason = fmt.Sprintf("too large: a line of %d bytes, at most %d are permitted", took, limit)
		case !utf8.ValidString(line):
			record.Reason = "not UTF-8"
		default:
			if record.Reason = parse(line, &record); record.Reason == "" {
				r.check(&record, int64(len(record.Text)))
			}
		}
		if record.Reason != "" {
			record.Text = ""
		}
		return record, nil
	}
}

// parse reads text and ID of a line. It returns what is wrong with them.
func parse(line string, record *Record) (reason string) {
	data := []byte(strings.TrimSpace(line))
	if !json.Valid(data) {
		return "not JSON"
	}
	if data[0] == '"' {
		return decodeText(data, record)
	}
	var fields map[string]json.RawMessage // not a struct, whose names would match in any case
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return "neither an object nor a string"
	}
	if id, ok := fields["id"]; ok && string(id) != "null" {
		if len(id) > maxID {
			return fmt.Sprintf("id: %d bytes, at most %d are permitted", len(id), maxID)
		}
		if id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
			return "id: neither a string nor a number"
		}
		record.ID = string(id)
	}
	text, ok := fields["text"]
	if !ok {
		return "text: missing"
	}
	return decodeText(text, record)
}

func decodeText(data []byte, record *Record) (reason string) {
	if data[0] != '"' || json.Unmarshal(data, &record.Text) != nil {
		return "text: not a string"
	}
	return ""
}
