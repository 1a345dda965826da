package tracelayer

import (
	"errors"
	"testing"
	"time"

	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// kinds of layers with one attention kernel each.
var (
	plainLayer  = layerKind("plain", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "ffn_norm", "up_gemm", "act_and_mul", "down_gemm")
	denseLayer  = layerKind("dense", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "ffn_norm", "wide_gemm", "down_gemm")
	slowLayer   = layerKind("slow", "norm_kernel", "qkv_gemm", "attention_fwd", "slow_gemm", "ffn_norm", "up_gemm", "act_and_mul", "down_gemm")
	linearLayer = layerKind("linear", "norm_kernel", "qkv_gemm", "conv", "scan", "o_gemm", "ffn_norm", "up_gemm", "down_gemm")
	copyKernel  = tracegen.Kernel{Name: "stray_copy", Mean: 3 * time.Microsecond, Stream: 1}
)

func layerKind(name string, kernels ...string) *tracegen.Kind {
	k := &tracegen.Kind{Name: name}
	for _, n := range kernels {
		k.Kernels = append(k.Kernels, tracegen.Kernel{Name: n, Mean: 10 * time.Microsecond})
	}
	return k
}

func kernelsNamed(names ...string) []tracegen.Kernel { return layerKind("", names...).Kernels }

// A passSpec is a decode pass of some layers, with head and tail.
func passSpec(layers []*tracegen.Kind, change func(*tracegen.Pass)) tracegen.Pass {
	p := tracegen.Pass{
		Requests: 8, Launch: tracegen.FullGraph, Layers: layers,
		Prologue: kernelsNamed("embedding_kernel"), Epilogue: kernelsNamed("norm_kernel", "lm_head_gemm", "qkv_gemm", "sampling_kernel"),
	}
	if change != nil {
		change(&p)
	}
	return p
}

func times(n int, p tracegen.Pass) []tracegen.Pass {
	var all []tracegen.Pass
	for range n {
		all = append(all, p)
	}
	return all
}

// TestLayersPerPass: the number of layers of a pass is right or not said. want
// and whole are what has to be said, 0 where silence is right.
func TestLayersPerPass(t *testing.T) {
	t.Parallel()
	twelve := tracegen.Repeat(plainLayer, 12)
	decode := passSpec(twelve, nil)
	strayed := passSpec(twelve, func(p *tracegen.Pass) { p.Strays = []tracegen.Stray{{Layer: 5, Kernel: copyKernel}} })
	prefill := passSpec(twelve, func(p *tracegen.Pass) { p.Phase, p.Requests, p.Launch = tracegen.Prefill, 2, tracegen.Eager })
	verify := passSpec(twelve, func(p *tracegen.Pass) { p.Phase = tracegen.Verify })
	tbo := passSpec(twelve, func(p *tracegen.Pass) { p.TwoBatch = true })
	cut := passSpec(twelve, func(p *tracegen.Pass) { p.Skip = 40 })
	lastSlow := passSpec(append(tracegen.Repeat(plainLayer, 11), slowLayer), nil)
	prefix := passSpec(append(tracegen.Repeat(denseLayer, 3), tracegen.Repeat(plainLayer, 9)...), nil)
	mid := passSpec(append(append(tracegen.Repeat(plainLayer, 6), denseLayer), tracegen.Repeat(plainLayer, 5)...), nil)
	hybrid := passSpec(tracegen.Cycle(12, linearLayer, linearLayer, linearLayer, plainLayer), nil)
	for _, tt := range []struct {
		name   string
		labels tracegen.Family
		passes []tracegen.Pass
		want   int // from anchor to anchor
		whole  int // of whole layers
	}{
		{"equal passes", tracegen.ATOM, times(5, decode), 12, 12},
		{"equal passes, SGLang", tracegen.SGLang, times(3, decode), 12, 12},
		{"a stray in the middle of each pass", tracegen.ATOM, times(4, strayed), 12, 12},
		{"the first pass cut off", tracegen.ATOM, append([]tracegen.Pass{cut}, times(3, decode)...), 12, 12},
		{"one pass", tracegen.SGLang, times(1, strayed), 0, 12},
		{"prefill with the same kernels", tracegen.ATOM, append(times(1, prefill), times(3, decode)...), 0, 12},
		{"verify steps with the same kernels", tracegen.SGLang, append(times(4, verify), times(4, decode)...), 0, 12},
		{"micro-batches", tracegen.ATOM, times(3, tbo), 0, 0},
		{"another last layer", tracegen.ATOM, times(4, lastSlow), 0, 12},
		{"a dense prefix", tracegen.ATOM, times(4, prefix), 0, 12},
		{"another layer in the middle", tracegen.ATOM, times(4, mid), 0, 12},
		{"a hybrid of 3 to 1", tracegen.ATOM, times(4, hybrid), 0, 0},
		{"no labels", tracegen.Family(-1), times(4, decode), 0, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := tracegen.Spec{Seed: 7, Vendor: tracegen.AMD, Passes: tt.passes}
			if tt.labels >= 0 {
				spec.Labels = []tracegen.Family{tt.labels}
			}
			trace, _ := generatedSpec(t, spec)
			for _, cut := range []Cut{CutAnchors, CutLayers} {
				for _, anchor := range []string{"attention_fwd", "norm_kernel", "scan"} {
					s, err := Segment(trace, AnchorProfile(anchor), &SegmentOptions{Cut: cut})
					if err != nil {
						continue // no such kernel, or refused
					}
					said := s.LayersPerPass
					if !s.Alike {
						said = 0
					}
					want := tt.want
					if cut == CutLayers {
						want = tt.whole
					}
					if said != 0 && said != 12 || anchor == "attention_fwd" && said != want {
						t.Errorf("cut %d, %s: %d layers a pass, want %d: %s", cut, anchor, said, want, s.Evidence)
					}
				}
			}
		})
	}
}

