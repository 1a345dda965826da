package tracelayer_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/tracelayer/tracelayer"
)

// The whole way from a file to the three positions of a layer that take longest.
func Example() {
	t, err := tracelayer.Load("testdata/traces/atom_decode.json.gz", nil)
	if err != nil {
		log.Fatal(err)
	}
	bs, err := tracelayer.DetectDecodeBS(t)
	if err != nil && !errors.Is(err, tracelayer.ErrNoDecode) {
		log.Fatal(err)
	}
	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile("pa_bf16"), nil)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := tracelayer.Summarize(s, nil)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Printf("%d decode steps, most of %d requests\n", bs.Steps, bs.Dominant)
	g := sum.Groups[0]
	fmt.Printf("%d layers of %d kernels, %.1f us each\n", g.Layers, s.KernelsPerLayer, g.TotalUS)
	longest := slices.SortedFunc(slices.Values(g.Positions), func(a, b tracelayer.Position) int {
		return cmp.Compare(b.AvgUS, a.AvgUS)
	})
	for _, p := range longest[:3] {
		fmt.Printf("%3d  %-20s %6.1f us  %4.1f%%\n", p.Pos, p.Class.Label, p.AvgUS, p.Pct)
	}
	if s.LayersPerPass > 0 && s.Alike {
		fmt.Printf("%d layers: %.2f ms\n", s.LayersPerPass, float64(s.LayersPerPass)*g.TotalUS/1e3)
	}
	// Output:
	// 41 decode steps, most of 32 requests
	// 2542 layers of 18 kernels, 411.0 us each
	//  14  MoE_GEMM (CK)         180.4 us  43.9%
	//  16  MoE_GEMM (CK)          88.5 us  21.5%
	//  17  AllReduce (custom)     17.4 us   4.2%
	// 62 layers: 25.48 ms
}

