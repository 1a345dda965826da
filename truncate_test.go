package tracelayer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCutEverywhere cuts a small trace at every byte, plain and packed: each
// time ErrTruncated with the file, the place and the event, and with
// AllowTruncated what came before and a warning.
func TestCutEverywhere(t *testing.T) {
	t.Parallel()
	plain, err := os.ReadFile("testdata/traces/atom_tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	plain = bytes.TrimSpace(plain)
	whole := mustRead(t, plain)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 31
	}
	for name, b := range map[string][]byte{"plain": plain, "gzip": packed.Bytes()} {
		kernels := int64(0)
		for n := 2; n < len(b); n += step {
			kernels = max(kernels, checkCut(t, name, b[:n], kernels))
		}
		if kernels < whole.Counts.Kernels-1 {
			t.Errorf("%s: the longest cut gives %d kernels, want %d", name, kernels, whole.Counts.Kernels)
		}
	}
}

func mustRead(t *testing.T, b []byte) *Trace {
	t.Helper()
	trace, err := Read(bytes.NewReader(b), "whole", nil)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// checkCut reads a cut trace and returns how many kernels could be saved, which
// must be at least as many as a shorter cut gave.
func checkCut(t *testing.T, name string, b []byte, atLeast int64) int64 {
	t.Helper()
	_, err := Read(bytes.NewReader(b), "cut.json", nil)
	at, ok := errors.AsType[*SyntaxError](err)
	if !ok || !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), "cut.json: byte ") || at.Event < -1 {
		t.Errorf("%s cut at byte %d: error %v", name, len(b), err)
		return atLeast
	}
	trace, err := Read(bytes.NewReader(b), "cut.json", &LoadOptions{AllowTruncated: true})
	if err != nil || !hasWarning(trace.Warnings, "truncated") {
		t.Errorf("%s cut at byte %d, salvaged: error %v", name, len(b), err)
		return atLeast
	}
	if trace.Counts.Kernels < atLeast || trace.Counts.Events < trace.Counts.Kernels {
		t.Errorf("%s cut at byte %d: %d kernels saved, %d events; a shorter cut gave %d kernels", name, len(b), trace.Counts.Kernels, trace.Counts.Events, atLeast)
	}
	return trace.Counts.Kernels
}

// TestCutReal cuts real traces at some bytes. Those that are lists may end
// between events, which cannot be told from a whole list, and say so.
func TestCutReal(t *testing.T) {
	t.Parallel()
	const cuts = 9
	for _, file := range sharedTraces(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() && len(b) > 1<<20 {
				t.Skip("large; left out by -short")
			}
			for i := 1; i < cuts; i++ {
				n := len(bytes.TrimSpace(b)) * i / cuts
				trace, err := Read(bytes.NewReader(b[:n]), "cut.json", nil)
				if err == nil && hasWarning(trace.Warnings, "unterminated_list") {
					continue
				}
				if !errors.Is(err, ErrTruncated) {
					t.Errorf("cut at byte %d of %d: error %v", n, len(b), err)
				}
			}
		})
	}
}

// TestDamage overwrites single bytes of a small trace. Many leave valid JSON;
// what does not is refused with its place, and nothing panics.
func TestDamage(t *testing.T) {
	t.Parallel()
	plain, err := os.ReadFile("testdata/traces/atom_tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := 0; n < len(plain); n += 5 {
		for _, c := range []byte{0, '"', '{', '}', '\\', 0xff} {
			b := bytes.Clone(plain)
			b[n] = c
			trace, err := Read(bytes.NewReader(b), "x", nil)
			_, isSyntax := errors.AsType[*SyntaxError](err)
			if (err == nil) != (trace != nil) || err != nil && !isSyntax {
				t.Fatalf("byte %d as %q: trace %v, error %v", n, c, trace != nil, err)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused < len(plain)/5 {
		t.Errorf("%d of %d damaged traces were refused", refused, 6*len(plain)/5)
	}
}