// TestNumLayersGiven: what the user says is held against the trace.
func TestNumLayersGiven(t *testing.T) {
	t.Parallel()
	decode := passSpec(tracegen.Repeat(plainLayer, 12), nil)
	labelled, _ := generatedSpec(t, tracegen.Spec{Seed: 8, Labels: []tracegen.Family{tracegen.VLLM}, Passes: times(4, decode)})
	bare, _ := generatedSpec(t, tracegen.Spec{Seed: 8, Passes: times(4, decode)})
	for _, tt := range []struct {
		trace  *Trace
		layers int
		ok     bool
	}{
		{labelled, 12, true}, {labelled, 6, false}, {labelled, 24, false}, {labelled, 7, false},
		{bare, 12, true}, {bare, 48, false}, {bare, 6, false}, {bare, 8, false}, {bare, 7, false},
	} {
		s, err := Segment(tt.trace, AnchorProfile("attention_fwd"), &SegmentOptions{Cut: CutAnchors, NumLayers: tt.layers})
		if tt.ok && (err != nil || s.LayersPerPass != tt.layers || !s.Alike || s.NumPasses != 4) || !tt.ok && !errors.Is(err, ErrRemainder) {
			t.Errorf("%d layers: %v", tt.layers, err)
		}
	}
}

// TestPhases: kept layers are counted by the phase of their steps.
func TestPhases(t *testing.T) {
	t.Parallel()
	twelve := tracegen.Repeat(plainLayer, 12)
	prefill := passSpec(twelve, func(p *tracegen.Pass) { p.Phase, p.Requests = tracegen.Prefill, 2 })
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 9, Labels: []tracegen.Family{tracegen.ATOM}, Passes: append(times(1, prefill), times(2, passSpec(twelve, nil))...)})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Cut: CutAnchors})
	if err != nil {
		t.Fatal(err)
	}
	want := []PhaseLayers{{PhasePrefill, 11}, {PhaseDecode, 22}}
	if len(s.Phases) != 2 || s.Phases[0] != want[0] || s.Phases[1] != want[1] {
		t.Errorf("phases %v, want %v", s.Phases, want)
	}
}
