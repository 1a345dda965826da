package chrometrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seeds are inputs with something of everything.
var seeds = []string{
	`{"traceEvents":[` + kernel + `]}`,
	`[` + kernel + `,{},null,` + kernel + `,]`,
	"{\n \"h\": 1,\n  \"traceEvents\": [\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\\u0041\\\"\", \"pid\": \"x\", \"tid\": null,\n    \"ts\": 1.5e3, \"dur\": -2,\n    \"args\": {\n      \"stream\": \"7\",\"device\": [0]\n    }\n  }\n]}",
	`[{"args":{"stream":1},"cat":"cpu_op","cat":"kernel","args":{"device":2}}]`,
	"[{\"name\":\"\xff\x01\\q\\ud800\",\"ts\":NaN}",
	"\xef\xbb\xbf[]",
}

// FuzzReader checks, on any input, that reading ends without a panic, that
// neither window nor reads show in the result, and, on valid JSON, that
// encoding/json finds the same events.
func FuzzReader(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		sameInChunks(t, in)
		got := readAll(NewReader(bytes.NewReader(in), options))
		want, ok := standard(in)
		if !ok || strings.Contains(got.Err, "found a second ") {
			return // refused by choice: reading on would mean to read again
		}
		if got.Err != "" {
			t.Fatalf("valid JSON is refused: %s", got.Err)
		}
		var events []string
		for _, it := range got.Items {
			events = append(events, it.Fields)
		}
		if d := cmp.Diff(events, want); d != "" {
			t.Fatalf("(-got +encoding/json):\n%s", d)
		}
	})
}

// standard reads events with encoding/json; ok is false if in is no trace.
func standard(in []byte) (events []string, ok bool) {
	in = bytes.TrimPrefix(in, bom)
	var list []json.RawMessage
	if json.Unmarshal(in, &list) != nil || list == nil {
		var top map[string]json.RawMessage
		if json.Unmarshal(in, &top) != nil || json.Unmarshal(top["traceEvents"], &list) != nil || list == nil {
			return nil, false
		}
	}
	for _, raw := range list {
		var e map[string]json.RawMessage
		if raw[0] != '{' || json.Unmarshal(raw, &e) != nil || len(e) == 0 {
			continue
		}
		events = append(events, standardFields(e))
	}
	return events, true
}

func standardFields(e map[string]json.RawMessage) string {
	var b strings.Builder
	for _, k := range []string{"ph", "cat", "name", "pid", "tid", "ts", "dur"} {
		b.WriteString(standardValue(e[k]))
	}
	var args map[string]json.RawMessage
	var category string
	if c := e["cat"]; len(c) > 0 && c[0] == '"' {
		_ = json.Unmarshal(c, &category) // a string of valid JSON
	} else if len(c) > 0 && c[0] != '{' && c[0] != '[' {
		category = string(c)
	}
	wanted := e["cat"] == nil || options.WantArgs([]byte(category))
	if raw := e["args"]; len(raw) > 0 && raw[0] == '{' && wanted {
		_ = json.Unmarshal(raw, &args)
	}
	for _, k := range options.ArgKeys {
		b.WriteString(standardValue(args[k]))
	}
	if raw := e["args"]; len(raw) > 0 {
		b.WriteByte(kindOf(raw))
	}
	return strings.TrimSpace(b.String())
}

func kindOf(raw json.RawMessage) byte {
	switch c := raw[0]; c {
	case '"', '{', '[', 'n':
		return c
	}
	return '0'
}

func standardValue(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "- "
	}
	switch k := kindOf(raw); k {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s)
		return fmt.Sprintf("%c%q ", k, s)
	case '{', '[':
		return fmt.Sprintf("%c%q ", k, "")
	default:
		return fmt.Sprintf("%c%q ", k, string(raw))
	}
}