// load reads a trace of testdata.
func load(name string) *tracelayer.Trace {
	t, err := tracelayer.Load("testdata/traces/"+name, nil)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// segment cuts a trace of testdata.
func segment(name, anchor string) *tracelayer.Segments {
	s, err := tracelayer.Segment(load(name), tracelayer.AnchorProfile(anchor), nil)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func ExampleLoad() {
	t, err := tracelayer.Load("testdata/traces/sglang_decode.json.gz", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d kernels with %d names, %d copies, %d events in all\n",
		len(t.Kernels), len(t.Names), len(t.Copies), t.Counts.Events)
	fmt.Printf("rank %d of %d on %s\n", t.Metadata.Rank, t.Metadata.WorldSize, t.Metadata.Devices[0].Name)
	for _, l := range t.Lanes {
		fmt.Println(l)
	}
	k := t.Kernels[0]
	after := time.Duration(k.Start - t.Origin) // what the Perfetto UI shows
	fmt.Printf("after %v for %v: %s\n", after, k.Dur, tracelayer.Simplify(nil, t.KernelName(k)))
	// Output:
	// 321 kernels with 23 names, 9 copies, 960 events in all
	// rank 0 of 1 on NVIDIA H200
	// pid 0 device 0 stream 7
	// pid 0 device 0 stream 23
	// pid 0 device 0 stream 31
	// after 20.307737ms for 2.88µs: indexSelectSmallIndex
}

// A file that was cut off is refused, unless what comes before the cut will do.
func ExampleRead() {
	f, err := os.Open("testdata/traces/atom_tiny.json")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	cut := io.NewSectionReader(f, 0, 18_000)

	_, err = tracelayer.Read(cut, "cut.json", nil)
	if place, ok := errors.AsType[*tracelayer.SyntaxError](err); ok && errors.Is(err, tracelayer.ErrTruncated) {
		fmt.Printf("%s is cut off at byte %d in event %d\n", place.Name, place.Offset, place.Event)
	}

	cut = io.NewSectionReader(f, 0, 18_000)
	t, err := tracelayer.Read(cut, "cut.json", &tracelayer.LoadOptions{AllowTruncated: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(t.Kernels), "kernels before it, warning:", t.Warnings[0].Kind)
	// Output:
	// cut.json is cut off at byte 18000 in event 70
	// 26 kernels before it, warning: truncated
}

// Events is for what a Trace does not keep.
func ExampleEvents() {
	f, err := os.Open("testdata/traces/vllm_decode.json.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	count := map[string]int{}
	for e, err := range tracelayer.Events(f, f.Name(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Phase == "X" {
			count[e.Category]++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(count)) {
		fmt.Println(c, count[c])
	}
	// Output:
	// Trace 1
	// cpu_op 44
	// cuda_runtime 24
	// gpu_memcpy 8
	// gpu_memset 4
	// kernel 384
	// python_function 240
	// user_annotation 4
}

func ExampleDetectDecodeBS() {
	for _, name := range []string{"trtllm_mixed.json.gz", "capture_only.json.gz"} {
		bs, err := tracelayer.DetectDecodeBS(load(name))
		if errors.Is(err, tracelayer.ErrNoDecode) {
			fmt.Println(err)
			continue
		}
		for _, c := range bs.Counts {
			fmt.Printf("%d decode steps of %d requests; all steps: %v\n", c.Steps, c.BS, bs.Phases)
		}
	}
	// Output:
	// 3 decode steps of 12 requests; all steps: [{prefill 1} {decode 3} {mixed 2}]
	// no decode steps: steps by their labels: capture 4; looks like a graph-capture trace
}

// Each step comes once, although the labels of this trace stand on a CPU row
// and on a GPU row.
func ExampleSteps() {
	t := load("trtllm_mixed.json.gz")
	steps := tracelayer.Steps(t)
	fmt.Println(len(t.Annotations), "labels,", len(steps), "steps")
	for _, s := range steps {
		fmt.Printf("%-8s %2d requests, %2d of them decoding\n", s.Phase, s.Requests, s.Generation)
	}
	// Output:
	// 12 labels, 6 steps
	// prefill   3 requests,  0 of them decoding
	// mixed    12 requests, 10 of them decoding
	// mixed    12 requests, 10 of them decoding
	// decode   12 requests, 12 of them decoding
	// decode   12 requests, 12 of them decoding
	// decode   12 requests, 12 of them decoding
}

func ExampleParseLabel() {
	for _, name := range []string{
		"decode[bs=117/128 tok=117 d=117]",
		"execute_context_2(1024)_generation_30(30)",
		"step[TARGET_VERIFY bs=16]",
		"capture_64_FULL",
		"ProfilerStep#7",
	} {
		l, ok := tracelayer.ParseLabel(name)
		if !ok {
			fmt.Println(name, "is no step label")
			continue
		}
		fmt.Printf("%-6s %-7s requests %d, graph %d, tokens %d\n", l.Family, l.Phase, l.Requests, l.GraphBS, l.Tokens)
	}
	// Output:
	// atom   decode  requests 117, graph 128, tokens 117
	// vllm   mixed   requests 32, graph 0, tokens 1054
	// sglang verify  requests 16, graph 0, tokens 0
	// vllm   capture requests 0, graph 64, tokens 64
	// ProfilerStep#7 is no step label
}

// The pattern is any part of a kernel's name. Where it occurs too seldom, the
// error holds better ones.
func ExampleAnchorProfile() {
	_, err := tracelayer.Segment(load("vllm_piecewise.json.gz"), tracelayer.AnchorProfile("pa_bf16"), nil)
	if e, ok := errors.AsType[*tracelayer.SegmentError](err); ok && errors.Is(err, tracelayer.ErrNoAnchor) {
		fmt.Println(err)
		best := e.Candidates[0]
		fmt.Printf("try %s: %d times, %d kernels from one to the next\n", best.Name, best.Count, best.Between)
	}
	// Output:
	// testdata/traces/vllm_piecewise.json.gz: anchor not found often enough: 0 of 210 kernels match "pa_bf16": found 0, need at least 2
	// try kernel_unified_attention_2d: 18 times, 11 kernels from one to the next
}

// Each pass is cut into prologue, layers and epilogue. Layers may be of several
// kinds: here three dense ones come before those with experts.
func ExampleSegment() {
	t := load("eager_dense_prefix.json.gz")
	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile("flash_fwd_splitkv_mla"), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range s.Passes {
		fmt.Printf("by %s: %d kernels, then layers of", p.By, len(s.Prologue(p)))
		for _, l := range s.Layers[p.First : p.First+p.N] {
			fmt.Printf(" %d", l.Len())
		}
		fmt.Printf(", then %d kernels\n", len(s.Epilogue(p)))
	}
	fmt.Println(s.Evidence)
	// Output:
	// by step label: 1 kernels, then layers of 10 10 10 14 14 14 14 14, then 3 kernels
	// by step label: 1 kernels, then layers of 10 10 10 14 14 14 14 14, then 3 kernels
	// 8 layers in each of 2 passes, by step label
}

// The script's way: from one anchor to the next, and only the most frequent length.
func ExampleCut() {
	t := load("eager_dense_prefix.json.gz")
	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile("flash_fwd_splitkv_mla"), &tracelayer.SegmentOptions{Cut: tracelayer.CutAnchors})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d anchors, %d layers of %d kernels\n", s.Anchors, len(s.Layers), s.KernelsPerLayer)
	for _, l := range s.LeftOut {
		fmt.Printf("%d left out: %s\n", l.Layers, l.Why)
	}
	// Output:
	// 16 anchors, 8 layers of 14 kernels
	// 6 left out: 10 kernels instead of 14
	// 1 left out: 18 kernels instead of 14
	// 1 left out: last anchor: no next one closes it
}

func ExampleSegmentOptions() {
	t := load("two_devices.json.gz")
	p := tracelayer.AnchorProfile("fmhaSm100")
	_, err := tracelayer.Segment(t, p, nil)
	fmt.Println("mixed:", errors.Is(err, tracelayer.ErrMixed))

	s, err := tracelayer.Segment(t, p, &tracelayer.SegmentOptions{Device: "3", NumLayers: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d passes of %d layers\n", s.NumPasses, s.LayersPerPass)
	// Output:
	// mixed: true
	// 3 passes of 4 layers
}

// Decode passes are the default where labels tell. One phase, or some passes,
// are a choice.
func ExamplePassFilter() {
	t := load("trtllm_mixed.json.gz")
	p := tracelayer.AnchorProfile("fmhaSm100")
	for _, f := range []tracelayer.PassFilter{{}, {Phase: tracelayer.PhasePrefill}, {AllPhases: true, Skip: 1}} {
		s, err := tracelayer.Segment(t, p, &tracelayer.SegmentOptions{Passes: f})
		if err != nil {
			log.Fatal(err)
		}
		var phases []tracelayer.Phase
		for _, pass := range s.Passes {
			if pass.Out == "" {
				phases = append(phases, s.Attribution.Steps[pass.Step].Phase)
			}
		}
		fmt.Println(phases)
	}
	// Output:
	// [decode decode decode]
	// [prefill]
	// [mixed mixed decode decode decode]
}

// How long the kernels of each step run, by what leads from them to the step.
func ExampleAttribute() {
	t := load("atom_tiny.json")
	a := tracelayer.Attribute(t)
	busy := map[int32]time.Duration{}
	for i, k := range t.Kernels {
		busy[a.Step[i]] += max(k.Dur, 0)
	}
	fmt.Printf("%d kernels by GPU label, %d by launch, %d in no step\n", a.ByLabel, a.ByLaunch, a.Unplaced)
	for i, s := range a.Steps {
		fmt.Println(s.Name, busy[int32(i)])
	}
	// Output:
	// 0 kernels by GPU label, 30 by launch, 0 in no step
	// decode[bs=4 tok=4 d=4] 145.305µs
	// decode[bs=4 tok=4 d=4] 146.865µs
}

// Where the time of a pass goes. The parts and idle are the span, to the nanosecond.
func ExampleMeter_PassTimes() {
	s := segment("sglang_decode.json.gz", "flash_fwd_splitkv_mla_kernel")
	t := tracelayer.NewMeter(s.Trace, s.Profile).PassTimes(s, s.Passes[0])
	fmt.Printf("layers %v + prologue %v + epilogue %v + idle %v = %v\n", t.Layers, t.Prologue, t.Epilogue, t.Idle, t.Span)
	fmt.Println(t.Layers+t.Prologue+t.Epilogue+t.Idle == t.Span)
	// Output:
	// layers 840.544µs + prologue 2.88µs + epilogue 247.072µs + idle 38.048µs = 1.128544ms
	// true
}

// An analysis of one's own: what the slowest layer spends in communication.
func ExampleSegments_All() {
	s := segment("atom_decode.json.gz", "pa_bf16")
	comm, total := map[int]time.Duration{}, map[int]time.Duration{}
	for layer, k := range s.All() {
		if k.Dur == tracelayer.NoDur {
			continue
		}
		total[layer.Ordinal] += k.Dur
		if tracelayer.Classify(s.Profile, s.Trace.KernelName(k)).Group == "comm" {
			comm[layer.Ordinal] += k.Dur
		}
	}
	slowest := s.Layers[0].Ordinal
	for _, l := range s.Kept() {
		if total[l.Ordinal] > total[slowest] {
			slowest = l.Ordinal
		}
	}
	fmt.Printf("layer %d: %v of %v\n", slowest, comm[slowest], total[slowest])
	// Output:
	// layer 1055: 59.118µs of 519.582µs
}

func ExampleSegments_Kernels() {
	s := segment("atom_tiny.json", "pa_bf16")
	for k := range s.Kernels(s.Layers[0]) {
		fmt.Println(k.Dur, tracelayer.Simplify(nil, s.Trace.KernelName(k)))
	}
	// Output:
	// 6.239µs aiter::add_rmsnorm_quant_kernel
	// 14.439µs aiter::pa_bf16_pertokenFp8_gqa8_2tg_4w
	// 15.839µs ck::kernel_gemm_xdl_cshuffle_v3
	// 5.679µs dynamic_per_group_scaled_quant_kernel
}

// The position whose longest kernel is furthest from its median, and where that
// kernel is.
func ExampleSummarize() {
	s := segment("atom_decode.json.gz", "pa_bf16")
	sum, err := tracelayer.Summarize(s, nil)
	if err != nil {
		log.Fatal(err)
	}
	p := slices.MaxFunc(sum.Groups[0].Positions, func(a, b tracelayer.Position) int {
		return cmp.Compare(a.MaxP50, b.MaxP50)
	})
	fmt.Printf("position %d, %s: median %.1f us, maximum %.1f us (%.2f times)\n",
		p.Pos, p.Class.Label, p.P50US, p.MaxUS, p.MaxP50)
	layer := s.Layers[p.Max]
	at := s.Trace.Kernels[s.Order[int(layer.Start)+p.Pos]].Start - s.Trace.Origin
	fmt.Printf("the maximum is in layer %d, %.6f s on Perfetto's clock\n", layer.Ordinal, float64(at)/1e9)
	// Output:
	// position 7, AllReduce (custom): median 17.4 us, maximum 29.6 us (1.70 times)
	// the maximum is in layer 17, 2.595788 s on Perfetto's clock
}

func ExampleClassify() {
	for _, name := range []string{
		"_ZN5aiter31pa_bf16_pertokenFp8_gqa8_2tg_4wE",
		"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4, 16, 8, 1, 1>(int, int)",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"void somebody::new_kernel<float>(float*)",
	} {
		c := tracelayer.Classify(nil, name)
		fmt.Printf("%-16s %-17s %s\n", c.Group, c.Key, c.Label)
	}
	// Output:
	// attention        pa                PA (paged_attn)
	// gemm_bf16        gemm_skinny       GEMM_BF16 (skinny)
	// comm             allreduce_nccl    AllReduce (NCCL)
	// other            other             somebody::new_kernel
}

func ExampleSimplify() {
	fmt.Println(tracelayer.Simplify(nil, "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, 2>(int)"))
	fmt.Println(tracelayer.Simplify(nil, "_ZN7ck_tile6kentryILi1ENS_20MoeSortingKernelImplEEEvv"))
	fmt.Println(tracelayer.Simplify(nil, "a_kernel_"+strings.Repeat("x", 60)+"_bf16"))
	// Output:
	// vectorized_elementwise_kernel
	// MoeSortingKernelImpl
	// a_kernel_xxxxxxxxxxxxxxxxx…xxxxxxxx_bf16
}

func ExampleProfileSet_Infer() {
	c, err := tracelayer.ParseConfig(strings.NewReader(`{"model_type": "deepseek_v4", "num_hidden_layers": 4,
		"compress_ratios": [0, 4, 128, 4, 0], "num_hash_layers": 2}`), "config.json")
	if err != nil {
		log.Fatal(err)
	}
	p, why, err := tracelayer.Profiles().Infer(c)
	if err != nil {
		log.Fatal(err)
	}
	types, err := p.LayerTypes(c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, by %s\n", p.Name, why)
	for i, l := range types {
		fmt.Println(i, l)
	}
	// Output:
	// dsv4_csa_hca, by model_type deepseek_v4
	// 0 SWA_ONLY+HASH+FIRST
	// 1 CSA_C4+HASH
	// 2 HCA_C128
	// 3 CSA_C4+FINAL
}

func ExampleReadProfiles() {
	mine := fstest.MapFS{"mine.json": {Data: []byte(`{"schema": "tracelayer/profile/1", "name": "mine", "extends": "generic",
		"identity": [{"model_types": ["my_model"]}],
		"rules": [{"key": "my_scan", "label": "My scan", "group": "linear_attn", "base": {"any": ["my_scan"]}}]}`)}}
	set, err := tracelayer.ReadProfiles(mine, "*.json") // or os.DirFS("my/profiles")
	if err != nil {
		log.Fatal(err)
	}
	p, _ := set.Lookup("mine")
	fmt.Println(tracelayer.Classify(p, "void my_scan_kernel<4>(float*)"))
	// Output: {my_scan My scan linear_attn}
}
