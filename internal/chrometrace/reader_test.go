package chrometrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// options wants the args of kernels, and of events whose category says so.
var options = Options{
	ArgKeys:    []string{"device", "stream", "correlation"},
	WantArgs:   func(c []byte) bool { return bytes.EqualFold(c, []byte("kernel")) },
	WantHeader: func(k []byte) bool { return strings.HasPrefix(string(k), "h") },
}

// An item is an event as a comparable value.
type item struct {
	Index, Offset int64
	Fields        string // kind and text of each field
}

// A result is all that a Reader gives.
type result struct {
	Items  []item
	Header map[string]string
	Stats  Stats
	Err    string
	Offset int64
}

func readAll(d *Reader) result {
	var res result
	for {
		e, err := d.Next()
		if err != nil {
			res.Offset, res.Stats = d.Offset(), d.Stats()
			if err != io.EOF {
				res.Err = err.Error()
			}
			break
		}
		res.Items = append(res.Items, item{e.Index, e.Offset, fields(e)})
	}
	for k, v := range d.Header() {
		if res.Header == nil {
			res.Header = map[string]string{}
		}
		res.Header[k] = string(v)
	}
	return res
}

func fields(e *Event) string {
	var b strings.Builder
	all := []Value{e.Phase, e.Category, e.Name(), e.PID(), e.TID(), e.TS, e.Dur}
	for i := range options.ArgKeys {
		all = append(all, e.Arg(i))
	}
	for _, v := range all {
		if v.Kind == 0 {
			b.WriteString("- ")
			continue
		}
		fmt.Fprintf(&b, "%c%q ", v.Kind, v.Text)
	}
	if e.ArgsKind != 0 {
		fmt.Fprintf(&b, "%c", e.ArgsKind)
	}
	return strings.TrimSpace(b.String())
}

const kernel = `{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":1.5,"dur":2,"args":{"device":0,"stream":7,"correlation":9}}`
const kernelFields = `""X" ""kernel" ""k" 0"1" 0"7" 0"1.5" 0"2" 0"0" 0"7" 0"9" {`

