package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer"
)

func TestExit(t *testing.T) {
	seg := &tracelayer.SegmentError{Err: tracelayer.ErrNoAnchor, Detail: "found 0, need at least 2"}
	withCandidates := *seg
	withCandidates.Candidates = []tracelayer.Candidate{{Name: "flash", Count: 36, Evenness: 0.5, Between: 15}}
	for _, tt := range []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"done", nil, 0, ""},
		{"input", errors.New("no good"), 1, "cmd: no good\n"},
		{"usage", Usagef("unknown flag: --x"), 2, "cmd: unknown flag: --x (try 'cmd --help')\n"},
		{"usage, wrapped", fmt.Errorf("a: %w", Usagef("b")), 2, "cmd: a: b (try 'cmd --help')\n"},
		{"hostile", errors.New("pid \x1b[2J\nTOTAL"), 1, `cmd: pid \x1b[2J\nTOTAL` + "\n"},
		{"segment", seg, 1, "cmd: anchor not found often enough: found 0, need at least 2\n"},
		{"segment with candidates", fmt.Errorf("x: %w", &withCandidates), 1,
			"cmd: x: anchor not found often enough: found 0, need at least 2\n\n" +
				"Kernels of this trace that could be the anchor, best first (--pa-pattern takes any part of a name):\n" +
				"  Count    Even  Kernels between  Name\n     36     50%               15  flash\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if got := Exit("cmd", tt.err, &stderr); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if d := cmp.Diff(tt.stderr, stderr.String()); d != "" {
				t.Errorf("stderr -want +got:\n%s", d)
			}
		})
	}
}

func parseFlags(args ...string) (*Flags, string, error) {
	f := NewFlags("cmd")
	s := f.String("word", "dflt", "a `W` of your choice")
	f.Bool("flag", false, "a switch")
	f.Int("num", 0, "a number (`N`)")
	err := f.Parse(args, "about\n", "after\n")
	return f, *s, err
}

func TestFlagsInAnyOrder(t *testing.T) {
	for _, args := range [][]string{
		{"trace", "--word", "w", "--flag"}, {"--word=w", "trace", "--flag"}, {"--flag", "--word", "w", "--", "trace"},
	} {
		f, word, err := parseFlags(args...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		ops, err := f.Operands("the trace file")
		if len(ops) != 1 || ops[0] != "trace" || word != "w" || err != nil {
			t.Errorf("%q: operands %q, word %q, error %v", args, ops, word, err)
		}
	}
}

func TestFlagsRefuse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--nope"}, "unknown flag: --nope"},
		{[]string{"x", "--word"}, "flag needs an argument: --word"},
		{[]string{"x", "--word", ""}, "--word is empty"},
		{[]string{"x", "--num", "many"}, `invalid argument "many" for "--num" flag: must be an integer`},
		{nil, "missing argument: the trace file"},
		{[]string{""}, "empty argument: the trace file"},
		{[]string{"a", ""}, "empty argument: the trace file"},
		{[]string{"-", "b", "-"}, "standard input (-) can be read only once"},
	} {
		f, _, err := parseFlags(tt.args...)
		if err == nil {
			_, err = f.Operands("the trace file")
		}
		if _, ok := errors.AsType[*UsageError](err); !ok || err.Error() != tt.want {
			t.Errorf("%q: got error %v, want a UsageError %q", tt.args, err, tt.want)
		}
	}
}

func TestAnswer(t *testing.T) {
	help := "about\n\nFlags:\n  --word W   a W of your choice (default dflt)\n  --flag     a switch\n  --num N    a number (N)\n" +
		"  --version  print the version and exit\n  --help     print this text and exit\nafter\n"
	for _, tt := range []struct{ arg, want string }{{"--help", help}, {"-h", help}, {"--version", "cmd " + Version() + "\n"}} {
		_, _, err := parseFlags("--flag", tt.arg)
		got, ok := Answer(err)
		if !ok {
			t.Errorf("%s: no answer, error %v", tt.arg, err)
		}
		if d := cmp.Diff(tt.want, string(got)); d != "" {
			t.Errorf("%s: -want +got:\n%s", tt.arg, d)
		}
	}
	if _, ok := Answer(Usagef("x")); ok {
		t.Error("a usage error is taken for an answer")
	}
	if _, ok := Answer(nil); ok {
		t.Error("no error is taken for an answer")
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestPrintReportsWriteErrors(t *testing.T) {
	if err := Print(closed{}, []byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got error %v", err)
	}
}

func TestNotes(t *testing.T) {
	var b bytes.Buffer
	Notes(&b, []string{"odd file"}, []string{"a tie", "few"})
	if got, want := b.String(), "warning: odd file\nnote: a tie\nnote: few\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
