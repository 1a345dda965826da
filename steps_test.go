package tracelayer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseLabel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want Label
	}{
		// ATOM.
		{"decode[bs=48]", Label{Family: "atom", Phase: PhaseDecode, Requests: 48}},
		{"decode[bs=48 tok=48 d=48]", Label{Family: "atom", Phase: PhaseDecode, Requests: 48, Tokens: 48, Generation: 48}},
		{"decode[bs=90/96 tok=90 d=90]", Label{Family: "atom", Phase: PhaseDecode, Requests: 90, GraphBS: 96, Tokens: 90, Generation: 90}},
		{"decode[bs=24 tok=72 d=24 spec=2]", Label{Family: "atom", Phase: PhaseDecode, Requests: 24, Tokens: 72, Generation: 24, Spec: 2}},
		{"decode[bs=24 spec=2 d=24 tok=72]", Label{Family: "atom", Phase: PhaseDecode, Requests: 24, Tokens: 72, Generation: 24, Spec: 2}},
		{"decode[bs=8 new=[1, 2 [3]] word tok=8]", Label{Family: "atom", Phase: PhaseDecode, Requests: 8, Tokens: 8}},
		{"decode[bs=8 tok=8 d=8 tbo=0]", Label{Family: "atom", Phase: PhaseDecode, Requests: 8, Tokens: 8, Generation: 8}},
		{"decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=99999999999999999999 sk=65536]",
			Label{Family: "atom", Phase: PhaseDecode, Requests: 32, Tokens: 128, Generation: 32, Spec: 3}},
		{"decode[bs=50 tok=98 p=2 d=48 sqsq=2402 sqsk=51200 sk=25600 tbo=1]",
			Label{Family: "atom", Phase: PhaseMixed, Requests: 50, Context: 2, Generation: 48, Tokens: 98, TBO: true}},
		{"decode[bs=2 tok=98 p=2 d=0]", Label{Family: "atom", Phase: PhasePrefill, Requests: 2, Context: 2, Tokens: 98}},
		{"decode[bs=2 tok=98 p=1]", Label{Family: "atom", Phase: PhaseMixed, Requests: 2, Context: 1, Tokens: 98}},
		{"decode[bs=0/8]", Label{Family: "atom", Phase: PhaseIdle, GraphBS: 8}},
		{"prefill[bs=1 tok=512 ctx=512]", Label{Family: "atom", Phase: PhasePrefill, Requests: 1, Tokens: 512, Ctx: "512"}},
		{"prefill[bs=3 tok=5120 ctx=[2048, 2048, 1024]]", Label{Family: "atom", Phase: PhasePrefill, Requests: 3, Tokens: 5120, Ctx: "[2048, 2048, 1024]"}},
		{"prefill[bs=7 tok=7168 ctx=[1024, 1024, 1024]...+4 sqsq=7340032 sqsk=7340032 sk=7168 tbo=1]",
			Label{Family: "atom", Phase: PhasePrefill, Requests: 7, Tokens: 7168, TBO: true, Ctx: "[1024, 1024, 1024]...+4"}},
		{"eager_decode[bs=2 tok=2 ctx=[7, 9]]", Label{Family: "atom", Phase: PhaseEager, Requests: 2, Tokens: 2, Ctx: "[7, 9]"}},
		{"eager_decode[bs=2 tok=2 d=2]", Label{Family: "atom", Phase: PhaseEager, Requests: 2, Tokens: 2, Generation: 2}},
		{"dummy_decode[bs=1 tok=1 d=1]", Label{Family: "atom", Phase: PhaseDummy, Requests: 1, Tokens: 1, Generation: 1}},
		{"dummy_decode[bs=1/8 tok=1 d=1]", Label{Family: "atom", Phase: PhaseDummy, Requests: 1, GraphBS: 8, Tokens: 1, Generation: 1}},
		{"dummy_eager_decode[bs=1 tok=1 ctx=1]", Label{Family: "atom", Phase: PhaseDummy, Requests: 1, Tokens: 1, Ctx: "1"}},
		{"dummy_prefill[bs=1 tok=16 ctx=16]", Label{Family: "atom", Phase: PhaseDummy, Requests: 1, Tokens: 16, Ctx: "16"}},
		{"draft[0/3 bs=24]", Label{Family: "atom", Phase: PhaseDraft, Requests: 24, Spec: 3}},
		{"dspark[bs=24 T=5]", Label{Family: "atom", Phase: PhaseDraft, Requests: 24, Spec: 5}},
		{"propose_eagle[1/3 tok=24 bs=24/32 (graph)]", Label{Family: "atom", Phase: PhaseDraft, Requests: 24, GraphBS: 32, Tokens: 24, Spec: 3}},
		{"propose_dspark[bs=44/44 T=4]", Label{Family: "atom", Phase: PhaseDraft, Requests: 44, GraphBS: 44, Spec: 4}},
		{"capture_graph_bs_48", Label{Family: "atom", Phase: PhaseCapture, GraphBS: 48}},

		// vLLM.
		{"execute_context_0(0)_generation_48(48)",
			Label{Family: "vllm", Phase: PhaseDecode, Requests: 48, Generation: 48, Tokens: 48, GenerationTokens: 48}},
		{"execute_context_0(0)_generation_24(72)",
			Label{Family: "vllm", Phase: PhaseDecode, Requests: 24, Generation: 24, Tokens: 72, GenerationTokens: 72}},
		{"execute_context_1(888_788544)_generation_0(0)",
			Label{Family: "vllm", Phase: PhasePrefill, Requests: 1, Context: 1, Tokens: 888, ContextTokens: 888}},
		{"execute_context_2(6144)_generation_3(3)",
			Label{Family: "vllm", Phase: PhaseMixed, Requests: 5, Context: 2, Generation: 3, Tokens: 6147, ContextTokens: 6144, GenerationTokens: 3}},
		{"execute_context_0(0)_generation_0(0)", Label{Family: "vllm", Phase: PhaseIdle}},
		{"execute_new_0_cached_16", Label{Family: "vllm", Phase: PhaseDecode, Requests: 16, Generation: 16}},
		{"execute_new_2_cached_0", Label{Family: "vllm", Phase: PhasePrefill, Requests: 2, Context: 2}},
		{"execute_new_2_cached_16", Label{Family: "vllm", Phase: PhaseMixed, Requests: 18, Context: 2, Generation: 16}},
		{"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)",
			Label{Family: "vllm", Phase: PhaseDecode, Requests: 32, Generation: 32, Tokens: 32, GenerationTokens: 32}},
		{"execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)",
			Label{Family: "vllm", Phase: PhasePrefill, Requests: 15, Context: 15, Tokens: 15360, ContextTokens: 15360}},
		{"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk344890000000)",
			Label{Family: "vllm", Phase: PhaseMixed, Requests: 46, Context: 9, Generation: 37, Tokens: 8192, ContextTokens: 8155, GenerationTokens: 37}},
		{"capture_8192_PIECEWISE", Label{Family: "vllm", Phase: PhaseCapture, Mode: "PIECEWISE", GraphBS: 8192, Tokens: 8192}},
		{"capture_32_FULL", Label{Family: "vllm", Phase: PhaseCapture, Mode: "FULL", GraphBS: 32, Tokens: 32}},
		{"capture_16_draft_FULL", Label{Family: "vllm", Phase: PhaseCapture, Mode: "draft_FULL", GraphBS: 16, Tokens: 16}},
		{"capture_256_mixed_prefill", Label{Family: "vllm", Phase: PhaseCapture, Mode: "mixed_prefill", GraphBS: 256, Tokens: 256}},

		// SGLang.
		{"step[EXTEND bs=15 toks=15360]", Label{Family: "sglang", Phase: PhasePrefill, Mode: "EXTEND", Requests: 15, Tokens: 15360}},
		{"step[DECODE bs=32]", Label{Family: "sglang", Phase: PhaseDecode, Mode: "DECODE", Requests: 32}},
		{"step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]",
			Label{Family: "sglang", Phase: PhaseDecode, Mode: "DECODE", Requests: 64, Tokens: 128, GenerationTokens: 128}},
		{"step[EXTEND bs=2 toks=14721 c_sq=14721 c_sqsq=108745533 c_sqsk=108745533 c_sk=14721]",
			Label{Family: "sglang", Phase: PhasePrefill, Mode: "EXTEND", Requests: 2, Tokens: 14721, ContextTokens: 14721}},
		{"step[MIXED bs=2]", Label{Family: "sglang", Phase: PhaseMixed, Mode: "MIXED", Requests: 2}},
		{"step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
			Label{Family: "sglang", Phase: PhaseMixed, Mode: "MIXED", Requests: 2, Context: 1, Generation: 1, Tokens: 6, ContextTokens: 5, GenerationTokens: 1}},
		{"step[TARGET_VERIFY bs=16]", Label{Family: "sglang", Phase: PhaseVerify, Mode: "TARGET_VERIFY", Requests: 16}},
		{"step[DRAFT_EXTEND bs=16]", Label{Family: "sglang", Phase: PhaseDraft, Mode: "DRAFT_EXTEND", Requests: 16}},
		{"step[DRAFT_EXTEND_V2 bs=16]", Label{Family: "sglang", Phase: PhaseDraft, Mode: "DRAFT_EXTEND_V2", Requests: 16}},
		{"step[IDLE bs=0]", Label{Family: "sglang", Phase: PhaseIdle, Mode: "IDLE"}},
		{"step[DECODE bs=0]", Label{Family: "sglang", Phase: PhaseIdle, Mode: "DECODE"}},
		{"step[SPLIT_PREFILL bs=1]", Label{Family: "sglang", Phase: PhasePrefill, Mode: "SPLIT_PREFILL", Requests: 1}},
		{"step[DLLM_EXTEND bs=3]", Label{Family: "sglang", Phase: PhaseUnknown, Mode: "DLLM_EXTEND", Requests: 3}},
		{"capture_32_DECODE", Label{Family: "sglang", Phase: PhaseCapture, Mode: "DECODE", GraphBS: 32}},

		// TensorRT-LLM.
		{"[Executor] _forward_step 17: 0 ctx reqs, 32 gen reqs", Label{Family: "trtllm", Phase: PhaseDecode, Requests: 32, Generation: 32}},
		{"[Executor] _forward_step: 2 ctx reqs, 0 gen reqs", Label{Family: "trtllm", Phase: PhasePrefill, Requests: 2, Context: 2}},
		{"_forward_step: 2 ctx reqs, 1 gen reqs", Label{Family: "trtllm", Phase: PhaseMixed, Requests: 3, Context: 2, Generation: 1}},
		{"[Executor] _forward_step 3: 2 ctx reqs, 4 gen reqs, 4096 ctx tokens",
			Label{Family: "trtllm", Phase: PhaseMixed, Requests: 6, Context: 2, Generation: 4, ContextTokens: 4096}},
		{"[Executor] _forward_step 3: 2 ctx reqs, 4096 ctx tokens, 0 gen reqs",
			Label{Family: "trtllm", Phase: PhasePrefill, Requests: 2, Context: 2, Tokens: 4096, ContextTokens: 4096}},
		{"[Executor] _forward_step 9: 0 ctx reqs, 0 gen reqs", Label{Family: "trtllm", Phase: PhaseIdle}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := ParseLabel(tt.name)
			if !ok {
				t.Fatal("not understood")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestParseLabelRejects(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "[", "]", "[]", "decode", "decode[", "decode[]", "decode[bs=]", "decode[bs=4", "decode[bs=4]x", "decode[bs=4]]",
		"xdecode[bs=4]", "Decode[bs=4]", "[Decode bs=4]", "decode[tok=4]", "decode[bs=-4]", "decode[bs=4.0]", "decode[bs=4/]",
		"decode[bs=/8]", "decode[bs=9/8]", "decode[bs=4 bs=4]", "decode[bs=4 tok=x]", "decode[bs=4 tok=4 tok=5]",
		"decode[bs=4 ctx=[1]", "decode[bs=4 ctx=1]]", "decode[bs=99999999999999999999]", "decode[bs=1073741824]",
		"prefill[bs=4 tok=18446744073709551616]", "decode[bs=٤]", "decode [bs=4]",
		"draft[bs=4]", "draft[1/ bs=4]", "draft[x/2 bs=4]", "draft[]", "draft_kv[bs=4 tok=4]", "dspark_sched[bs=4]",
		"MoE[experts=8, tokens=512, topk=2, hidden=1024, intermediate=2048]",
		"capture_", "capture_graph_bs_", "capture_graph_bs_x", "capture_graph_bs_8_extra", "capture_8", "capture_8_", "capture_8_A B",
		"capture_99999999999_FULL", "capture_8_1", "_dummy_run", "ProfilerStep#3",
		"execute_", "execute_context_", "execute_context_1(2)", "execute_context_1(2)_generation_", "execute_context_1(2)_generation_3",
		"execute_context_1(2)_generation_3(4", "execute_context_1(2)_generation_3(4)x", "execute_context_1()_generation_3(4)",
		"execute_context_1(2_)_generation_3(4)", "execute_context_1(2_3_4)_generation_3(4)",
		"execute_context_99999999999(2)_generation_3(4)", "execute_context_1(2)_generation_3(99999999999)",
		"execute_new_1", "execute_new_1_cached_", "execute_new__cached_1", "execute_x_context_1(2)_generation_3(4)",
		"execute_5_context_1(sk2)_generation_3(sq4)", "execute_5_context_1(sq)_generation_3(sq4)", "execute_5_context_1(sq2sq2)_generation_3(sq4)",
		"execute_5_context_1(sq2xx9)_generation_3(sq4)", "execute_5_context_1(sq2sqsk9999999999999999999)_generation_3(sq4)",
		"execute_diffusion_1_0x0", "execute_diffusion_2_1024x1024", "gpu_model_runner: forward",
		"step[]", "step[DECODE]", "step[decode bs=4]", "step[DECODE bs=x]", "step[ bs=4]", "step[bs=4]", "step[DECODE bs=4", "step[1A bs=4]",
		"steps[DECODE bs=4]", "step[DECODE bs=4] more", "step[ſ bs=4]",
		"_forward_step", "_forward_step: ", "[Executor] _forward_step 1 0 ctx reqs, 2 gen reqs", "[Executor] _forward_step : 0 ctx reqs, 2 gen reqs",
		"[Executor] _forward_step x: 0 ctx reqs, 2 gen reqs", "[Executor] _forward_step: 2 gen reqs", "[Executor] _forward_step: 3 mm reqs",
		"[Executor] _forward_step: 0 ctx reqs, 2 gen reqs, 2 gen reqs", "[Executor] _forward_step: 0 ctx reqs, -2 gen reqs",
		"[Executor] _forward_step: 0 ctx reqs,2 gen reqs", "[Executor] _sample",
	} {
		if got, ok := ParseLabel(name); ok || got != (Label{}) {
			t.Errorf("%q: got %+v, %v; want nothing", name, got, ok)
		}
	}
}

func TestPhaseString(t *testing.T) {
	t.Parallel()
	var got []string
	for p := PhaseUnknown - 1; p <= PhaseIdle+1; p++ {
		got = append(got, p.String())
	}
	want := []string{"phase(-1)", "unknown", "prefill", "decode", "mixed", "draft", "verify", "dummy", "eager", "capture", "idle", "phase(10)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// cpuLabel is a label of thread 1 without an id, gpuLabel one of a stream.
func cpuLabel(name string, start, dur int64) Annotation {
	return Annotation{Name: name, Start: Time(start), Dur: time.Duration(dur), PID: "42", TID: "1", ExternalID: -1}
}

func gpuLabel(name string, start, dur int64, stream string) Annotation {
	return Annotation{Name: name, Start: Time(start), Dur: time.Duration(dur), PID: "0", TID: stream, GPU: true, ExternalID: -1}
}

func (a Annotation) id(id int64) Annotation { a.ExternalID = id; return a }

func (a Annotation) pid(pid string) Annotation { a.PID = pid; return a }

func (a Annotation) tid(tid string) Annotation { a.TID = tid; return a }

// labelTrace is a trace of labels, sorted as Load sorts them.
func labelTrace(labels ...Annotation) *Trace {
	slices.SortStableFunc(labels, func(a, b Annotation) int { return int(a.Start - b.Start) })
	return &Trace{Annotations: labels}
}

// describeSteps is one line a step: phase, requests, time, labels seen.
func describeSteps(steps []Step) []string {
	var lines []string
	for _, s := range steps {
		line := fmt.Sprintf("%s %d @%d+%d cpu%v gpu%v", s.Phase, s.Requests, s.Start, int64(s.Dur), s.Seen.CPU, s.Seen.GPU)
		if s.ByOrder {
			line += " by order"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSteps(t *testing.T) {
	t.Parallel()
	const (
		atom4  = "decode[bs=4 tok=4 d=4]"
		vllm4  = "execute_context_0(0)_generation_4(4)"
		sgl4   = "step[DECODE bs=4]"
		draft  = "draft[0/1 bs=4]"
		sglang = "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk9sqsq4sqsk9)"
	)
	for _, tt := range []struct {
		name  string
		trace *Trace
		want  []string
	}{
		{"no labels", labelTrace(), nil},
		{"labels of other work", labelTrace(cpuLabel("nccl:all_reduce", 1, 2), cpuLabel("ProfilerStep#1", 1, 2)), nil},
		{"two steps", labelTrace(cpuLabel(atom4, 0, 5), cpuLabel(atom4, 5, 5)),
			[]string{"decode 4 @0+5 cpu[0] gpu[]", "decode 4 @5+5 cpu[1] gpu[]"}},
		{"same id, once per stream", labelTrace(
			cpuLabel(atom4, 0, 5).id(7), gpuLabel(atom4, 20, 5, "2").id(7), gpuLabel(atom4, 30, 5, "3").id(7)),
			[]string{"decode 4 @0+5 cpu[0] gpu[1 2]"}},
		{"same id, another name", labelTrace(cpuLabel(atom4, 0, 5).id(7), cpuLabel("decode[bs=5]", 6, 5).id(7)),
			[]string{"decode 4 @0+5 cpu[0] gpu[]", "decode 5 @6+5 cpu[1] gpu[]"}},
		{"an id used for everything", labelTrace(
			cpuLabel(atom4, 0, 5).id(0), cpuLabel(atom4, 5, 5).id(0), gpuLabel(atom4, 20, 5, "2").id(0), gpuLabel(atom4, 30, 5, "2").id(0)),
			[]string{"decode 4 @0+5 cpu[0] gpu[2]", "decode 4 @5+5 cpu[1] gpu[3]"}},
		{"an id that comes again on the GPU row only", labelTrace(
			cpuLabel(atom4, 0, 5).id(7), gpuLabel(atom4, 20, 5, "2").id(7), gpuLabel(atom4, 30, 5, "2").id(7)),
			[]string{"decode 4 @0+5 cpu[0] gpu[1 2]"}},
		{"ids of two processes", labelTrace(
			cpuLabel(atom4, 0, 5).id(7), cpuLabel(atom4, 1, 5).id(7).pid("43"), gpuLabel(atom4, 20, 5, "2").id(7)),
			[]string{"decode 4 @0+5 cpu[0] gpu[2]", "decode 4 @1+5 cpu[1] gpu[]"}},
		{"merged ranks", labelTrace(
			cpuLabel(atom4, 0, 5).id(7).pid("[TP00] 42"), cpuLabel(atom4, 0, 5).id(7).pid("[TP01] 42"),
			gpuLabel(atom4, 20, 5, "2").id(7).pid("[TP01] 0"), gpuLabel(atom4, 21, 5, "2").id(7).pid("[TP00] 0")),
			[]string{"decode 4 @0+5 cpu[0] gpu[3]", "decode 4 @0+5 cpu[1] gpu[2]"}},
		{"a lost GPU copy", labelTrace(cpuLabel(atom4, 0, 5).id(7), cpuLabel(atom4, 5, 5).id(8), gpuLabel(atom4, 20, 5, "2").id(8)),
			[]string{"decode 4 @0+5 cpu[0] gpu[]", "decode 4 @5+5 cpu[1] gpu[2]"}},
		{"a lost CPU copy", labelTrace(
			cpuLabel(atom4, 0, 5).id(7), cpuLabel(atom4, 30, 5).id(8), gpuLabel(atom4, 2, 5, "2").id(6), gpuLabel(atom4, 20, 5, "2").id(7)),
			[]string{"decode 4 @0+5 cpu[0] gpu[2]", "decode 4 @2+5 cpu[] gpu[1]", "decode 4 @30+5 cpu[3] gpu[]"}},
		{"rows numbered apart", labelTrace(
			cpuLabel(atom4, 0, 5).id(51), cpuLabel(atom4, 5, 5).id(106), gpuLabel(atom4, 20, 5, "2").id(234), gpuLabel(atom4, 30, 5, "2").id(289)),
			[]string{"decode 4 @0+5 cpu[0] gpu[2] by order", "decode 4 @5+5 cpu[1] gpu[3] by order"}},
		{"no ids: two CPU, one GPU", labelTrace(cpuLabel(atom4, 0, 5), cpuLabel(atom4, 5, 5), gpuLabel(atom4, 20, 5, "2")),
			[]string{"decode 4 @0+5 cpu[0] gpu[2] by order", "decode 4 @5+5 cpu[1] gpu[]"}},
		{"no ids: one CPU, two GPU", labelTrace(cpuLabel(atom4, 25, 5), gpuLabel(atom4, 20, 5, "2"), gpuLabel(atom4, 26, 5, "2")),
			[]string{"decode 4 @25+5 cpu[1] gpu[0] by order", "decode 4 @26+5 cpu[] gpu[2]"}},
		{"no ids: streams overlap", labelTrace(
			gpuLabel(atom4, 0, 10, "2"), gpuLabel(atom4, 1, 12, "3"), gpuLabel(atom4, 11, 9, "2"), gpuLabel(atom4, 13, 9, "3"),
			gpuLabel(atom4, 30, 5, "2"), gpuLabel(atom4, 40, 5, "3")),
			[]string{"decode 4 @0+13 cpu[] gpu[0 1]", "decode 4 @11+11 cpu[] gpu[2 3]", "decode 4 @30+5 cpu[] gpu[4]", "decode 4 @40+5 cpu[] gpu[5]"}},
		{"no usable duration", labelTrace(cpuLabel(atom4, 0, -1), gpuLabel(atom4, 9, -1, "2"), gpuLabel(atom4, 9, -1, "3")),
			[]string{"decode 4 @0+-1 cpu[0] gpu[1 2] by order"}},
		{"two families nested", labelTrace(cpuLabel(sglang, 0, 10), cpuLabel(sgl4, 2, 6)),
			[]string{"decode 4 @2+6 cpu[0 1] gpu[]"}},
		{"two families, equal times", labelTrace(cpuLabel(vllm4, 0, 10), cpuLabel(atom4, 0, 10)),
			[]string{"decode 4 @0+10 cpu[0 1] gpu[]"}},
		{"inner comes first in the file", labelTrace(cpuLabel(atom4, 0, 5), cpuLabel(vllm4, 0, 10)),
			[]string{"decode 4 @0+5 cpu[0 1] gpu[]"}},
		{"nested on the GPU row only", labelTrace(gpuLabel(vllm4, 0, 10, "2"), gpuLabel(vllm4, 0, 3, "3"), gpuLabel(atom4, 1, 5, "2")),
			[]string{"decode 4 @1+5 cpu[] gpu[0 1 2]"}},
		{"one after the other", labelTrace(cpuLabel(vllm4, 0, 10), cpuLabel(atom4, 10, 10)),
			[]string{"decode 4 @0+10 cpu[0] gpu[]", "decode 4 @10+10 cpu[1] gpu[]"}},
		{"crossing", labelTrace(cpuLabel(vllm4, 0, 10), cpuLabel(atom4, 5, 10)),
			[]string{"decode 4 @0+10 cpu[0] gpu[]", "decode 4 @5+10 cpu[1] gpu[]"}},
		{"other thread", labelTrace(cpuLabel(vllm4, 0, 10), cpuLabel(atom4, 2, 6).tid("2")),
			[]string{"decode 4 @0+10 cpu[0] gpu[]", "decode 4 @2+6 cpu[1] gpu[]"}},
		{"GPU time against CPU time", labelTrace(cpuLabel(vllm4, 0, 10), gpuLabel(atom4, 2, 6, "1").pid("42")),
			[]string{"decode 4 @0+10 cpu[0] gpu[]", "decode 4 @2+6 cpu[] gpu[1]"}},
		{"three families", labelTrace(cpuLabel("[Executor] _forward_step 1: 0 ctx reqs, 4 gen reqs", 0, 20), cpuLabel(vllm4, 1, 10), cpuLabel(atom4, 2, 6)),
			[]string{"decode 4 @2+6 cpu[0 1 2] gpu[]"}},
		{"two steps in one outer label", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel(sgl4, 1, 5), cpuLabel(sgl4, 7, 5)),
			[]string{"decode 4 @1+5 cpu[0 1] gpu[]", "decode 4 @7+5 cpu[2] gpu[]"}},
		{"CPU and GPU rows disagree on nesting", labelTrace( // the GPU row must not make one step of two
			cpuLabel(vllm4, 0, 10).id(1), cpuLabel(sgl4, 1, 5).id(2), cpuLabel(vllm4, 10, 10).id(3), cpuLabel(sgl4, 11, 5).id(4),
			gpuLabel(vllm4, 30, 30, "2").id(1), gpuLabel(sgl4, 35, 5, "2").id(2), gpuLabel(sgl4, 45, 5, "2").id(4)),
			[]string{"decode 4 @1+5 cpu[0 1] gpu[4 5]", "decode 4 @11+5 cpu[2 3] gpu[6]"}},
		{"draft in its own family", labelTrace(cpuLabel(atom4, 0, 10), cpuLabel(draft, 6, 3)),
			[]string{"decode 4 @0+10 cpu[0] gpu[]", "draft 4 @6+3 cpu[1] gpu[]"}},
		{"draft and step in another family", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel(draft, 1, 2), cpuLabel(atom4, 5, 10), cpuLabel(draft, 9, 3)),
			[]string{"draft 4 @1+2 cpu[1] gpu[]", "decode 4 @5+10 cpu[0 2] gpu[]", "draft 4 @9+3 cpu[3] gpu[]"}},
		{"one draft alone in another family", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel(draft, 1, 2)),
			[]string{"draft 4 @1+2 cpu[0 1] gpu[]"}},
		{"drafts alone in another family", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel(draft, 1, 2), cpuLabel(draft, 5, 2)),
			[]string{"decode 4 @0+20 cpu[0] gpu[]", "draft 4 @1+2 cpu[1] gpu[]", "draft 4 @5+2 cpu[2] gpu[]"}},
		{"a dummy in a decode label", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel("dummy_decode[bs=1]", 1, 2)),
			[]string{"dummy 1 @1+2 cpu[0 1] gpu[]"}},
		{"a decode label in a dummy", labelTrace(cpuLabel("dummy_decode[bs=1]", 0, 20), cpuLabel(vllm4, 1, 2)),
			[]string{"dummy 4 @1+2 cpu[0 1] gpu[]"}},
		{"disagreement", labelTrace(cpuLabel("execute_context_1(9)_generation_3(3)", 0, 20), cpuLabel(sgl4, 1, 2)),
			[]string{"decode 4 @1+2 cpu[0 1] gpu[]"}},
		{"unknown mode in a decode label", labelTrace(cpuLabel(vllm4, 0, 20), cpuLabel("step[PREBUILT bs=4]", 1, 2)),
			[]string{"decode 4 @1+2 cpu[0 1] gpu[]"}},
		{"warm-up in a capture", labelTrace(
			cpuLabel("capture_32_DECODE", 0, 20), cpuLabel(sgl4, 1, 5), cpuLabel(sgl4, 7, 5), cpuLabel("decode[bs=4]", 8, 2), cpuLabel(sgl4, 20, 5)),
			[]string{"capture 0 @0+20 cpu[0 1 2 3] gpu[]", "decode 4 @20+5 cpu[4] gpu[]"}},
		{"capture in a capture", labelTrace(cpuLabel("capture_graph_bs_8", 0, 20), cpuLabel("capture_graph_bs_4", 1, 5), cpuLabel("capture_4_FULL", 2, 3)),
			[]string{"capture 0 @0+20 cpu[0] gpu[]", "capture 0 @1+5 cpu[1 2] gpu[]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, describeSteps(Steps(tt.trace))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestStepsMergesNumbers(t *testing.T) {
	t.Parallel()
	got := Steps(labelTrace(
		cpuLabel("execute_context_0(0)_generation_90(270)", 0, 20), cpuLabel("decode[bs=90/96 spec=2]", 1, 18)))
	want := []Step{{
		Label: Label{Family: FamilyATOM, Phase: PhaseDecode, Requests: 90, Generation: 90, GraphBS: 96,
			Tokens: 270, GenerationTokens: 270, Spec: 2},
		Name: "decode[bs=90/96 spec=2]", Start: 1, Dur: 18, Seen: Seen{CPU: []int{0, 1}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// One decode step as SGLang with sums of lengths shows it on an MI300X: five
// labels, two families, two streams.
func TestStepsFiveLabelsOfOneStep(t *testing.T) {
	t.Parallel()
	const outer = "execute_16_context_0(sq0sk0sqsq0sqsk0)_generation_16(sq16sk8193sqsq16sqsk8193)"
	tr := labelTrace(
		cpuLabel(outer, 100863, 3039468).id(97), cpuLabel("step[DECODE bs=16]", 865155, 2039025).id(104),
		gpuLabel(outer, 985438, 2693047, "2").id(97), gpuLabel(outer, 665351, 12130871, "3").id(97),
		gpuLabel("step[DECODE bs=16]", 1257912, 11471990, "3").id(104))
	steps := Steps(tr)
	if len(steps) != 1 {
		t.Fatalf("got %d steps, want 1: %v", len(steps), describeSteps(steps))
	}
	if got, want := steps[0].Tokens, 16; got != want {
		t.Errorf("tokens: got %d, want %d from the outer label", got, want)
	}
	d, err := DetectDecodeBS(tr)
	want := DecodeBS{Dominant: 16, Counts: []BSCount{{BS: 16, Steps: 1}}, Steps: 1, Phases: []PhaseCount{{PhaseDecode, 1}}}
	if diff := cmp.Diff(want, d); diff != "" || err != nil {
		t.Errorf("%v; want -, got +:\n%s", err, diff)
	}
}

// labelRun is labels of one thread, one after the other.
func labelRun(start int64, counts ...any) []Annotation {
	var labels []Annotation
	for i := 0; i < len(counts); i += 2 {
		for range counts[i+1].(int) {
			labels = append(labels, cpuLabel(counts[i].(string), start, 40))
			start += 50
		}
	}
	return labels
}

func TestDetectDecodeBS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		trace *Trace
		want  DecodeBS
	}{
		{"ATOM annotations", // every ATOM form in one trace; capture labels outnumber all others
			labelTrace(labelRun(1000,
				"decode[bs=48 tok=48 d=48]", 5, "decode[bs=48]", 1, "decode[bs=90/96 tok=90 d=90]", 4, "decode[bs=24 tok=72 d=24 spec=2]", 3,
				"prefill[bs=3 tok=5120 ctx=[2048, 2048, 1024]]", 2,
				"prefill[bs=7 tok=7168 ctx=[1024, 1024, 1024]...+4 sqsq=7340032 sqsk=7340032 sk=7168 tbo=1]", 1,
				"decode[bs=50 tok=98 p=2 d=48 sqsq=2402 sqsk=51200 sk=25600 tbo=1]", 1, "capture_graph_bs_48", 9, "eager_decode[bs=2 tok=2 d=2]", 1)...),
			DecodeBS{Dominant: 48, Steps: 13, Counts: []BSCount{{BS: 48, Steps: 6}, {BS: 90, Steps: 4, GraphBS: 96}, {BS: 24, Steps: 3}},
				Phases: []PhaseCount{{PhasePrefill, 3}, {PhaseDecode, 13}, {PhaseMixed, 1}, {PhaseEager, 1}, {PhaseCapture, 9}}}},
		{"verification is counted by requests, not tokens",
			labelTrace(labelRun(0, "decode[bs=24 tok=72 d=24 spec=2]", 3, "draft[0/2 bs=24]", 9, "step[TARGET_VERIFY bs=72]", 4)...),
			DecodeBS{Dominant: 24, Steps: 3, Counts: []BSCount{{BS: 24, Steps: 3}},
				Phases: []PhaseCount{{PhaseDecode, 3}, {PhaseDraft, 9}, {PhaseVerify, 4}}}},
		{"a tie goes to the first seen",
			labelTrace(labelRun(0, "decode[bs=1]", 1, "decode[bs=64]", 2, "decode[bs=8]", 2, "decode[bs=2]", 1)...),
			DecodeBS{Dominant: 64, Steps: 6, Counts: []BSCount{{BS: 64, Steps: 2}, {BS: 8, Steps: 2}, {BS: 1, Steps: 1}, {BS: 2, Steps: 1}},
				Phases: []PhaseCount{{PhaseDecode, 6}}}},
		{"graphs of two sizes", // neither stands for all steps
			labelTrace(labelRun(0, "decode[bs=90/96]", 1, "decode[bs=90/128]", 1, "decode[bs=90/96]", 1)...),
			DecodeBS{Dominant: 90, Steps: 3, Counts: []BSCount{{BS: 90, Steps: 3}}, Phases: []PhaseCount{{PhaseDecode, 3}}}},
		{"copies do not shift the count", // three times two labels against four single ones
			labelTrace(append(labelRun(0, "decode[bs=8]", 3, "decode[bs=4]", 4),
				gpuLabel("decode[bs=8]", 900, 5, "7"), gpuLabel("decode[bs=8]", 910, 5, "7"), gpuLabel("decode[bs=8]", 920, 5, "7"))...),
			DecodeBS{Dominant: 4, Steps: 7, Counts: []BSCount{{BS: 4, Steps: 4}, {BS: 8, Steps: 3}}, Phases: []PhaseCount{{PhaseDecode, 7}}}},
		{"unknown labels are listed",
			labelTrace(labelRun(0, "a", 1, "decode[bs=8]", 1, "decode[bs=x]", 2, "step[NEW bs=3]", 1)...),
			DecodeBS{Dominant: 8, Steps: 1, Counts: []BSCount{{BS: 8, Steps: 1}},
				Phases: []PhaseCount{{PhaseUnknown, 1}, {PhaseDecode, 1}}, Unknown: []LabelCount{{"decode[bs=x]", 2}, {"a", 1}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := DetectDecodeBS(tt.trace)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v; want -, got +:\n%s", err, diff)
			}
		})
	}
}

func TestDetectDecodeBSNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trace *Trace
		want  []string // parts of the message
	}{
		{labelTrace(), []string{"no labels"}},
		{labelTrace(labelRun(0, "nccl:all_reduce", 3, "_dummy_run", 1)...), []string{"no step labels", "other labels: 4", `"nccl:all_reduce" (3)`}},
		{labelTrace(labelRun(0, "capture_graph_bs_8", 2, "capture_graph_bs_4", 1, "_dummy_run", 1)...),
			[]string{"capture 3", "other labels: 1", "looks like a graph-capture trace"}},
		{labelTrace(labelRun(0, "prefill[bs=1]", 2, "eager_decode[bs=1]", 3, "dummy_decode[bs=8]", 4, "draft[0/1 bs=8]", 5,
			"step[TARGET_VERIFY bs=8]", 6, "step[IDLE bs=0]", 7, "execute_context_1(9)_generation_3(3)", 8, "step[NEW bs=1]", 9)...),
			[]string{"unknown 9", "prefill 2", "mixed 8", "draft 5", "verify 6", "dummy 4", "eager 3", "idle 7"}},
	} {
		d, err := DetectDecodeBS(tt.trace)
		if !errors.Is(err, ErrNoDecode) {
			t.Fatalf("got error %v, want ErrNoDecode", err)
		}
		if d.Dominant != 0 || d.Steps != 0 || d.Counts != nil {
			t.Errorf("got %+v, want no decode size", d)
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q", err, part)
			}
		}
	}
}

// Whatever the labels are, each belongs to exactly one step.
func TestStepsPartition(t *testing.T) {
	t.Parallel()
	names := []string{"decode[bs=4]", "decode[bs=8/16]", "draft[0/1 bs=4]", "capture_4_FULL", "step[DECODE bs=4]", "step[TARGET_VERIFY bs=4]",
		"execute_context_0(0)_generation_4(4)", "[Executor] _forward_step: 0 ctx reqs, 4 gen reqs", "other"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var labels []Annotation
		for range rnd.IntN(24) {
			a := Annotation{
				Name: names[rnd.IntN(len(names))], Start: Time(rnd.IntN(40)), Dur: time.Duration(rnd.IntN(30) - 1),
				PID: []string{"1", "[TP00] 1", "[TP01] 1"}[rnd.IntN(3)], TID: []string{"1", "2"}[rnd.IntN(2)],
				GPU: rnd.IntN(2) == 0, ExternalID: int64(rnd.IntN(6)) - 1,
			}
			labels = append(labels, a)
		}
		checkPartition(t, labelTrace(labels...))
	}
}

func checkPartition(t *testing.T, tr *Trace) {
	t.Helper()
	times := make([]int, len(tr.Annotations))
	last := Time(-1 << 62)
	for _, s := range Steps(tr) {
		if s.Start < last {
			t.Errorf("steps are not in order of start: %d after %d", s.Start, last)
		}
		last = s.Start
		for gpu, where := range [][]int{s.Seen.CPU, s.Seen.GPU} {
			if !slices.IsSorted(where) {
				t.Errorf("seen at %v: not sorted", where)
			}
			for _, i := range where {
				times[i]++
				if tr.Annotations[i].GPU != (gpu == 1) {
					t.Errorf("label %d is on the other kind of row", i)
				}
			}
		}
	}
	for i, n := range times {
		want := 0
		if _, ok := ParseLabel(tr.Annotations[i].Name); ok {
			want = 1
		}
		if n != want {
			t.Fatalf("label %d is in %d steps, want %d: %+v", i, n, want, tr.Annotations)
		}
	}
}

// Deep nesting and a great many streams must not take time by the square.
func TestStepsDeep(t *testing.T) {
	t.Parallel()
	const n = 50_000
	var labels []Annotation
	for i := range int64(n) {
		labels = append(labels, cpuLabel("decode[bs=4]", i, 2*n-2*i), gpuLabel("decode[bs=8]", i, 2*n, fmt.Sprint(i)))
	}
	labels = append(labels, cpuLabel("step[DECODE bs=4]", n, 0))
	steps := Steps(labelTrace(labels...))
	if got, want := len(steps), n+1; got != want {
		t.Errorf("got %d steps, want %d", got, want)
	}
}

func FuzzParseLabel(f *testing.F) {
	for _, s := range []string{
		"decode[bs=90/96 tok=90 p=2 d=88 spec=2 sqsq=1 tbo=1]", "prefill[bs=7 tok=7168 ctx=[1024, 1024, 1024]...+4]", "draft[0/3 bs=24]",
		"dspark[bs=24 T=5]", "capture_graph_bs_48", "capture_8192_PIECEWISE", "execute_new_2_cached_16",
		"execute_context_1(888_788544)_generation_0(0)", "execute_9_context_1(sq8sk9sqsq64sqsk72)_generation_1(sq1sk2sqsq1sqsk2)",
		"step[MIXED bs=2 c=1 g=1 c_sq=5 g_sq=1]", "[Executor] _forward_step 3: 2 ctx reqs, 4 gen reqs, 4096 ctx tokens",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		l, ok := ParseLabel(name)
		if !ok {
			if l != (Label{}) {
				t.Errorf("%q: not understood, yet %+v", name, l)
			}
			return
		}
		for _, n := range []int{l.Requests, l.Context, l.Generation, l.GraphBS, l.Tokens, l.ContextTokens, l.GenerationTokens, l.Spec} {
			if n < 0 {
				t.Errorf("%q: negative number in %+v", name, l)
			}
		}
		if l.Family == "" || l.Phase == PhaseDecode && l.Requests == 0 {
			t.Errorf("%q: incomplete %+v", name, l)
		}
		if l.GraphBS > 0 && l.Phase != PhaseCapture && l.GraphBS < l.Requests {
			t.Errorf("%q: graph smaller than its batch in %+v", name, l)
		}
		// The whole name counts, not a part of it.
		if _, ok := ParseLabel("x" + name); ok {
			t.Errorf("%q is understood with an x before it", name)
		}
	})
}

func BenchmarkSteps(b *testing.B) {
	var labels []Annotation
	for i := range int64(20_000) {
		name := fmt.Sprintf("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk%dsqsq32sqsk%d)", i, i)
		labels = append(labels,
			cpuLabel(name, 100*i, 90).id(2*i), cpuLabel("step[DECODE bs=32]", 100*i+5, 80).id(2*i+1),
			gpuLabel(name, 100*i+50, 90, "2").id(2*i), gpuLabel(name, 100*i+52, 90, "3").id(2*i),
			gpuLabel("step[DECODE bs=32]", 100*i+55, 80, "2").id(2*i+1))
	}
	tr := labelTrace(labels...)
	b.ReportAllocs()
	for b.Loop() {
		Steps(tr)
	}
	b.ReportMetric(float64(len(labels))*float64(b.N)/b.Elapsed().Seconds(), "labels/s")
}