func TestReader(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
		err      string // part of the error
	}{
		{"object", `{"traceEvents":[` + kernel + `]}`, []string{kernelFields}, ""},
		{"list", `[` + kernel + `,` + kernel + `]`, []string{kernelFields, kernelFields}, ""},
		{"byte order mark", "\ufeff[" + kernel + `]`, []string{kernelFields}, ""},
		{"list without its bracket", `[` + kernel, []string{kernelFields}, ""},
		{"list with a comma at its end", `[` + kernel + `,`, []string{kernelFields}, ""},
		{"comma before the bracket", `{"traceEvents":[` + kernel + `,]}`, []string{kernelFields}, ""},
		{"empty entries", `[{},null,3,"x",[1],` + kernel + `]`, []string{kernelFields}, ""},
		{"no events", `{"traceEvents":[]}`, nil, ""},
		{"keys in another order", `[{"args":{"correlation":9,"stream":7,"x":[{}],"device":0},"dur":2,"ts":1.5,"tid":7,"pid":1,"name":"k","cat":"kernel","ph":"X"}]`, []string{kernelFields}, ""},
		{"last of equal keys wins", `[{"ph":"B","ph":"X","cat":"kernel","name":"a","name":"k","pid":1,"tid":7,"ts":0,"ts":1.5,"dur":2,"args":{"device":5},"args":{"device":0,"device":0,"stream":7,"correlation":9}}]`, []string{kernelFields}, ""},
		{"category behind the args", `[{"ph":"X","name":"k","pid":1,"tid":7,"ts":1.5,"dur":2,"args":{"device":0,"stream":7,"correlation":9},"cat":"cpu_op","cat":"kernel"}]`, []string{kernelFields}, ""},
		{"category that leaves the args", `[{"cat":"kernel","args":{"device":0},"cat":"cpu_op"}]`, []string{`- ""cpu_op" - - - - - - - - {`}, ""},
		{"escapes", `[{"p\u0068":"\u0058","cat":"ker\u006eel","name":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800"}]`, []string{`""X" ""kernel" ""\"\\/\b\f\n\r\té😀�" - - - - - - -`}, ""},
		{"unknown escapes", `[{"name":"a\qb\u12g4"}]`, []string{`- - ""a\\qb\\u12g4" - - - - - - -`}, ""},
		{"raw control bytes", "[{\"name\":\"a\x01\tb\"}]", []string{`- - ""a\x01\tb" - - - - - - -`}, ""},
		{"not UTF-8", "[{\"name\":\"a\xc3\x28\xff\"}]", []string{`- - ""a�(�" - - - - - - -`}, ""},
		{"not finite", `[{"ts":NaN,"dur":-inf,"pid":Infinity}]`, []string{`- - - 0"Infinity" - 0"NaN" 0"-inf" - - -`}, ""},
		{"other kinds", `[{"name":null,"pid":[1],"tid":{"a":1},"ts":true,"args":null}]`, []string{`- - n"null" ["" {"" 0"true" - - - - n`}, ""},
		{"args that are no object", `[{"cat":"kernel","args":"stream=7"}]`, []string{`- ""kernel" - - - - - - - - "`}, ""},
		{"header on both sides", `{"h1":{"a":[1,2]},"skip":"x","traceEvents":[` + kernel + `],"h2":3}`, []string{kernelFields}, ""},

		{"empty", ``, nil, "truncated"},
		{"not JSON", `hello`, nil, `found 'h', expected { or [`},
		{"no list", `{"a":1}`, nil, "without traceEvents"},
		{"two lists", `{"traceEvents":[],"traceEvents":[]}`, nil, "second traceEvents"},
		{"list that is an object", `{"traceEvents":{}}`, nil, "expected [, the list of events"},
		{"category that wants the args too late", `[{"cat":"cpu_op","args":{"device":0},"cat":"kernel"}]`, nil, `second "cat"`},
		{"two commas", `[{},,{}]`, nil, "found ','"},
		{"no comma", `[{"a":1}{"a":1}]`, []string{"- - - - - - - - - -"}, "expected , or ]"},
		{"comma in an event", `[{"a":1,}]`, nil, "expected a key"},
		{"bad word", `[{"a":bad}]`, nil, `found "bad"`},
		{"wrong bracket", `[{"a":[1}]}]`, nil, `found '}', expected ']'`},
		{"key without value", `[{"a":}]`, nil, "expected a value"},
		{"text behind", `{"traceEvents":[]} x`, nil, "expected the end of the file"},
		{"cut in a string", `{"traceEvents":[{"name":"ab`, nil, "truncated"},
		{"cut in an escape", `{"traceEvents":[{"name":"ab\`, nil, "truncated"},
		{"cut in a key", `{"traceEvents":[{"na`, nil, "truncated"},
		{"cut behind an event", `{"traceEvents":[` + kernel, []string{kernelFields}, "truncated"},
		{"cut behind the list", `{"traceEvents":[` + kernel + `]`, []string{kernelFields}, "truncated"},
		{"cut list within an event", `[` + kernel + `,{"ph":`, []string{kernelFields}, "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := readAll(NewReader(strings.NewReader(tt.in), options))
			var got []string
			for _, it := range res.Items {
				got = append(got, it.Fields)
			}
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Errorf("events (-got +want):\n%s", d)
			}
			if tt.err == "" && res.Err != "" || tt.err != "" && !strings.Contains(res.Err, tt.err) {
				t.Errorf("error %q, want %q", res.Err, tt.err)
			}
			sameInChunks(t, []byte(tt.in))
		})
	}
}

// sameInChunks checks that neither the size of the window nor that of the
// reads shows in a result.
func sameInChunks(t *testing.T, in []byte) {
	t.Helper()
	want := readAll(NewReader(bytes.NewReader(in), options))
	for _, window := range []int{16, 64, 1024} {
		got := readAll(newReader(iotest.OneByteReader(bytes.NewReader(in)), options, window))
		if d := cmp.Diff(got, want); d != "" {
			t.Fatalf("window of %d bytes, reads of one (-got +want):\n%s", window, d)
		}
		got = readAll(newReader(iotest.DataErrReader(bytes.NewReader(in)), options, window))
		if d := cmp.Diff(got, want); d != "" {
			t.Fatalf("window of %d bytes, error with the last data (-got +want):\n%s", window, d)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	in := "[{\"name\":\"\x01\x02\"},{},{\"x\":[\"\xff\xfe\",\"a\\q\"]},{\"name\":\"\xff\"},"
	got := readAll(NewReader(strings.NewReader(in), options)).Stats
	want := Stats{
		Bytes: int64(len(in)), Events: 4, Ignored: 1, Unterminated: true,
		RawControl: Oddity{2, 0}, InvalidUTF8: Oddity{2, 2}, UnknownEscape: Oddity{1, 2},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	in := `{"h":1,"no":2,"h":{"a":"]}"},"traceEvents":[],"h2":"x"}`
	got := readAll(NewReader(strings.NewReader(in), options)).Header
	if d := cmp.Diff(got, map[string]string{"h": `{"a":"]}"}`, "h2": `"x"`}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

// TestPlace checks that errors know where they are.
func TestPlace(t *testing.T) {
	t.Parallel()
	in := `{"traceEvents":[` + kernel + `,` + kernel + `,{"ph":"X","ts":1 2}]}`
	d := NewReader(strings.NewReader(in), options)
	res := readAll(d)
	if want := int64(strings.Index(in, "1 2}") + 2); res.Offset != want || d.Index() != 2 {
		t.Errorf("offset %d, event %d, want %d, 2 (%s)", res.Offset, d.Index(), want, res.Err)
	}
}

// An endless reader repeats a pattern n times between a head and a tail.
func endless(head, pattern, tail string, n int) io.Reader {
	return io.MultiReader(strings.NewReader(head), &repeater{pattern: pattern, left: n}, strings.NewReader(tail))
}

type repeater struct {
	pattern string
	at      int
	left    int
}

func (r *repeater) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.left == 0 {
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		c := copy(p[n:], r.pattern[r.at:])
		n += c
		if r.at += c; r.at == len(r.pattern) {
			r.at = 0
			r.left--
		}
	}
	return n, nil
}

// TestLongEvents reads an event of 50 MB, with the category in front of and
// behind what is long, in one window.
func TestLongEvents(t *testing.T) {
	t.Parallel()
	const rest = `"ph":"X","name":"k","pid":1,"tid":7,"ts":1.5,"dur":2,"args":{"device":0,"stream":7,"correlation":9}`
	const n = 5 << 20
	for name, in := range map[string]io.Reader{
		"category first":         endless(`[{"cat":"kernel",`+rest+`,"x":"`, "0123456789", `"},`+kernel+`]`, n),
		"category last":          endless(`[{`+rest+`,"x":"`, "0123456789", `","cat":"kernel"},`+kernel+`]`, n),
		"long stack of brackets": endless(`[{`+rest+`,"x":[`, "[1,{}],[[],", `0],"cat":"kernel"},`+kernel+`]`, n/2),
		"long args": endless(`[{"ph":"X","name":"k","pid":1,"tid":7,"ts":1.5,"dur":2,"args":{"device":0,"stack":"`, "0123456789",
			`","stream":7,"correlation":9},"cat":"kernel"},`+kernel+`]`, n),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "long stack of brackets" {
				in = endless(`[{`+rest+`,"x":[`, "[1,{}],[[]],", `0],"cat":"kernel"},`+kernel+`]`, n/2)
			}
			d := NewReader(in, options)
			res := readAll(d)
			if res.Err != "" || len(res.Items) != 2 || res.Items[0].Fields != kernelFields || res.Items[1].Fields != kernelFields {
				t.Errorf("%v %s", res.Items, res.Err)
			}
			if len(d.s.buf) != firstBuffer {
				t.Errorf("the window grew to %d bytes", len(d.s.buf))
			}
		})
	}
}

func TestMaxValue(t *testing.T) {
	t.Parallel()
	in := func() io.Reader { return endless(`[{"cat":"kernel","name":"`, "0123456789", `"}]`, 300_000) }
	res := readAll(NewReader(in(), options))
	if len(res.Items) != 1 || !strings.Contains(res.Items[0].Fields, "0123456789") {
		t.Errorf("a name of 3 MB: %d events, error %q", len(res.Items), res.Err)
	}
	small := options
	small.MaxValue = 1 << 20
	d := NewReader(in(), small)
	if _, err := d.Next(); !errors.Is(err, ErrTooLarge) || d.Index() != 0 {
		t.Errorf("error %v at event %d, want %v at 0", err, d.Index(), ErrTooLarge)
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := NewReader(io.MultiReader(strings.NewReader(`[{"a":`), iotest.ErrReader(broken)), options).Next()
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	_, err = NewReader(stuck{}, options).Next()
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestDepth(t *testing.T) {
	t.Parallel()
	in := `[{"x":` + strings.Repeat("[", 200_000)
	if res := readAll(NewReader(strings.NewReader(in), options)); !strings.Contains(res.Err, "nested deeper") {
		t.Errorf("error %q", res.Err)
	}
}

// TestFastAgrees reads the same events the fast way and the general way.
func TestFastAgrees(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		kernel,
		`{ "ph": "X" ,` + "\n\t" + `"cat":"kernel","ts":-1.5e3 , "args": {"stream":  "7","a":{"b":[1,{"c":"}"}]}, "device":null} }`,
		`{"cat":"cpu_op","args":{"stream":7},"dur":1.}`,
		`{"args":{"stream":7,"device":[]},"ts":NaN}`,
		`{"name":[{"a":1},"x"],"pid":{},"tid":true}`,
	} {
		fast := NewReader(strings.NewReader("["+in+strings.Repeat(" ", 64)+"]"), options)
		if _, err := fast.Next(); err != nil {
			t.Fatal(in, err)
		}
		slow := NewReader(strings.NewReader("["+in+"]"), options)
		slow.s.more()
		slow.s.pos, slow.s.event, slow.s.reading = 1, 1, true
		if _, err := slow.event(); err != nil {
			t.Fatal(in, err)
		}
		slow.resolve()
		if got, want := fields(&fast.ev), fields(&slow.ev); got != want {
			t.Errorf("%s\nfast    %s\ngeneral %s", in, got, want)
		}
		if end, _ := fast.fastEvent([]byte(in+"        "), 0); end != len(in) {
			t.Errorf("%s is not read the fast way: %d", in, end)
		}
	}
}
