package tracegen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAtomDecode reads the large file of testdata once and checks all of it.
func TestAtomDecode(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads 30 MB with encoding/json")
	}
	spec := atomDecode()
	file, truth := generate(t, spec)
	events := readEvents(t, file)
	ks := kernelsOf(events)
	checkCounts(t, truth, file, events)
	checkTruth(t, spec, truth, events)
	checkAtomTable(t, ks)
	if n := len(truth.Passes); n != 3+atomSteps {
		t.Errorf("%d passes, want %d", n, 3+atomSteps)
	}
	early := 0
	for _, e := range events {
		if e.Cat == "python_function" && e.start < ks[0].start-int64(time.Second) {
			early++
		}
	}
	if early < 1000 {
		t.Errorf("%d Python frames more than 1 s before the first kernel, want 1000", early)
	}
}

// checkAtomTable does with atom_decode what the old script does with a trace:
// it cuts at the attention, keeps the windows of the commonest length and
// prints the mean, deviation, least and most of each position.
func checkAtomTable(t *testing.T, ks []event) {
	t.Helper()
	var anchors []int
	for i, k := range ks {
		if strings.Contains(k.Name, "pa_bf16_pertokenFp8_gqa8") {
			anchors = append(anchors, i)
		}
	}
	if want := atomSteps * atomLayers; len(anchors) != want {
		t.Fatalf("%d anchors, want %d", len(anchors), want)
	}
	const window = 18
	var rows [window][]float64
	for i, a := range anchors[1:] {
		if a-anchors[i] != window {
			continue
		}
		for pos := range rows {
			k := ks[anchors[i]+pos]
			rows[pos] = append(rows[pos], float64(k.end-k.start)/1000)
		}
	}
	total := 0.0
	for _, r := range rows {
		total += mean(r)
	}
	for pos, want := range map[int]string{
		0:  " 14.6   0.8  10.9   18.2  3.5% 2501",
		1:  "  5.5   0.5   4.4    7.8  1.3% 2501",
		2:  " 16.1   0.5  14.9   18.8  3.9% 2501",
		10: "180.4  16.3 117.8  231.2 43.9% 2501",
		12: " 88.5   8.4   5.3  112.8 21.5% 2501",
	} {
		r := rows[pos]
		got := fmt.Sprintf("%5.1f %5.1f %5.1f %6.1f %4.1f%% %d", mean(r), deviation(r), slices.Min(r), slices.Max(r), 100*mean(r)/total, len(r))
		if got != want {
			t.Errorf("position %d:\ngot  %s\nwant %s", pos, got, want)
		}
	}
	if got, want := fmt.Sprintf("%.1f %.2f", total, total*atomLayers/1000), "411.0 25.48"; got != want {
		t.Errorf("total and all layers: got %s, want %s", got, want)
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func deviation(x []float64) float64 {
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// Equal correlation ids are what a reader finds a graph's kernels by.
func TestGraphs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		spec   Spec
		pieces [][]int // of each pass: kernels by call, in order of time
	}{
		{"full", vllmDecode(), slices.Repeat([][]int{{1 + 4*11 + 4*12 + 1, 1, 1}}, 4)},
		{"piecewise", vllmPiecewise(), slices.Repeat([][]int{append(append([]int{4}, slices.Repeat([]int{1, 1, 9}, 5)...), 1, 1, 7, 1, 1)}, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, truth := generate(t, tt.spec)
			ks := kernelsOf(readEvents(t, file))
			var got [][]int
			for _, p := range truth.Passes {
				var pieces []int
				var last int64
				indices := slices.Clone(p.Prologue)
				for _, l := range p.Layers {
					indices = append(indices, l.Kernels...)
				}
				for _, at := range append(indices, p.Epilogue...) {
					if c := ks[at].Args.Correlation; c != last {
						last = c
						pieces = append(pieces, 0)
					}
					pieces[len(pieces)-1]++
				}
				got = append(got, pieces)
			}
			if diff := cmp.Diff(tt.pieces, got); diff != "" {
				t.Errorf("kernels by call:\n%s", diff)
			}
		})
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	file, truth := generate(t, captureOnly())
	if c := truth.Counts; c.Kernels != 8 || c.Launches != 4*(2*18+2) {
		t.Errorf("%d kernels of %d launches, want 8 of %d", c.Kernels, c.Launches, 4*(2*18+2))
	}
	for _, k := range kernelsOf(readEvents(t, file)) {
		if k.Name != fillAMD {
			t.Errorf("kernel %s ran", k.Name)
		}
	}
	for _, p := range truth.Passes {
		if p.Layers != nil || p.Phase != Capture {
			t.Errorf("pass has layers %v in phase %s", p.Layers, p.Phase)
		}
	}
}

// A GPU-side label stands once on each stream that its step used.
func TestGPULabels(t *testing.T) {
	t.Parallel()
	file, truth := generate(t, sglangDecode())
	got := map[string]int{}
	for _, e := range readEvents(t, file) {
		if e.Cat == "gpu_user_annotation" {
			got[fmt.Sprintf("%s on %v", e.Name, e.TID)]++
		}
	}
	want := map[string]int{}
	for _, l := range truth.Passes[0].Labels {
		for _, stream := range []int{7, 23, 31} {
			want[fmt.Sprintf("%s on %d", l, stream)] = 3
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels on GPU rows:\n%s", diff)
	}
	if len(want) != 6 {
		t.Errorf("%d labels, want two families on three streams", len(want))
	}
}

func TestCutPass(t *testing.T) {
	t.Parallel()
	_, truth := generate(t, cutPass())
	var got []string
	for _, l := range truth.Passes[0].Layers {
		got = append(got, fmt.Sprintf("%s %d %v", l.Kind, len(l.Kernels), l.Cut))
	}
	want := []string{"first 0 true", "layer 0 true", "layer 6 true", "layer 11 false", "layer 11 false", "layer 11 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layers of the cut pass:\n%s", diff)
	}
}

// Micro-batches take turns, so neither has its kernels in one piece.
func TestTwoBatches(t *testing.T) {
	t.Parallel()
	_, truth := generate(t, twoBatches())
	if len(truth.Passes) != 4 {
		t.Fatalf("%d passes, want 2 steps of 2 micro-batches", len(truth.Passes))
	}
	for b, p := range truth.Passes[:2] {
		first := p.Layers[0].Kernels
		want := []int32{0, 8, 18, 17 + 18}
		got := []int32{first[0] - int32(2+9*b), first[8] - first[0], first[9] - first[0], first[17] - first[0] + 9}
		if diff := cmp.Diff(want, got); p.Batch != b || diff != "" {
			t.Errorf("micro-batch %d: %v\n%s", p.Batch, first, diff)
		}
	}
}

func TestChance(t *testing.T) {
	t.Parallel()
	layer := &Kind{Name: "layer", Kernels: []Kernel{kern("norm", 30), kern("attention", 200), kern("maybe", 50), kern("mlp", 400)}}
	layer.Kernels[2].Chance = 0.25
	spec := Spec{Seed: 3, Labels: []Family{VLLM}, Passes: []Pass{{Requests: 4, Layers: Repeat(layer, 400)}}}
	file, truth := generate(t, spec)
	checkTruth(t, spec, truth, readEvents(t, file))
	if n := truth.Counts.Kernels - 3*400; n < 60 || n > 140 {
		t.Errorf("a kernel of chance 0.25 ran %d times of 400", n)
	}
}

// Python frames lie within their callers.
func TestPythonNesting(t *testing.T) {
	t.Parallel()
	file, _ := generate(t, Spec{Seed: 5, WarmupNoise: Noise{Python: 5000}})
	byID := map[int64]event{}
	for _, e := range readEvents(t, file) {
		if e.Cat != "python_function" {
			continue
		}
		byID[e.Args.PythonID] = e
		if e.Args.ParentID == nil {
			continue
		}
		if p, ok := byID[*e.Args.ParentID]; !ok || e.start < p.start || e.end > p.end {
			t.Fatalf("%s [%d, %d] is not within %s [%d, %d]", e.Name, e.start, e.end, p.Name, p.start, p.end)
		}
	}
	if len(byID) != 5000 {
		t.Errorf("%d frames, want 5000", len(byID))
	}
}

// Negative gaps let kernels of one stream overlap; starts still increase.
func TestOverlap(t *testing.T) {
	t.Parallel()
	file, _ := generate(t, trtllmMixed())
	overlaps := 0
	ks := kernelsOf(readEvents(t, file))
	for i, k := range ks[1:] {
		if k.start == ks[i].start {
			t.Errorf("kernels %d and %d start at once", i, i+1)
		}
		if k.start < ks[i].end {
			overlaps++
		}
	}
	if overlaps < 100 {
		t.Errorf("%d overlaps, want 100", overlaps)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	b := appendJSON(nil, "a\"b\\c\n<&>\x01é")
	if got, want := string(b), `"a\"b\\c\u000a<&>\u0001é"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
