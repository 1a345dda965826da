package tracegen

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testdata = "../../testdata"

// generate writes s into memory.
func generate(t *testing.T, s Spec) ([]byte, Truth) {
	t.Helper()
	file, truth, err := Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	return file, truth
}

// kept are the shapes that testdata holds.
func kept() []Shape {
	return slices.DeleteFunc(Shapes(), func(s Shape) bool { return s.File == "" })
}

// smallShapes are all shapes but atom_decode, benchmarks cut to a few passes.
func smallShapes() []Shape {
	shapes := slices.DeleteFunc(Shapes(), func(s Shape) bool { return s.Name == "atom_decode" })
	for i, s := range shapes {
		if s.File == "" {
			shapes[i].Spec = func() Spec {
				spec := s.Spec()
				spec.Passes = spec.Passes[8:10]
				spec.Noise.Python /= 100
				return spec
			}
		}
	}
	return shapes
}

func TestTruth(t *testing.T) {
	t.Parallel()
	for _, s := range smallShapes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			spec := s.Spec()
			file, truth := generate(t, spec)
			events := readEvents(t, file)
			checkCounts(t, truth, file, events)
			if s.Name != "capture_only" { // there only some kernels run: TestCapture
				checkTruth(t, spec, truth, events)
			}
		})
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	for _, s := range smallShapes() {
		spec := s.Spec()
		a, _ := generate(t, spec)
		b, _ := generate(t, s.Spec())
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two runs differ", s.Name)
		}
		spec.Seed++
		if c, _ := generate(t, spec); bytes.Equal(a, c) {
			t.Errorf("%s: another seed changes nothing", s.Name)
		}
	}
}

func TestTestdata(t *testing.T) {
	t.Parallel()
	for _, s := range kept() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && s.Name == "atom_decode" {
				t.Skip("packs 30 MB")
			}
			got, err := os.ReadFile(filepath.Join(testdata, "traces", s.File))
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := s.bytes()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(unpack(t, s.File, got), unpack(t, s.File, want)) {
				t.Fatal("not what the generator writes; go generate ./internal/tracegen")
			}
			if !bytes.Equal(got, want) {
				t.Error("same trace, packed differently; go generate ./internal/tracegen")
			}
			limit := 30_000
			if s.Name == "atom_decode" {
				limit = 1_500_000
			}
			if len(got) > limit {
				t.Errorf("%d bytes, want at most %d", len(got), limit)
			}
		})
	}
}

