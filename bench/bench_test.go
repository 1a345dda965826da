// Package bench measures the library on generated traces. README.md says how
// to run it, RESULTS.md what came out.
package bench

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
	"testing"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/chrometrace"
	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// anchor is a text in the name of the decode attention of both shapes.
const anchor = "paged_attention_ll4mi_QKV"

// size is that of a generated trace: large enough that nothing but reading
// counts, small enough that all benchmarks once take seconds.
const size = 20_000_000

// A trace is a generated file and what the library makes of it.
type trace struct {
	plain, packed []byte
	loaded        *tracelayer.Trace
}

// The shapes, made when the first benchmark asks for them.
var shapes = []struct {
	name string
	get  func() (*trace, error)
}{
	{"python", sync.OnceValues(func() (*trace, error) { return newTrace("python") })},
	{"kernels", sync.OnceValues(func() (*trace, error) { return newTrace("kernels") })},
}

func newTrace(name string) (*trace, error) {
	shape, _ := tracegen.Lookup(name)
	spec := shape.Spec()
	spec.Bytes, spec.CountsOnly = size, true
	plain, _, err := tracegen.Bytes(spec)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed) // level 6, as in real traces
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	loaded, err := tracelayer.Read(bytes.NewReader(plain), name, nil)
	return &trace{plain, packed.Bytes(), loaded}, err
}

// eachShape runs f as a sub-benchmark for each shape.
func eachShape(b *testing.B, f func(*testing.B, *trace)) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			t, err := s.get()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			f(b, t)
		})
	}
}

// reportRate reports how many of n things were done in a second.
func reportRate(b *testing.B, n int, unit string) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), unit)
}

func BenchmarkRead(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		b.Run("plain", func(b *testing.B) { read(b, t, t.plain) })
		b.Run("gzip", func(b *testing.B) { read(b, t, t.packed) })
	})
}

func read(b *testing.B, t *trace, file []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(t.plain)))
	for b.Loop() {
		if _, err := tracelayer.Read(bytes.NewReader(file), "bench", nil); err != nil {
			b.Fatal(err)
		}
	}
	reportRate(b, len(t.loaded.Kernels), "kernels/s")
}

// BenchmarkInflate is the least that BenchmarkRead of gzip can take.
func BenchmarkInflate(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		b.SetBytes(int64(len(t.plain)))
		for b.Loop() {
			in, err := chrometrace.Open(bytes.NewReader(t.packed))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, in); err != nil {
				b.Fatal(err)
			}
			in.Close()
		}
	})
}

// BenchmarkEvents is a pass over every event, as an analysis of one's own makes it.
func BenchmarkEvents(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		b.SetBytes(int64(len(t.plain)))
		for b.Loop() {
			for _, err := range tracelayer.Events(bytes.NewReader(t.plain), "bench", nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		reportRate(b, int(t.loaded.Counts.Events), "events/s")
	})
}

// The two ways to cut: whole layers, which takes passes and steps, and from
// anchor to anchor.
var cuts = []struct {
	name string
	opts *tracelayer.SegmentOptions
}{
	{"layers", nil},
	{"anchors", &tracelayer.SegmentOptions{Cut: tracelayer.CutAnchors}},
}

func BenchmarkSegment(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		p := tracelayer.AnchorProfile(anchor)
		for _, cut := range cuts {
			b.Run(cut.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := tracelayer.Segment(t.loaded, p, cut.opts); err != nil {
						b.Fatal(err)
					}
				}
				reportRate(b, len(t.loaded.Kernels), "kernels/s")
			})
		}
	})
}

func BenchmarkSummarize(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		for _, cut := range cuts {
			s, err := tracelayer.Segment(t.loaded, tracelayer.AnchorProfile(anchor), cut.opts)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(cut.name, func(b *testing.B) { summarize(b, s, nil) })
			b.Run(cut.name+"/signatures", func(b *testing.B) { summarize(b, s, &tracelayer.SummaryOptions{BySignature: true}) })
		}
	})
}

func summarize(b *testing.B, s *tracelayer.Segments, opts *tracelayer.SummaryOptions) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tracelayer.Summarize(s, opts); err != nil {
			b.Fatal(err)
		}
	}
	reportRate(b, len(s.Layers)*s.KernelsPerLayer, "kernels/s")
}

func BenchmarkDetectDecodeBS(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		for b.Loop() {
			if _, err := tracelayer.DetectDecodeBS(t.loaded); err != nil {
				b.Fatal(err)
			}
		}
		reportRate(b, len(t.loaded.Annotations), "labels/s")
	})
}

// BenchmarkClassify classifies each distinct name, as Summarize does.
func BenchmarkClassify(b *testing.B) {
	eachShape(b, func(b *testing.B, t *trace) {
		for b.Loop() {
			for _, name := range t.loaded.Names {
				tracelayer.Classify(nil, name)
			}
		}
		reportRate(b, len(t.loaded.Names), "names/s")
	})
}
