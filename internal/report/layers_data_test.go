package report

import (
	"bytes"
	"encoding/csv"
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/golden"
)

func TestCSVGolden(t *testing.T) {
	golden.Check(t, "small.csv", render(t, small().WriteCSV))
	golden.Check(t, "grouped.csv", render(t, grouped().WriteCSV))
}

func TestCSVHead(t *testing.T) {
	const script = "pos,short_name,kernel,avg_us,std_us,min_us,max_us,pct,count"
	for name, l := range map[string]*Layers{"plain": small(), "by signature": grouped()} {
		recs, err := csv.NewReader(bytes.NewReader(render(t, l.WriteCSV))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(recs[0][:9], ","); got != script {
			t.Errorf("%s: first nine columns are %s", name, got)
		}
	}
	// Writing by signature must not have changed the head of later files.
	if got := render(t, small().WriteCSV); !bytes.HasPrefix(got, []byte(strings.Join(csvHead, ",")+"\n0,")) {
		t.Errorf("head of a plain CSV:\n%s", got)
	}
}

func TestJSONGolden(t *testing.T) {
	golden.Check(t, "small.json", render(t, small().WriteJSON))
	golden.Check(t, "grouped.json", render(t, grouped().WriteJSON))
}

// The document says the same to the standard library's reader, and its layers close.
func TestJSONLayersAddUp(t *testing.T) {
	var d struct {
		Anchors int
		Groups  []struct{ Layers int }
		LeftOut struct {
			Layers  int
			Reasons []struct{ Layers int }
		} `json:"left_out"`
	}
	if err := stdjson.Unmarshal(render(t, grouped().WriteJSON), &d); err != nil {
		t.Fatal(err)
	}
	kept, left := 0, 0
	for _, g := range d.Groups {
		kept += g.Layers
	}
	for _, r := range d.LeftOut.Reasons {
		left += r.Layers
	}
	if kept+left != d.Anchors || left != d.LeftOut.Layers {
		t.Errorf("%d kept + %d left out (said %d), %d anchors", kept, left, d.LeftOut.Layers, d.Anchors)
	}
}

func TestJSONNulls(t *testing.T) {
	l := small()
	l.Decode = nil
	var d map[string]any
	if err := stdjson.Unmarshal(render(t, l.WriteJSON), &d); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"decode_bs", "passes", "layers_per_pass"} {
		if v, ok := d[key]; !ok || v != nil {
			t.Errorf("%s is %v (present %v), want null", key, v, ok)
		}
	}
	last := d["groups"].([]any)[0].(map[string]any)["positions"].([]any)[2].(map[string]any)
	for _, key := range []string{"avg_us", "std_us", "min_us", "p50_us", "p90_us", "p99_us", "max_us", "max_p50", "pct", "max_layer", "max_at_s"} {
		if v, ok := last[key]; !ok || v != nil {
			t.Errorf("%s of a position without samples is %v (present %v), want null", key, v, ok)
		}
	}
}

func TestJSONKeepsTheOrderOfSizes(t *testing.T) {
	l := small()
	l.Decode.Counts = []tracelayer.BSCount{{BS: 117, Steps: 2}, {BS: 8, Steps: 5}, {BS: 32, Steps: 5}}
	var b bytes.Buffer
	if err := stdjson.Compact(&b, render(t, l.WriteJSON)); err != nil {
		t.Fatal(err)
	}
	if want := `"counts":{"8":5,"32":5,"117":2}`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in %s", want, b.String())
	}
}

// hostile is what a trace may call its kernels.
var hostile = []string{
	"\x1b[31mred\x1b[0m", "\u009b31mred", "bell\a", "tab\there", "two\nlines\r\n", "del\x7f",
	`=cmd|' /C calc'!A0`, `"=1+1`, ` +1`, "-1", "@SUM(A1)", "＝1", "\t=1", "\r=1",
	"a,b\"c", "\u202egnp.exe", "\ufffd(_demo", "U+2028\u2028", "\U000e0041tag",
}

func hostileLayers() *Layers {
	l := small()
	l.trace().Name = "dir/\x1b[2J\xff.json"
	l.segments().Anchor = "\xff\x1b"
	l.segments().LeftOut[0].Why = "why \x1b[0m"
	l.trace().Warnings = []tracelayer.Warning{{Text: "odd \x1b[1m name", Count: 1, Event: -1}}
	g := &l.Summary.Groups[0]
	g.Positions = nil
	for i, n := range hostile {
		g.Positions = append(g.Positions, tracelayer.Position{Pos: i, Name: n, Purity: 1, Variants: 1, Class: tracelayer.Class{Label: n, Group: n}})
	}
	return l
}

func TestHostileNames(t *testing.T) {
	l := hostileLayers()
	outputs := map[string]string{
		"text":  text(t, l),
		"csv":   string(render(t, l.WriteCSV)),
		"json":  string(render(t, l.WriteJSON)),
		"notes": strings.Join(append(Warnings(l.trace()), l.Notes()...), "\n"),
	}
	for name, out := range outputs {
		if !utf8.ValidString(out) {
			t.Errorf("%s is not valid UTF-8", name)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && isUnprintable(r) }); i >= 0 {
			t.Errorf("%s: unprintable character at %d: %q", name, i, out[max(0, i-20):min(len(out), i+20)])
		}
	}
	if got, want := strings.Count(outputs["csv"], "\n"), len(hostile)+1; got != want {
		t.Errorf("CSV has %d lines, want %d", got, want)
	}
}

func TestNoCSVCellStartsAFormula(t *testing.T) {
	recs, err := csv.NewReader(bytes.NewReader(render(t, hostileLayers().WriteCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		for _, c := range rec {
			if strings.ContainsAny(strings.TrimLeft(c, "\" ")[:min(1, len(strings.TrimLeft(c, "\" ")))], "=+-@\t\r") {
				t.Errorf("cell %q", c)
			}
		}
	}
	for in, want := range map[string]string{
		"=1": "'=1", `"=1`: `'"=1`, " +1": "' +1", "-1": "'-1", "@x": "'@x", "\t=1": `\t=1`, "＝1": "'＝1",
		"a=1": "a=1", "": "", "void k<-1>": "void k<-1>", `"quoted"`: `"quoted"`,
	} {
		if got := cell(in); got != want {
			t.Errorf("cell(%q) = %q, want %q", in, got, want)
		}
	}
}

// JSON keeps every name as it is, whatever is in it.
func TestJSONKeepsNames(t *testing.T) {
	var d struct {
		Trace, Anchor string
		Groups        []struct{ Positions []struct{ Kernel string } }
	}
	if err := stdjson.Unmarshal(render(t, hostileLayers().WriteJSON), &d); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Groups[0].Positions {
		got = append(got, p.Kernel)
	}
	if diff := cmp.Diff(hostile, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d.Trace != "dir/\x1b[2J\ufffd.json" || d.Anchor != "\ufffd\x1b" {
		t.Errorf("trace %q, anchor %q", d.Trace, d.Anchor)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":            "plain",
		"größe 核":          "größe 核",
		"\x1b[31m":         `\x1b[31m`,
		"a\tb\nc":          `a\tb\nc`,
		"\xff\x05":         `\xff\x05`,
		"\u009b":           `\u009b`,
		"\u202e":           `\u202e`,
		"no\u00a0break":    `no\u00a0break`,
		"\ufffd":           "\ufffd",
		`back\slash 'tis"`: `back\slash 'tis"`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}