func unpack(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	if !strings.HasSuffix(name, ".gz") {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTestdataListed(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(testdata, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range kept() {
		want = append(want, s.File)
		if line := fmt.Sprintf("| `traces/%s` | %s |", s.File, s.Doc); !strings.Contains(string(readme), line) {
			t.Errorf("README.md lacks the line\n%s", line)
		}
	}
	entries, err := os.ReadDir(filepath.Join(testdata, "traces"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of shapes against files in testdata/traces:\n%s", diff)
	}
}

// Kineto's layout is what fast readers hop over: events open and close on
// lines of two spaces, and nothing else does within the list.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, s := range smallShapes() {
		file, truth := generate(t, s.Spec())
		_, list, ok := strings.Cut(string(file), "\n  \"traceEvents\": [\n")
		if !ok || !strings.HasPrefix(string(file), "\n  {\n    \"schemaVersion\": 1,\n") {
			t.Fatalf("%s: header differs from Kineto's", s.Name)
		}
		list, tail, ok := strings.Cut(list, "\n  ],\n")
		if !ok || tail != "  \"traceName\": \"./rank_0.pt.trace.json\"\n}" {
			t.Fatalf("%s: list is followed by %q", s.Name, tail)
		}
		opened, lines := 0, strings.Split(list, "\n")
		for i, line := range lines {
			switch {
			case line == "  {":
				opened++
			case line == "  }," || line == "  }" && i == len(lines)-1:
			case !strings.HasPrefix(line, "    "):
				t.Fatalf("%s: line %q within the list", s.Name, line)
			}
		}
		if opened != truth.Counts.Events {
			t.Errorf("%s: %d events opened, counted %d", s.Name, opened, truth.Counts.Events)
		}
	}
}

// Big files are to look like real ones to a packer, a string table and a
// splitter.
func TestBigShapes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("packs 40 MB")
	}
	for _, tt := range []struct {
		shape       string
		least, most float64 // bytes a kernel; 0 is any
	}{
		{"kernels", 580, 660},
		{"python", 0, 0},
	} {
		t.Run(tt.shape, func(t *testing.T) {
			t.Parallel()
			s, _ := Lookup(tt.shape)
			spec := s.Spec()
			spec.Bytes, spec.CountsOnly = 20_000_000, true
			var packed counter
			z, err := gzip.NewWriterLevel(&packed, 6)
			if err != nil {
				t.Fatal(err)
			}
			truth, err := Write(z, spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			c := truth.Counts
			if c.Bytes < spec.Bytes || c.Bytes > spec.Bytes*3/2 {
				t.Errorf("%d bytes, want %d and at most a pass more", c.Bytes, spec.Bytes)
			}
			if ratio := float64(c.Bytes) / float64(packed); ratio < 13 || ratio > 17 {
				t.Errorf("packs %.2f:1, want 13 to 17", ratio)
			}
			if c.Names < 300 {
				t.Errorf("%d distinct names of kernels, want 300", c.Names)
			}
			if each := float64(c.Bytes) / float64(c.Kernels); tt.most > 0 && (each < tt.least || each > tt.most) {
				t.Errorf("%.0f bytes a kernel, want %.0f to %.0f", each, tt.least, tt.most)
			}
			if truth.Passes != nil {
				t.Error("CountsOnly keeps passes")
			}
		})
	}
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// memoryMeter keeps the largest heap seen while it is written to.
type memoryMeter struct {
	n    int
	heap uint64
}

func (m *memoryMeter) Write(p []byte) (int, error) {
	if m.n++; m.n%256 == 0 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		m.heap = max(m.heap, s.HeapAlloc)
	}
	return len(p), nil
}

// Not parallel: other tests' memory would count.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 300 MB")
	}
	s, _ := Lookup("kernels")
	spec := s.Spec()
	spec.CountsOnly = true
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var m memoryMeter
	spec.Bytes = 300e6
	if _, err := Write(&m, spec); err != nil {
		t.Fatal(err)
	}
	if grown := int64(m.heap) - int64(before.HeapAlloc); grown > 16e6 {
		t.Errorf("heap grew by %d bytes for a file of %d", grown, spec.Bytes)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	kind := &Kind{Name: "k", Kernels: []Kernel{{Name: "a", Mean: time.Microsecond, Stream: 9}}}
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"size without passes", Spec{Bytes: 1000}, "no pass to fill them"},
		{"stream", Spec{Passes: []Pass{{Layers: Repeat(kind, 1)}}}, "on stream 9 of 3"},
		{"context", Spec{Passes: []Pass{{Phase: Mixed, Requests: 2, Context: 3}}}, "3 of 2 requests"},
		{"stray", Spec{Passes: []Pass{{Strays: []Stray{{Layer: 1}}}}}, "stray in layer 1 of 0"},
		{"phase", Spec{Passes: []Pass{{Phase: 99}}}, "phase 99"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Write(io.Discard, tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	s, _ := Lookup("kernels")
	spec := s.Spec()
	spec.Bytes = 1 << 40 // ends at once, not after a terabyte
	if _, err := Write(&failingWriter{left: 200_000}, spec); err != os.ErrClosed {
		t.Errorf("got error %v, want %v", err, os.ErrClosed)
	}
}

func ExampleWrite() {
	layer := &Kind{Name: "layer", Kernels: []Kernel{
		{Name: "norm", Mean: 3 * time.Microsecond},
		{Name: "attention", Mean: 20 * time.Microsecond},
		{Name: "mlp", Mean: 40 * time.Microsecond},
	}}
	truth, err := Write(io.Discard, Spec{
		Labels: []Family{SGLang},
		Passes: []Pass{{Requests: 16, Launch: FullGraph, Layers: Repeat(layer, 4), Repeat: 2}},
	})
	if err != nil {
		panic(err)
	}
	second := truth.Passes[1]
	fmt.Println(second.Labels, second.Phase, second.Layers[0].Kernels)
	// Output: [step[DECODE bs=16]] decode [12 13 14]
}

func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"kernels", "python"} {
		b.Run(name, func(b *testing.B) {
			s, _ := Lookup(name)
			spec := s.Spec()
			spec.Bytes, spec.CountsOnly = 50e6, true
			b.ReportAllocs()
			for b.Loop() {
				t, err := Write(io.Discard, spec)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(t.Counts.Bytes)
			}
		})
	}
}
