package tracelayer

import (
	"bytes"
	"testing"

	"github.com/tracelayer/tracelayer/internal/tracegen"
)

// generated reads a synthetic trace and returns it with what is true of it.
func generated(t testing.TB, shape string) (*Trace, tracegen.Truth) {
	t.Helper()
	s, ok := tracegen.Lookup(shape)
	if !ok {
		t.Fatalf("no shape %q", shape)
	}
	return generatedSpec(t, s.Spec())
}

func generatedSpec(t testing.TB, spec tracegen.Spec) (*Trace, tracegen.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := tracegen.Write(&b, spec)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Read(&b, "generated", nil)
	if err != nil {
		t.Fatal(err)
	}
	return trace, truth
}

// kernelsOf are all kernels that a pass ran.
func kernelsOf(p tracegen.PassTruth) []int32 {
	all := append(append(append([]int32(nil), p.Prologue...), p.Epilogue...), p.Strays...)
	for _, l := range p.Layers {
		all = append(all, l.Kernels...)
	}
	return all
}

// TestAttributeGenerated compares with what the generator knows.
func TestAttributeGenerated(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{
		"atom_decode", "vllm_decode", "vllm_piecewise", "sglang_decode", "trtllm_mixed", "eager_dense_prefix",
		"spec_decode", "two_batches", "two_devices", "two_ranks_merged", "cut_pass",
	} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			trace, truth := generated(t, shape)
			a := Attribute(trace)
			if n := a.ByLabel + a.ByLaunch + a.Unplaced; n != len(trace.Kernels) {
				t.Errorf("%d kernels counted of %d", n, len(trace.Kernels))
			}
			taken := map[int32]int{} // which of Spec.Passes a step is
			for i, p := range truth.Passes {
				checkPassSteps(t, a, i, p, taken)
			}
		})
	}
}

// checkPassSteps checks that all kernels of a pass are in one step, which is
// that of the pass and of no other.
func checkPassSteps(t *testing.T, a *Attribution, i int, p tracegen.PassTruth, taken map[int32]int) {
	t.Helper()
	step := NoStep
	for _, k := range kernelsOf(p) {
		switch got := a.Step[k]; {
		case got == NoStep:
			t.Errorf("pass %d: kernel %d is in no step", i, k)
			return
		case step != NoStep && got != step:
			t.Errorf("pass %d: kernel %d is in step %d, others in %d", i, k, got, step)
			return
		default:
			step = got
		}
	}
	if step == NoStep {
		return
	}
	if s := a.Steps[step]; s.Requests != p.Requests {
		t.Errorf("pass %d: %d requests, want %d", i, s.Requests, p.Requests)
	}
	run := i - p.Batch // the two micro-batches of a pass follow each other
	if before, ok := taken[step]; ok && before != run && p.Device == 0 && p.Process == 0 {
		t.Errorf("pass %d: step %d is that of pass %d", i, step, before)
	}
	taken[step] = run
}

// TestAttributeReal: what share of the kernels of real traces is placed, by
// which way. What is unplaced in traces with labels on their GPU rows are strays
// of a side stream, whose launch calls were not recorded.
func TestAttributeReal(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Attribution{
		"llm_sglang_qwen3-8b_mi300x_decode_bs32.json.gz":                {ByLaunch: 555},
		"llm_sglang_qwen3-30b-a3b_mi300x_decode_bs16.json.gz":           {ByLabel: 783, Unplaced: 19},
		"llm_vllm_gpt-oss-20b_mi300_decode_bs32_fullgraph.json.gz":      {ByLaunch: 425},
		"llm_vllm_gpt-oss-20b_mi300_mixed_piecewise.json.gz":            {ByLaunch: 413},
		"llm_vllm_gpt-oss-120b_b200_tp8_prefill_eager.json.gz":          {ByLabel: 767, ByLaunch: 1},
		"llm_lightllm_deepseek-v3_h200_ep8_decode_rank0.pt.trace.json":  {Unplaced: 2178},
		"llm_sglang_r1-distill-llama-8b-shape_b300_decode_bs16.json.gz": {ByLabel: 370, Unplaced: 23},
	} {
		trace, err := Load(shared(t, "traces", file), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := Attribute(trace)
		if got.ByLabel != want.ByLabel || got.ByLaunch != want.ByLaunch || got.Unplaced != want.Unplaced {
			t.Errorf("%s: %d by label, %d by launch, %d unplaced, want %d, %d, %d", file, got.ByLabel, got.ByLaunch, got.Unplaced, want.ByLabel, want.ByLaunch, want.Unplaced)
		}
	}
}
