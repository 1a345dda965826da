package tracelayer

import (
	"errors"
	"strings"
	"testing"

	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// manySteps is a trace of decode steps of 1, 8 and 32 requests (the last in a
// graph for 48), mixed steps and prefills, all with the same kernels. Layer
// times tell them apart: a layer takes as long as its pass's size says.
func manySteps(t *testing.T) *Trace {
	t.Helper()
	twelve := tracegen.Repeat(plainLayer, 12)
	decode := func(bs, graph, n int) []tracegen.Pass {
		return times(n, passSpec(twelve, func(p *tracegen.Pass) { p.Requests, p.Graph = bs, graph }))
	}
	passes := times(2, passSpec(twelve, func(p *tracegen.Pass) { p.Phase, p.Requests, p.Launch = tracegen.Prefill, 3, tracegen.Eager }))
	passes = append(passes, decode(1, 0, 2)...)
	passes = append(passes, decode(8, 0, 3)...)
	passes = append(passes, times(2, passSpec(twelve, func(p *tracegen.Pass) { p.Phase, p.Requests, p.Context = tracegen.Mixed, 9, 1 }))...)
	passes = append(passes, decode(32, 48, 4)...)
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 11, Vendor: tracegen.AMD, Labels: []tracegen.Family{tracegen.ATOM}, Passes: passes})
	return trace
}

// TestPassFilter: each choice keeps the layers of the passes that it names, and
// no others.
func TestPassFilter(t *testing.T) {
	t.Parallel()
	trace := manySteps(t)
	for _, tt := range []struct {
		name   string
		filter PassFilter
		want   []int // indices of the kept passes
	}{
		{"default: decode", PassFilter{}, []int{2, 3, 4, 5, 6, 9, 10, 11, 12}},
		{"all", PassFilter{AllPhases: true}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"one request", PassFilter{Requests: 1}, []int{2, 3}},
		{"eight requests", PassFilter{Requests: 8}, []int{4, 5, 6}},
		{"32 requests", PassFilter{Requests: 32}, []int{9, 10, 11, 12}},
		{"graph of 48", PassFilter{GraphBS: 48}, []int{9, 10, 11, 12}},
		{"mixed", PassFilter{Phase: PhaseMixed}, []int{7, 8}},
		{"prefill", PassFilter{Phase: PhasePrefill}, []int{0, 1}},
		{"some", PassFilter{Only: []int{3, 9, 7}}, []int{3, 9}},
		{"skip", PassFilter{Skip: 7}, []int{11, 12}},
		{"skip within a size", PassFilter{Requests: 8, Skip: 1}, []int{5, 6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: tt.filter})
			if err != nil {
				t.Fatal(err)
			}
			kept := map[int]int{}
			for _, l := range s.Kept() {
				kept[l.Pass]++
			}
			for _, p := range tt.want {
				if kept[p] != 12 {
					t.Errorf("%d layers of pass %d", kept[p], p)
				}
			}
			if len(kept) != len(tt.want) || s.NumPasses != len(tt.want) || s.LayersPerPass != 12 || !s.Alike {
				t.Errorf("kept %v, %d passes of %d layers (%s), want %v", kept, s.NumPasses, s.LayersPerPass, s.Evidence, tt.want)
			}
			sum, err := Summarize(s, nil)
			if err != nil || len(sum.Groups) != 1 || sum.Groups[0].Layers != 12*len(tt.want) {
				t.Errorf("groups %v, %v", len(sum.Groups), err)
			}
			left := 0
			for _, l := range s.LeftOut {
				left += l.Layers
			}
			if left+12*len(tt.want) != s.Anchors {
				t.Errorf("%d layers left out and %d kept of %d anchors", left, 12*len(tt.want), s.Anchors)
			}
		})
	}
}

// TestSkipWholePasses: a pass that the recording cut off is out anyway, and no
// pass is skipped for it.
func TestSkipWholePasses(t *testing.T) {
	t.Parallel()
	decode := passSpec(tracegen.Repeat(plainLayer, 12), nil)
	cut := passSpec(tracegen.Repeat(plainLayer, 12), func(p *tracegen.Pass) { p.Skip = 40 })
	trace, _ := generatedSpec(t, tracegen.Spec{
		Seed: 12, Labels: []tracegen.Family{tracegen.ATOM}, Passes: append([]tracegen.Pass{cut}, times(3, decode)...),
	})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: PassFilter{Skip: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"pass not whole: it has 7 layers instead of 12, at the beginning of the trace", "pass skipped", "", ""} {
		if got := s.Passes[i].Out; got != want {
			t.Errorf("pass %d: %q, want %q", i, got, want)
		}
	}
	if _, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: PassFilter{Only: []int{0}, Skip: 1}}); !errors.Is(err, ErrNoLayers) {
		t.Errorf("the only pass chosen was skipped: error %v", err)
	}
}

