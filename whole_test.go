package tracelayer

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// anchorOf has the anchor of each real trace whose true layers are known.
var anchorOf = map[string]string{
	"llm_sglang_qwen3-8b_mi300x_decode_bs32":                "paged_attention_ll4mi_QKV",
	"llm_sglang_qwen3-8b_mi300x_prefill_15x1024":            "FmhaBatchPrefill",
	"llm_sglang_qwen3-30b-a3b_mi300x_decode_bs16":           "paged_attention_ll4mi_QKV",
	"llm_sglang_r1-distill-llama-8b-shape_b300_decode_bs16": "fmhaSm100f",
	"llm_vllm_gpt-oss-20b_mi300_decode_bs32_fullgraph":      "kernel_unified_attention",
	"llm_vllm_gpt-oss-20b_mi300_mixed_piecewise":            "kernel_unified_attention",
	"llm_vllm_gpt-oss-120b_b200_tp8_prefill_eager":          "fmhaSm100a",
	"llm_lightllm_deepseek-v3_h200_ep8_decode_rank0":        "BatchMLAPageAttention",
	"llm_lightllm_deepseek-v3_h200_ep8_decode_rank1":        "BatchMLAPageAttention",
	"llm_hf_qwen1.5-0.5b_h100_forward":                      "flash_fwd_kernel",
}

// A layersFile is the independent account of a trace's true layers.
type layersFile struct {
	Passes []struct {
		Head  int `json:"head_kernels"`
		N     int `json:"layers"`
		Tail  int `json:"tail_kernels"`
		Stats []struct {
			Kernels  int                     `json:"kernels_per_layer"`
			N        int                     `json:"N"`
			Total    float64                 `json:"total_per_layer_us"`
			Position []struct{ Avg float64 } `json:"positions"`
		} `json:"position_stats"`
		Layers []struct {
			Kernels int `json:"n_kernels"`
			First   int `json:"first_index"`
			Last    int `json:"last_index"`
		} `json:"layer_details"`
	} `json:"passes"`
}

// TestTrueLayers compares with the true layers of real traces: heads, tails,
// the kernels of each layer, and the averages over all layers of one length.
func TestTrueLayers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shared(t, "traces", "oracle"), "*.layers.json"))
	if err != nil || len(files) != len(anchorOf) {
		t.Fatalf("%d files, %v, want %d", len(files), err, len(anchorOf))
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".layers.json"), ".pt.trace")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want layersFile
			readJSON(t, file, &want)
			trace := sharedTrace(t, name)
			compareLayers(t, trace, anchorOf[name], want)
		})
	}
}

func compareLayers(t *testing.T, trace *Trace, anchor string, want layersFile) {
	t.Helper()
	s, err := Segment(trace, AnchorProfile(anchor), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Passes) != len(want.Passes) {
		t.Fatalf("%d passes, want %d", len(s.Passes), len(want.Passes))
	}
	for i, p := range s.Passes {
		w := want.Passes[i]
		if len(s.Prologue(p)) != w.Head || p.N != w.N || len(s.Epilogue(p)) != w.Tail {
			t.Errorf("pass %d: %d + %d layers + %d, want %d + %d + %d", i, len(s.Prologue(p)), p.N, len(s.Epilogue(p)), w.Head, w.N, w.Tail)
		}
		for j := range min(p.N, w.N) {
			l := s.Layers[p.First+j]
			got := fmt.Sprint(l.Len(), s.Order[l.Start], s.Order[l.End-1])
			if exp := fmt.Sprint(w.Layers[j].Kernels, w.Layers[j].First, w.Layers[j].Last); got != exp {
				t.Errorf("pass %d layer %d: kernels, first, last %s, want %s", i, j, got, exp)
			}
		}
		compareAverages(t, s, i, want)
	}
}

