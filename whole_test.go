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
			found, err := filepath.Glob(filepath.Join(shared(t, "traces"), name+".*json*"))
			if err != nil || len(found) != 1 {
				t.Fatalf("traces %v, %v", found, err)
			}
			trace, err := Load(found[0], nil)
			if err != nil {
				t.Fatal(err)
			}
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
	for i := range trace.Annotations {
		trace.Annotations[i].Name = strings.Replace(trace.Annotations[i].Name, "]", " spec=2]", 1)
	}
	s, err := Segment(trace, AnchorProfile("attention_fwd"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.LayersPerPass != 0 || !strings.Contains(s.Evidence, "spec=2]\" drafts tokens") {
		t.Errorf("%d layers per pass: %s", s.LayersPerPass, s.Evidence)
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