// TestPassFilterRefused: a choice that keeps nothing says what there is.
func TestPassFilterRefused(t *testing.T) {
	t.Parallel()
	trace := manySteps(t)
	for _, tt := range []struct {
		filter PassFilter
		say    string
	}{
		{PassFilter{Requests: 7}, "2: prefill step; 2: decode step of 1 requests"},
		{PassFilter{Phase: PhaseDraft}, "9: decode step"},
		{PassFilter{Only: []int{13}}, "no pass 13: the trace has 13"},
		{PassFilter{Skip: 9}, "9: pass skipped"},
	} {
		_, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: tt.filter})
		if !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%+v: error %v, want %q", tt.filter, err, tt.say)
		}
	}
}

// TestStrays: kernels of a stream that recurs in the layers belong to them, and
// those of one that does not are strays.
func TestStrays(t *testing.T) {
	t.Parallel()
	trace, truth := generated(t, "sglang_decode")
	s, err := Segment(trace, AnchorProfile("flash_fwd_splitkv_mla_kernel"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []int32
	for _, p := range truth.Passes {
		want = append(want, p.Strays...)
	}
	if len(s.Strays) != len(want) || len(want) == 0 {
		t.Fatalf("%d strays, want %d", len(s.Strays), len(want))
	}
	for i := range want {
		if s.Strays[i] != want[i] {
			t.Errorf("stray %d is kernel %d, want %d", i, s.Strays[i], want[i])
		}
	}
}

// TestCaptureOnlyRefused: a trace of captures says so.
func TestCaptureOnlyRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"llm_sglang_qwen3-8b_mi300x_graphcapture_bs32.json.gz", "llm_vllm_gpt-oss-20b_mi300_graphcapture_piecewise.pt.trace.json.gz"} {
		trace, err := Load(shared(t, "traces", file), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Segment(trace, AnchorProfile("paged_attention"), nil)
		if !errors.Is(err, ErrNoAnchor) || !strings.Contains(err.Error(), "capture trace") {
			t.Errorf("%s: error %v", file, err)
		}
	}
}

// TestUnlabelledPass: kernels with anchors that no label or launch places are a
// pass of their own, and do not go with the passes beside them.
func TestUnlabelledPass(t *testing.T) {
	t.Parallel()
	twelve := tracegen.Repeat(plainLayer, 12)
	decode := passSpec(twelve, nil)
	other := passSpec(twelve, func(p *tracegen.Pass) { p.Launch, p.Label = tracegen.Eager, "something else" })
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 12, Labels: []tracegen.Family{tracegen.ATOM}, Passes: append(append(times(6, decode), other), times(6, decode)...)})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: PassFilter{Phase: PhaseDecode}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Passes) != 13 || s.Passes[6].Step != NoStep || s.Passes[6].Out == "" || s.Passes[6].N != 12 {
		t.Fatalf("%d passes, the seventh %+v", len(s.Passes), s.Passes[min(6, len(s.Passes)-1)])
	}
	if s.NumPasses != 12 || s.LayersPerPass != 12 {
		t.Errorf("%d passes of %d layers, want 12 of 12: %s", s.NumPasses, s.LayersPerPass, s.Evidence)
	}
}

// TestSharedGraphID: an id that several graph launches share is no pass.
func TestSharedGraphID(t *testing.T) {
	t.Parallel()
	trace, err := Load(shared(t, "cases", "23-graph-replay.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Segment(trace, AnchorProfile("pa_bf16"), nil)
	if err != nil || s.LayersPerPass != 0 {
		t.Errorf("%v, %d layers a pass", err, s.LayersPerPass)
	}
}

// TestNoLaunch: kernels without any launch are cut, but belong to no step, and
// who asks for a phase is told so.
func TestNoLaunch(t *testing.T) {
	t.Parallel()
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 24, Labels: []tracegen.Family{tracegen.ATOM}, Passes: times(3, passSpec(tracegen.Repeat(plainLayer, 12), nil))})
	trace.Launches = nil
	s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
	if err != nil || s.LayersPerPass != 12 || s.NumPasses != 3 || s.Passes[0].By != ByGap {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: PassFilter{Phase: PhaseDecode}})
	if !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), "the labels show 3 steps, but no kernel leads to one: kernels without any launch (launch calls recorded: 0)") {
		t.Errorf("phase decode: %v", err)
	}
}
