package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoadRefusesBeforeReading(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, want string }{
		{filepath.Join(dir, "no.json"), "no such file"},
		{dir, "is a directory, not a trace"},
	} {
		var stderr bytes.Buffer
		_, err := Load(t.Context(), tt.name, nil, &stderr, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s: got error %v, want %q in it", tt.name, err, tt.want)
		}
		if stderr.Len() > 0 {
			t.Errorf("%s: stderr %q", tt.name, &stderr)
		}
	}
}

func TestLoadReadsStdin(t *testing.T) {
	var stderr bytes.Buffer
	in := strings.NewReader(`{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2}]}`)
	tr, err := Load(t.Context(), "-", in, &stderr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Kernels) != 1 || tr.Name != "stdin" {
		t.Errorf("%d kernels of %q, want 1 of stdin", len(tr.Kernels), tr.Name)
	}
	if got, want := stderr.String(), "Loading trace: stdin\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

func TestLoadSaysWhatItReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a\x1bb.json")
	if err := os.WriteFile(path, []byte("[]"), 0o666); err != nil {
		t.Skipf("no such file name here: %v", err)
	}
	var stderr bytes.Buffer
	if _, err := Load(t.Context(), path, nil, &stderr, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stderr.String(), "Loading trace: ") || !strings.HasSuffix(stderr.String(), `a\x1bb.json`+"\n") {
		t.Errorf("stderr %q", &stderr)
	}
}

func TestSourceStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &source{r: strings.NewReader("abc"), ctx: ctx}
	p := make([]byte, 1)
	if n, err := s.Read(p); n != 1 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if n, err := s.Read(p); n != 0 || err != interrupted {
		t.Errorf("Read after the end = %d, %v", n, err)
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.update(400, 1000)
	if b.Len() > 0 {
		t.Errorf("drawn at once: %q", &b)
	}
	p.last = p.last.Add(-time.Second)
	p.update(500, 1000)
	p.done()
	p.last = p.last.Add(-time.Second)
	p.update(600, 1000) // the inflating goroutine may be late
	want := clearLine + "[###############...............]  50%  0.0 MB" + clearLine
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestBarText(t *testing.T) {
	for _, tt := range []struct {
		read, size int64
		want       string
	}{
		{0, 10, "[..............................]   0%  0.0 MB"},
		{12_340_000, 0, "12.3 MB"},
		{20, 10, "[##############################] 100%  0.0 MB"}, // a file that grew
	} {
		if got := barText(tt.read, tt.size); got != tt.want {
			t.Errorf("barText(%d, %d) = %q, want %q", tt.read, tt.size, got, tt.want)
		}
	}
}

func TestBarOnlyOnATerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, w := range map[string]io.Writer{"buffer": &bytes.Buffer{}, "file": f} {
		if isTerminal(w) {
			t.Errorf("a %s is taken for a terminal", name)
		}
	}
}