// compareAverages pools the layers of one length of a pass and compares the
// mean duration at each position.
func compareAverages(t *testing.T, s *Segments, pass int, want layersFile) {
	t.Helper()
	p := s.Passes[pass]
	sums := map[int][]float64{}
	count := map[int]int{}
	for _, l := range s.Layers[p.First : p.First+p.N] {
		n := l.Len()
		if sums[n] == nil {
			sums[n] = make([]float64, n)
		}
		count[n]++
		for i, k := range s.Order[l.Start:l.End] {
			sums[n][i] += float64(s.Trace.Kernels[k].Dur) / 1e3
		}
	}
	for _, w := range want.Passes[pass].Stats {
		var got, exp []string
		for i, pos := range w.Position {
			got = append(got, round(sums[w.Kernels][i]/float64(count[w.Kernels])))
			exp = append(exp, round(pos.Avg))
		}
		if d := cmp.Diff(got, exp); count[w.Kernels] != w.N || d != "" {
			t.Errorf("pass %d, %d layers of %d kernels, want %d (-got +want):\n%s", pass, count[w.Kernels], w.Kernels, w.N, d)
		}
	}
}

// TestInterleavedRefused: two micro-batches in one graph launch, by name.
func TestInterleavedRefused(t *testing.T) {
	t.Parallel()
	trace, err := Load(shared(t, "traces", "llm_lightllm_deepseek-v3_h200_ep8_decode_overlap2_rank0.pt.trace.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Segment(trace, AnchorProfile("BatchMLAPageAttention"), nil)
	if !errors.Is(err, ErrInterleaved) || !strings.Contains(err.Error(), "micro-batches") {
		t.Errorf("error %v, want %v", err, ErrInterleaved)
	}
}

// TestMicroBatchesWithoutLabel: two micro-batches that take turns half a layer
// at a time are known by their kernels alone, whatever tells the passes.
func TestMicroBatchesWithoutLabel(t *testing.T) {
	t.Parallel()
	sliding := layerKind("sliding", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "ffn_norm", "router_gemm", "topk", "act_and_mul", "down_gemm")
	for _, tt := range []struct {
		name   string
		launch tracegen.Launch
		labels []tracegen.Family
		layers []*tracegen.Kind
		split  int
	}{
		{"label", tracegen.Eager, []tracegen.Family{tracegen.ATOM}, tracegen.Repeat(plainLayer, 12), 4},
		{"graph launches", tracegen.FullGraph, nil, tracegen.Repeat(plainLayer, 12), 4},
		{"neither", tracegen.Eager, nil, tracegen.Repeat(plainLayer, 12), 4},
		{"split before the attention", tracegen.FullGraph, nil, tracegen.Repeat(plainLayer, 12), 2},
		{"dense prefix", tracegen.FullGraph, nil, append(tracegen.Repeat(plainLayer, 2), tracegen.Repeat(sliding, 10)...), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var layers []*tracegen.Kind
			for _, k := range tt.layers {
				split := *k
				split.Split = tt.split
				layers = append(layers, &split)
			}
			pass := passSpec(layers, func(p *tracegen.Pass) {
				p.Launch, p.Label, p.Prologue = tt.launch, "decode[bs=8]", kernelsNamed("metadata_kernel")
			})
			plain := tracegen.Spec{Seed: 21, Labels: tt.labels, Passes: times(3, pass)}
			both := tracegen.Spec{Seed: 21, Labels: tt.labels}
			for _, p := range plain.Passes {
				p.TwoBatch = true
				both.Passes = append(both.Passes, p)
			}
			trace, _ := generatedSpec(t, plain)
			if _, err := Segment(trace, AnchorProfile("attention_fwd"), nil); err != nil {
				t.Errorf("one batch: %v", err)
			}
			trace, _ = generatedSpec(t, both)
			if _, err := Segment(trace, AnchorProfile("attention_fwd"), nil); !errors.Is(err, ErrInterleaved) {
				t.Errorf("two batches: error %v, want %v", err, ErrInterleaved)
			}
		})
	}
}

// TestPiecesOfGraphs: graph launches that hold less than a pass do not tell
// where one begins. The kernels do, as if there were no launches.
func TestPiecesOfGraphs(t *testing.T) {
	t.Parallel()
	for _, eager := range []string{"attention_fwd", "down_gemm", "o_gemm"} {
		layer := layerKind("layer", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "norm_kernel", "up_gemm", "act_and_mul", "down_gemm")
		for i := range layer.Kernels {
			layer.Kernels[i].Eager = layer.Kernels[i].Name == eager
		}
		pass := passSpec(tracegen.Repeat(layer, 12), func(p *tracegen.Pass) { p.Launch = tracegen.Piecewise })
		trace, truth := generatedSpec(t, tracegen.Spec{Seed: 22, Passes: times(3, pass)})
		for _, anchor := range []string{"attention_fwd", "act_and_mul"} {
			s, err := Segment(trace, AnchorProfile(anchor), nil)
			if err != nil {
				t.Errorf("%s outside of graphs, anchor %s: %v", eager, anchor, err)
				continue
			}
			if s.LayersPerPass != 12 || s.NumPasses != 3 || s.Passes[0].By != ByGap {
				t.Errorf("%s outside of graphs, anchor %s: %d passes of %d layers: %s", eager, anchor, s.NumPasses, s.LayersPerPass, s.Evidence)
				continue
			}
			for i, l := range s.Layers {
				want := truth.Passes[i/12].Layers[i%12].Kernels
				if d := cmp.Diff(s.Order[l.Start:l.End], want); d != "" {
					t.Fatalf("%s outside of graphs, anchor %s, layer %d (-got +truth):\n%s", eager, anchor, i, d)
				}
			}
		}
	}
}

// TestJitterBetweenStreams: layers whose streams ran the same kernels, not in
// the same order between the streams, are of one signature, and their times are
// what they were.
// passOf is a pass that runs these kernels, whatever its layers are.
func passOf(kernels string) tracegen.Pass {
	return passSpec([]*tracegen.Kind{layerKind("pass", strings.Fields(kernels)...)}, nil)
}

// TestPairsAreNoMicroBatches: kinds of layers alternate, and what only one of them
// has comes in pairs.
func TestPairsAreNoMicroBatches(t *testing.T) {
	t.Parallel()
	plain := "norm_kernel qkv_gemm rope kv_write attention_fwd o_gemm ffn_norm up_gemm act_and_mul down_gemm "
	for _, other := range []string{
		"norm_kernel qkv_gemm rope roll_kernel roll_kernel kv_write attention_fwd o_gemm ffn_norm up_gemm act_and_mul down_gemm ",
		plain + "quant lora_gemm quant lora_gemm ",
	} {
		trace, _ := generatedSpec(t, tracegen.Spec{Seed: 25, Passes: times(3, passOf(strings.Repeat(plain+other, 13)))})
		s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if err != nil || len(s.Layers) != 3*26 {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestDraftsInTheirOwnGraphs: graph launches of one layer beside those of the
// target are drafts, not pieces of it, however many there are.
func TestDraftsInTheirOwnGraphs(t *testing.T) {
	t.Parallel()
	draft := passSpec(tracegen.Repeat(plainLayer, 1), func(p *tracegen.Pass) { p.Prologue, p.Epilogue = kernelsNamed("fc_gemm"), kernelsNamed("lm_head_gemm") })
	for n := 1; n <= 3; n++ {
		var passes []tracegen.Pass
		for range 6 {
			passes = append(append(passes, passSpec(tracegen.Repeat(plainLayer, 12), nil)), times(n, draft)...)
		}
		trace, _ := generatedSpec(t, tracegen.Spec{Seed: 26, Passes: passes})
		s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.LayersPerPass != 0 && s.LayersPerPass != 12 {
			t.Errorf("%d drafts: %d layers a pass, %s", n, s.LayersPerPass, s.Evidence)
		}
		for _, p := range s.Passes {
			if p.By != ByGraph {
				t.Fatalf("%d drafts: passes by %s", n, p.By)
			}
		}
	}
}

// TestGraphsBesideAnEagerPass: the decodes are whole in their graphs, though only
// the eager prefill has kernels that are known to begin and to end a pass.
func TestGraphsBesideAnEagerPass(t *testing.T) {
	t.Parallel()
	prefill := passSpec(tracegen.Repeat(plainLayer, 12), func(p *tracegen.Pass) { p.Launch = tracegen.Eager })
	decode := passSpec(tracegen.Repeat(plainLayer, 12), func(p *tracegen.Pass) {
		p.Prologue, p.Epilogue = kernelsNamed("index_kernel"), kernelsNamed("norm_kernel", "lm_head_gemm")
	})
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 28, Passes: append([]tracegen.Pass{prefill}, times(6, decode)...)})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.signs) != 1 || len(s.Layers) != 7*12 {
		t.Errorf("%d layers of %d kinds, want 84 of one", len(s.Layers), len(s.signs))
	}
}

// TestPiecesBesideLabels: where a label tells a pass, the pieces of the others
// neither stand in for micro-batches nor make layers of two passes.
func TestPiecesBesideLabels(t *testing.T) {
	t.Parallel()
	layer := layerKind("layer", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "norm_kernel", "up_gemm", "act_and_mul", "down_gemm")
	layer.Kernels[2].Eager = true
	for _, first := range []string{"embedding_kernel", "index_kernel"} {
		piecewise := passSpec(tracegen.Repeat(layer, 12), func(p *tracegen.Pass) {
			p.Launch, p.Prologue, p.Epilogue = tracegen.Piecewise, kernelsNamed(first), kernelsNamed("norm_kernel", "lm_head_gemm")
		})
		labelled, bare := piecewise, piecewise
		labelled.Label, bare.Label = "decode[bs=8]", "unknown label"
		trace, _ := generatedSpec(t, tracegen.Spec{Seed: 29, Labels: []tracegen.Family{tracegen.ATOM}, Passes: append([]tracegen.Pass{labelled}, times(3, bare)...)})
		s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if err != nil {
			t.Errorf("%s: %v", first, err)
			continue
		}
		if len(s.signs) != 1 || s.LayersPerPass != 12 && s.LayersPerPass != 0 {
			t.Errorf("%s: %d kinds of layers, %d a pass: %s", first, len(s.signs), s.LayersPerPass, s.Evidence)
		}
	}
}

// TestOrderOfKeptLayers: layers that are left out have no say in the order of
// those that are kept.
func TestOrderOfKeptLayers(t *testing.T) {
	t.Parallel()
	kind := func(names ...string) *tracegen.Kind {
		k := layerKind("layer", names...)
		for i := range k.Kernels {
			if k.Kernels[i].Name == "side_dispatch" {
				k.Kernels[i].Stream = 1
			}
		}
		return k
	}
	early := passSpec(tracegen.Repeat(kind("norm_kernel", "qkv_gemm", "attention_fwd", "side_dispatch", "o_gemm", "down_gemm"), 12), nil)
	late := passSpec(tracegen.Repeat(kind("norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "side_dispatch", "down_gemm"), 12), nil)
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 27, Passes: append(times(3, early), times(5, late)...)})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Passes: PassFilter{Only: []int{0, 1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Reordered != 0 {
		t.Errorf("%d of %d layers reordered", s.Reordered, len(s.Layers))
	}
}

func TestJitterBetweenStreams(t *testing.T) {
	t.Parallel()
	kinds := make([]*tracegen.Kind, 3)
	for i, names := range [][]string{
		{"norm_kernel", "qkv_gemm", "attention_fwd", "side_dispatch", "o_gemm", "side_combine", "up_gemm", "down_gemm"},
		{"norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "side_dispatch", "up_gemm", "side_combine", "down_gemm"},
		{"norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "side_dispatch", "side_combine", "down_gemm", "up_gemm"}, // the main stream differs
	} {
		kinds[i] = layerKind("moe", names...)
		for j := range kinds[i].Kernels {
			if strings.HasPrefix(names[j], "side") {
				kinds[i].Kernels[j].Stream = 1
			}
		}
	}
	layers := append(append(tracegen.Repeat(kinds[0], 4), kinds[1], kinds[2], kinds[0]), tracegen.Repeat(kinds[0], 5)...)
	trace, truth := generatedSpec(t, tracegen.Spec{Seed: 23, Labels: []tracegen.Family{tracegen.ATOM}, Passes: times(3, passSpec(layers, nil))})
	s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Reordered != 3 || len(s.signs) != 2 || s.LayersPerPass != 12 {
		t.Fatalf("%d layers reordered, %d signatures, %d layers a pass; want 3, 2, 12", s.Reordered, len(s.signs), s.LayersPerPass)
	}
	m := NewMeter(trace, nil)
	for i, l := range s.Layers {
		kernels := truth.Passes[i/12].Layers[i%12].Kernels
		got := s.Order[l.Start:l.End]
		if want := slices.Sorted(slices.Values(got)); !slices.Equal(want, kernels) {
			t.Errorf("layer %d: kernels %v, want %v", i, want, kernels)
		}
		if d := cmp.Diff(m.Times(got), m.Times(kernels)); d != "" {
			t.Errorf("layer %d, times in the new order (-) and by start (+):\n%s", i, d)
		}
	}
	for i, p := range s.Passes {
		if pt, span := m.PassTimes(s, p), m.Times(s.Order[p.Start:p.End]).Span; pt.Prologue+pt.Layers+pt.Epilogue+pt.Idle != span || pt.Span != span {
			t.Errorf("pass %d: %+v does not add up to %s", i, pt, span)
		}
	}
	sum, err := Summarize(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := sum.Groups[0]
	if len(g.Streams) != 2 || g.Streams[0].BusyUS < 55 || g.Streams[1].BusyUS < 18 || g.Streams[1].BusyUS > 22 {
		t.Errorf("busy by stream %+v, want about 60 and 20 us", g.Streams)
	}
}

// TestSideLayersRefused: layers of another stream are no strays.
func TestSideLayersRefused(t *testing.T) {
	t.Parallel()
	side := layerKind("side", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm")
	for i := range side.Kernels {
		side.Kernels[i].Stream = 1
	}
	for n, want := range map[int]error{1: nil, 2: ErrInterleaved, 4: ErrInterleaved} {
		pass := passSpec(append(tracegen.Repeat(plainLayer, 12), tracegen.Repeat(side, n)...), nil)
		trace, _ := generatedSpec(t, tracegen.Spec{Seed: 9, Streams: []int{7, 8}, Labels: []tracegen.Family{tracegen.ATOM}, Passes: times(3, pass)})
		_, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), fmt.Sprintf("stream 8 has %d of the %d anchors", n, 12+n)) {
			t.Errorf("%d layers on another stream: error %v, want %v", n, err, want)
		}
		if _, err := Segment(trace, AnchorProfile("attention_fwd"), &SegmentOptions{Stream: "7"}); err != nil {
			t.Errorf("%d layers on another stream, and this one alone: %v", n, err)
		}
	}
}

// TestDraftsInStep: a step that drafts tokens may hold layers of two models.
func TestDraftsInStep(t *testing.T) {
	t.Parallel()
	trace, _ := generatedSpec(t, tracegen.Spec{
		Seed: 10, Labels: []tracegen.Family{tracegen.ATOM}, Passes: times(4, passSpec(tracegen.Repeat(plainLayer, 12), nil)),
	})
	names := make([]string, len(trace.Annotations))
	for i, a := range trace.Annotations {
		names[i] = a.Name
	}
	for _, label := range []string{"decode[bs=8 spec=2]", "execute_context_0(0)_generation_8(24)"} {
		for i, name := range names {
			if strings.HasPrefix(name, "decode[") {
				trace.Annotations[i].Name = label
			}
		}
		s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.LayersPerPass != 0 || !strings.Contains(s.Evidence, fmt.Sprintf("%q drafts tokens", label)) {
			t.Errorf("%d layers per pass: %s", s.LayersPerPass, s.Evidence)
		}
	}
}

// TestSeveralRunsInStep: what comes behind a sampler within one step is another
// run. The one with most layers counts, and its head is its epilogue.
func TestSeveralRunsInStep(t *testing.T) {
	t.Parallel()
	head := layerKind("head", "norm_kernel", "lm_head_gemm", "sampling_kernel")
	target, draft := tracegen.Repeat(plainLayer, 12), []*tracegen.Kind{plainLayer, head, plainLayer}
	for _, tt := range []struct {
		name   string
		layers []*tracegen.Kind
		want   []int // layers of the kept runs of a step
		out    int   // runs that are out
	}{
		{"drafts behind the target", append(append(slices.Clone(target), head), draft...), []int{12}, 2},
		{"drafts before the target", append(append(slices.Clone(draft), head), target...), []int{12}, 2},
		{"two equal steps under one label", append(append(slices.Clone(target), head), target...), []int{12, 12}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			trace, _ := generatedSpec(t, tracegen.Spec{Seed: 13, Labels: []tracegen.Family{tracegen.ATOM}, Passes: times(4, passSpec(tt.layers, nil))})
			s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
			if err != nil {
				t.Fatal(err)
			}
			var kept []int
			out := 0
			for _, p := range s.Passes {
				switch {
				case p.Out == "":
					kept = append(kept, p.N)
				case strings.HasPrefix(p.Out, "run of another model in the step"):
					out++
				default:
					t.Errorf("a pass of %d layers is out: %s", p.N, p.Out)
				}
			}
			if want := slices.Repeat(tt.want, 4); !slices.Equal(kept, want) || out != 4*tt.out || s.LayersPerPass != 12 {
				t.Errorf("kept %v, %d out, %d layers per pass (%s); want %v, %d", kept, out, s.LayersPerPass, s.Evidence, want, 4*tt.out)
			}
			sum, err := Summarize(s, nil)
			if err != nil || sum.Epilogue == nil || len(sum.Groups) != 1 || len(sum.Groups[0].Positions) != len(plainLayer.Kernels) {
				t.Fatalf("summary %+v, %v", sum, err)
			}
			if last := sum.Epilogue.Positions[len(sum.Epilogue.Positions)-1]; last.Class.Group != "sampling" || last.N == 0 {
				t.Errorf("the epilogue ends with %q", last.Name)
			}
		})
	}
}

// TestOtherEnd: a last layer that ends with a kernel of its own is a layer.
func TestOtherEnd(t *testing.T) {
	t.Parallel()
	ending := layerKind("ending", "norm_kernel", "qkv_gemm", "attention_fwd", "o_gemm", "ffn_norm", "up_gemm", "act_and_mul", "splitk_gemm")
	pass := passSpec(append(tracegen.Repeat(plainLayer, 11), ending), nil)
	for _, labels := range [][]tracegen.Family{{tracegen.ATOM}, nil} {
		trace, _ := generatedSpec(t, tracegen.Spec{Seed: 14, Labels: labels, Passes: times(4, pass)})
		s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.LayersPerPass != 12 || s.NumPasses != 4 {
			t.Errorf("labels %v: %d layers in %d passes: %s", labels, s.LayersPerPass, s.NumPasses, s.Evidence)
		}
		for i, p := range s.Passes {
			if n := len(s.Epilogue(p)); n != len(pass.Epilogue) {
				t.Errorf("labels %v, pass %d: epilogue of %d kernels, want %d", labels, i, n, len(pass.Epilogue))
			}
		}
	}
}

// TestTrueLayersGenerated compares with what the generator knows, for every
// pass: kernels of each layer, prologue, epilogue and strays.
func TestTrueLayersGenerated(t *testing.T) {
	t.Parallel()
	for shape, anchor := range map[string]string{
		"atom_decode": "pa_bf16", "vllm_decode": "fmhaSm100a", "vllm_piecewise": "kernel_unified_attention", "sglang_decode": "flash_fwd_splitkv_mla_kernel",
		"trtllm_mixed": "fmhaSm100", "eager_dense_prefix": "", "cut_pass": "",
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			trace, truth := generated(t, shape)
			if anchor == "" {
				anchor = attentionOf(t, trace)
			}
			s, err := Segment(trace, AnchorProfile(anchor), &SegmentOptions{Passes: PassFilter{AllPhases: true}})
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			for _, p := range truth.Passes {
				if next >= len(s.Passes) {
					break
				}
				got := s.Passes[next]
				if !runsIn(s, got, p.Layers[len(p.Layers)-1].Kernels[0]) {
					continue // a pass of another attention kernel
				}
				next++
				for j, l := range p.Layers {
					if l.Cut {
						continue
					}
					at := got.N - len(p.Layers) + j
					if at < 0 {
						t.Errorf("pass %d has %d layers of %d", next-1, got.N, len(p.Layers))
						break
					}
					gl := s.Layers[got.First+at]
					if d := cmp.Diff(s.Order[gl.Start:gl.End], l.Kernels); d != "" {
						t.Errorf("pass %d layer %d (-got +truth):\n%s", next-1, j, d)
						return
					}
				}
				if d := cmp.Diff(len(s.Epilogue(got)), len(p.Epilogue)); d != "" {
					t.Errorf("pass %d epilogue: %s", next-1, d)
				}
			}
			if next != len(s.Passes) {
				t.Errorf("%d of %d passes are known to the generator", next, len(s.Passes))
			}
		})
	}
}

func runsIn(s *Segments, p Pass, kernel int32) bool {
	return slices.Contains(s.Order[p.Start:p.End], kernel)
}

// attentionOf is the first candidate for the anchor.
func attentionOf(t *testing.T, trace *Trace) string {
	t.Helper()
	_, err := Segment(trace, AnchorProfile("no such kernel"), nil)
	e, ok := errors.AsType[*SegmentError](err)
	if !ok || len(e.Candidates) == 0 {
		t.Fatalf("no candidates: %v", err)
	}
	return e.Candidates[0].Name
}

// TestLayersPerPassReal: the number of layers of the models whose traces have a
// whole pass that a label or a graph launch proves.
func TestLayersPerPassReal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"llm_sglang_qwen3-8b_mi300x_decode_bs32.json.gz": 36, "llm_sglang_qwen3-8b_mi300x_prefill_15x1024.json.gz": 36,
		"llm_sglang_qwen3-30b-a3b_mi300x_decode_bs16.json.gz": 48, "llm_sglang_r1-distill-llama-8b-shape_b300_decode_bs16.json.gz": 32,
		"llm_vllm_gpt-oss-20b_mi300_decode_bs32_fullgraph.json.gz": 24, "llm_vllm_gpt-oss-20b_mi300_mixed_piecewise.json.gz": 24,
		"llm_vllm_gpt-oss-120b_b200_tp8_prefill_eager.json.gz": 36, "llm_lightllm_deepseek-v3_h200_ep8_decode_rank0.pt.trace.json": 61,
		"llm_lightllm_deepseek-v3_h200_ep8_decode_rank1.pt.trace.json": 61, "llm_hf_qwen1.5-0.5b_h100_forward.json.gz": 0,
	} {
		trace, err := Load(shared(t, "traces", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".json"), ".pt.trace")
		s, err := Segment(trace, AnchorProfile(anchorOf[stem]), nil)
		if err != nil || s.LayersPerPass != want {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				t.Errorf("%d layers a pass, want %d: %s", s.LayersPerPass, want, s.Evidence)
			}
		}
	}
}
