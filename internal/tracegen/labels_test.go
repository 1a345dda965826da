package tracegen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	decode := Pass{Requests: 32}
	padded := Pass{Requests: 90, Graph: 96}
	prefill := Pass{Phase: Prefill, Requests: 3, Tokens: 5120}
	many := Pass{Phase: Prefill, Requests: 7, Tokens: 7168, TwoBatch: true}
	mixed := Pass{Phase: Mixed, Requests: 50, Context: 2, Tokens: 98, KVLen: 500}
	verify := Pass{Phase: Verify, Requests: 24, Spec: 2}
	draft := Pass{Phase: Draft, Requests: 24, Spec: 2}
	dummy := Pass{Phase: Dummy, Requests: 1}
	capture := Pass{Phase: Capture, Requests: 8, Launch: Piecewise}
	for _, tt := range []struct {
		name   string
		family Family
		pass   Pass
		want   string
	}{
		{"atom decode", ATOM, decode, "decode[bs=32 tok=32 d=32]"},
		{"atom padded", ATOM, padded, "decode[bs=90/96 tok=90 d=90]"},
		{"atom prefill of one", ATOM, Pass{Phase: Prefill, Requests: 1, Tokens: 700}, "prefill[bs=1 tok=700 ctx=700]"},
		{"atom prefill", ATOM, prefill, "prefill[bs=3 tok=5120 ctx=[1707, 1707, 1706]]"},
		{"atom prefill of many", ATOMDetailed, many, "prefill[bs=7 tok=7168 ctx=[1024, 1024, 1024]...+4 sqsq=7340032 sqsk=7340032 sk=7168 tbo=1]"},
		{"atom mixed", ATOM, mixed, "decode[bs=50 tok=98 p=2 d=48]"},
		{"atom verify", ATOM, verify, "decode[bs=24 tok=72 d=24 spec=2]"},
		{"atom draft", ATOM, draft, "draft[1/2 bs=24]"},
		{"atom dummy", ATOM, dummy, "dummy_decode[bs=1 tok=1 d=1]"},
		{"atom eager", ATOM, Pass{Phase: EagerPhase, Requests: 2}, "eager_decode[bs=2 tok=2 ctx=1024]"},
		{"atom capture", ATOM, capture, "capture_graph_bs_8"},
		{"vllm decode", VLLM, decode, "execute_context_0(0)_generation_32(32)"},
		{"vllm mixed", VLLM, mixed, "execute_context_2(50)_generation_48(48)"},
		{"vllm verify", VLLM, verify, "execute_context_0(0)_generation_24(72)"},
		{"vllm older", VLLMOlder, mixed, "execute_new_2_cached_48"},
		{"vllm detailed", VLLMDetailed, mixed, "execute_98_context_2(sq50sk50sqsq1250sqsk1250)_generation_48(sq48sk24048sqsq48sqsk24048)"},
		{"vllm draft", VLLM, draft, "gpu_model_runner: draft"},
		{"vllm dummy", VLLM, dummy, ""},
		{"vllm capture", VLLM, capture, "capture_8_PIECEWISE"},
		{"sglang decode", SGLang, decode, "step[DECODE bs=32]"},
		{"sglang prefill", SGLang, prefill, "step[EXTEND bs=3 toks=5120]"},
		{"sglang mixed", SGLang, mixed, "step[MIXED bs=50]"},
		{"sglang verify", SGLang, verify, "step[TARGET_VERIFY bs=24]"},
		{"sglang draft", SGLang, draft, "step[DRAFT_EXTEND bs=24]"},
		{"sglang idle", SGLang, dummy, "step[IDLE bs=1]"},
		{"sglang capture", SGLang, capture, "capture_8_DECODE"},
		{"sglang detailed decode", SGLangDetailed, Pass{Requests: 2, KVLen: 9}, "step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=20 g_sk=20]"},
		{"sglang detailed mixed", SGLangDetailed, mixed, "step[MIXED bs=50 c=2 g=48 c_sq=50 c_sqsq=1250 c_sqsk=1250 c_sk=50 g_sq=48 g_sqsq=48 g_sqsk=24048 g_sk=24048]"},
		{"trtllm", TRTLLM, mixed, "[Executor] _forward_step 7: 2 ctx reqs, 48 gen reqs"},
		{"trtllm older", TRTLLMOlder, decode, "[Executor] _forward_step: 0 ctx reqs, 32 gen reqs"},
		{"trtllm newer", TRTLLMNewer, mixed, "[Executor] _forward_step 7: 2 ctx reqs, 48 gen reqs, 50 ctx tokens"},
		{"profiler step", ProfilerStep, decode, "ProfilerStep#7"},
		{"own label", ATOM, Pass{Label: "warm up"}, "warm up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.family.label(&tt.pass, 7)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
