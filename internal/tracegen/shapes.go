package tracegen

import (
	"slices"
	"time"
)

// A Shape is a Spec with a name.
type Shape struct {
	Name string
	Doc  string // one line
	// File is the file's name below testdata/traces, "" if it is too big to keep.
	File string
	Spec func() Spec
}

// Shapes returns the named shapes, those of testdata first.
func Shapes() []Shape { return slices.Clone(shapes) }

// Lookup finds a shape by name.
func Lookup(name string) (Shape, bool) {
	i := slices.IndexFunc(shapes, func(s Shape) bool { return s.Name == name })
	if i < 0 {
		return Shape{}, false
	}
	return shapes[i], true
}

var shapes = []Shape{
	{"atom_decode", "ATOM on AMD: 2 s warm-up, 3 eager prefills, then 41 graph decode steps of 62 layers at bs=32", "atom_decode.json.gz", atomDecode},
	{"atom_tiny", "ATOM on AMD: 2 graph decode steps of 3 layers of 4 kernels; plain, for truncation at every byte", "atom_tiny.json", atomTiny},
	{"vllm_decode", "vLLM on NVIDIA: 4 full-graph decode steps of 8 layers that alternate sliding (11 kernels) and full (12); graph padded 29/32", "vllm_decode.json.gz", vllmDecode},
	{"vllm_piecewise", "vLLM on AMD: 3 mixed steps, piecewise graphs with attention launched between the pieces, detailed labels", "vllm_piecewise.json.gz", vllmPiecewise},
	{"sglang_decode", "SGLang on NVIDIA: two label families nested, on CPU and GPU rows, kernels 19 ms late; dispatch and combine on a side stream in every layer, a stray in layer 2", "sglang_decode.json.gz", sglangDecode},
	{"trtllm_mixed", "TensorRT-LLM on NVIDIA: 1 prefill, 2 mixed and 3 decode steps of 3 layers; labels on CPU and GPU rows, kernels overlap in time", "trtllm_mixed.json.gz", trtllmMixed},
	{"eager_dense_prefix", "SGLang on NVIDIA: 2 eager prefills of 8 layers, 3 dense (10 kernels) then 5 MoE (14)", "eager_dense_prefix.json.gz", eagerDensePrefix},
	{"spec_decode", "ATOM on AMD: 4 rounds of 2 draft steps (1 layer) and a verify step (4 layers) that share the attention kernel, and a dummy step", "spec_decode.json.gz", specDecode},
	{"two_batches", "ATOM on AMD: 2 decode steps whose 2 micro-batches interleave, tbo=1", "two_batches.json.gz", twoBatches},
	{"capture_only", "vLLM on AMD: graphs being captured for 4 sizes; fill kernels only", "capture_only.json.gz", captureOnly},
	{"no_kernels", "ATOM on AMD: 3 decode steps with labels and launch calls, but no kernel was recorded", "no_kernels.json.gz", noKernels},
	{"metadata_only", "no event but names of rows", "metadata_only.json.gz", metadataOnly},
	{"two_devices", "vLLM on NVIDIA: one process that runs each of 3 decode steps on devices 2 and 3", "two_devices.json.gz", twoDevices},
	{"two_ranks_merged", "SGLang on NVIDIA: two ranks in one file, pids are strings, correlation ids and devices of the ranks coincide", "two_ranks_merged.json.gz", twoRanksMerged},
	{"cut_pass", "SGLang on NVIDIA: recording begins within layer 2 of the first of 3 decode steps; kernels not in order of time", "cut_pass.json.gz", cutPass},
	{"kernels", "benchmark: mostly kernels of graph decode steps, about 620 bytes of file a kernel", "", kernelsShape},
	{"python", "benchmark: mostly Python stacks", "", pythonShape},
}

// attention half, then MLP, of a dense layer on NVIDIA; 11 kernels plus extra.
func denseNV(kind, norm, attention string, extra ...Kernel) *Kind {
	ks := []Kernel{kern(norm, 31), kern(nvjet(64, 8, 16), 127), kern(ropeNV, 23), kern(storeNV, 19), kern(attention, 186)}
	ks = append(ks, extra...)
	ks = append(ks, kern(nvjet(128, 16, 8), 94), kern(reduceNV, 121), kern(normNV, 31), kern(nvjet(64, 32, 16), 207), kern(siluNV, 26), kern(nvjet(128, 8, 11), 128))
	return &Kind{Name: kind, Kernels: ks}
}

func tailNV() []Kernel {
	return []Kernel{kern(normNV, 31), eager(nvjet(128, 256, 6), 2310), eager(argmaxNV, 113), eager(copyOut, 16)}
}

func headNV() []Kernel { return []Kernel{eager(copyIn, 12), eager(setZero, 8), kern(embedNV, 29)} }

func vllmDecode() Spec {
	sliding := denseNV("sliding", normNV, slidingNV)
	full := denseNV("full", normNV, fullNV, kern("reduce_segments", 41))
	return Spec{
		Seed: 2, Labels: []Family{VLLM}, Noise: Noise{Python: 60, Ops: 6},
		Passes: []Pass{{
			Requests: 29, Graph: 32, Launch: FullGraph, Layers: Cycle(8, sliding, full), Repeat: 4,
			Prologue: headNV(), Epilogue: tailNV(),
		}},
	}
}

func vllmPiecewise() Spec {
	layer := &Kind{Name: "layer", Kernels: []Kernel{
		kern(normAMD, 71), kern(tensile(64, 64, 64), 312), kern(ropeAMD, 58), eager(cacheAMD, 49), eager("kernel_unified_attention_2d", 1329),
		kern(tensile(64, 128, 64), 241), kern(normAMD, 71), kern(tensile(16, 16, 256), 55), kern("_topk_forward", 62),
		kern("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", 2140), kern("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", 1093),
	}}
	return Spec{
		Seed: 3, Vendor: AMD, Labels: []Family{VLLMDetailed}, Noise: Noise{Python: 60, Ops: 6},
		Passes: []Pass{{
			Phase: Mixed, Requests: 46, Context: 9, Tokens: 4133, KVLen: 930, Launch: Piecewise, Layers: Repeat(layer, 6), Repeat: 3,
			Prologue: []Kernel{eager(copyIn, 24), kern(embedAMD, 43)}, Epilogue: []Kernel{kern(normAMD, 71), eager(tensile(32, 32, 256), 1124), eager(sampleAMD, 87)},
		}},
	}
}

func sglangDecode() Spec {
	layer := &Kind{Name: "moe", Kernels: []Kernel{
		kern(normNV, 31), kern(nvjet(64, 8, 16), 127), kern(ropeNV, 23), kern(storeNV, 19), kern(mlaNV, 226), kern(mlaCombineNV, 44),
		kern(nvjet(128, 16, 8), 94), kern(normNV, 31), kern(nvjet(64, 16, 16), 52), kern(moeTopkNV, 29), onSide(dispatchNV, 310),
		kern(moeAlignNV, 37), kern(nvjet(128, 24, 11), 380), kern(siluNV, 26), kern(nvjet(128, 32, 11), 218), onSide(combineNV, 274), kern(finalizeNV, 33),
	}}
	stray := onSide("void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctorOnSelf_add<int>, std::array<char*, 2ul>, 4>(int, at::native::CUDAFunctorOnSelf_add<int>, std::array<char*, 2ul>)", 21)
	stray.Stream = 2
	return Spec{
		Seed: 4, Labels: []Family{VLLMDetailed, SGLang}, Rows: RowCPU | RowGPU, Noise: Noise{Python: 60, Ops: 6}, Skew: 19 * time.Millisecond,
		Passes: []Pass{{
			Requests: 16, KVLen: 512, Launch: FullGraph, Layers: Repeat(layer, 6), Repeat: 3,
			Prologue: headNV(), Epilogue: tailNV(), Strays: []Stray{{Layer: 2, Kernel: stray}},
		}},
	}
}

func trtllmMixed() Spec {
	layer := denseNV("layer", normNV, "fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDenseStaticTokenSparseP1VarSeqQ8Kv128PersistentSwapsAbForGen")
	prefill := denseNV("prefill", normNV, fullNV, kern(quantNV, 64))
	mixed := Pass{Phase: Mixed, Requests: 12, Context: 2, Tokens: 1034, Launch: Eager, Layers: Repeat(prefill, 3), Prologue: headNV(), Epilogue: tailNV(), Repeat: 2}
	first, decode := mixed, mixed
	first.Phase, first.Requests, first.Context, first.Tokens, first.Repeat = Prefill, 3, 3, 1536, 1
	decode.Phase, decode.Requests, decode.Context, decode.Tokens, decode.Repeat = Decode, 12, 0, 12, 3
	decode.Layers, decode.Launch = Repeat(layer, 3), FullGraph
	return Spec{
		Seed: 5, Labels: []Family{TRTLLM}, Rows: RowCPU | RowGPU, Noise: Noise{Python: 40, Ops: 4}, Gap: -700 * time.Nanosecond,
		Passes: []Pass{first, mixed, decode},
	}
}

// densePrefix gives a dense kind of 10 kernels and a MoE kind of 14.
func densePrefix() (dense, moe *Kind) {
	attention := []Kernel{kern(normNV, 112), kern(nvjet(256, 128, 6), 1470), kern(ropeNV, 98), kern(storeNV, 61), kern(mlaNV, 2630), kern(nvjet(128, 128, 6), 940), kern(normNV, 112)}
	dense = &Kind{Name: "dense", Kernels: append(slices.Clone(attention), kern(nvjet(256, 192, 6), 3310), kern(siluNV, 174), kern(nvjet(256, 64, 6), 1660))}
	moe = &Kind{Name: "moe", Kernels: append(slices.Clone(attention), kern(nvjet(64, 16, 16), 83), kern(moeTopkNV, 66), kern(moeAlignNV, 71), kern(nvjet(128, 24, 11), 5120), kern(siluNV, 241), kern(nvjet(128, 32, 11), 2780), kern(finalizeNV, 196))}
	return dense, moe
}

func eagerDensePrefix() Spec {
	dense, moe := densePrefix()
	return Spec{
		Seed: 6, Labels: []Family{SGLangDetailed}, Noise: Noise{Python: 60, Ops: 6},
		Passes: []Pass{{
			Phase: Prefill, Requests: 3, Tokens: 3000, Layers: slices.Concat(Repeat(dense, 3), Repeat(moe, 5)), Repeat: 2,
			Prologue: headNV(), Epilogue: tailNV(),
		}},
	}
}

func specDecode() Spec {
	target := atomLayer("target", normAMD)
	draft := &Kind{Name: "draft", Kernels: []Kernel{kern(normAMD, 62), kern(ckGEMM(16, 128, 128), 61), kern(ropeAMD, 51), kern(cacheAMD, 48), kern(paDecode, 146), kern(ckGEMM(16, 256, 128), 92), kern(normAMD, 62)}}
	tail := []Kernel{kern(normAMD, 62), eager(tensile(32, 32, 256), 1124), eager(sampleAMD, 87)}
	round := []Pass{
		{Phase: Draft, Requests: 24, Spec: 2, Launch: FullGraph, Layers: Repeat(draft, 1), Epilogue: tail, Repeat: 2},
		{Phase: Verify, Requests: 24, Spec: 2, Launch: FullGraph, Layers: Repeat(target, 4), Prologue: []Kernel{kern(embedAMD, 43)}, Epilogue: tail},
	}
	dummy := Pass{Phase: Dummy, Requests: 1, Launch: FullGraph, Layers: Repeat(target, 4), Prologue: []Kernel{kern(embedAMD, 43)}, Epilogue: tail}
	return Spec{
		Seed: 7, Vendor: AMD, Labels: []Family{ATOM}, Noise: Noise{Python: 20, Ops: 2},
		Passes: append(slices.Repeat(round, 4), dummy),
	}
}

func twoBatches() Spec {
	return Spec{
		Seed: 8, Vendor: AMD, Labels: []Family{ATOM}, Noise: Noise{Python: 20, Ops: 2},
		Passes: []Pass{{
			Requests: 64, Launch: FullGraph, Layers: Repeat(atomLayer("moe", normAMD), 6), Repeat: 2, TwoBatch: true,
			Prologue: []Kernel{kern(embedAMD, 43)}, Epilogue: []Kernel{kern(normAMD, 62), eager(sampleAMD, 87)},
		}},
	}
}

func captureOnly() Spec {
	var passes []Pass
	for _, size := range []int{8, 4, 2, 1} {
		passes = append(passes, Pass{
			Phase: Capture, Requests: size, Launch: Piecewise, Layers: Repeat(atomLayer("layer", normAMD), 2),
			Prologue: []Kernel{eager(fillAMD, 33), eager(fillAMD, 35)},
		})
	}
	return Spec{Seed: 9, Vendor: AMD, Labels: []Family{VLLM}, Noise: Noise{Python: 60, Ops: 6}, Passes: passes}
}

func noKernels() Spec {
	return Spec{
		Seed: 10, Vendor: AMD, Labels: []Family{ATOM}, Noise: Noise{Python: 60, Ops: 6}, NoKernels: true,
		Passes: []Pass{{Requests: 8, Launch: FullGraph, Layers: Repeat(atomLayer("moe", normAMD), 4), Epilogue: []Kernel{eager(sampleAMD, 87)}, Repeat: 3}},
	}
}

func metadataOnly() Spec { return Spec{Seed: 11} }

func twoDevices() Spec {
	return Spec{
		Seed: 12, Labels: []Family{VLLMOlder}, Noise: Noise{Python: 20, Ops: 2},
		Processes: []Process{{PID: 4242, Devices: []int{2, 3}}},
		Passes: []Pass{{
			Requests: 8, Launch: FullGraph, Layers: Repeat(denseNV("layer", normNV, fullNV), 4), Repeat: 3, Prologue: headNV(), Epilogue: tailNV(),
		}},
	}
}

func twoRanksMerged() Spec {
	return Spec{
		Seed: 13, Labels: []Family{SGLang}, WorldSize: 2, Noise: Noise{Python: 20, Ops: 2},
		Processes: []Process{{PID: 4242, Prefix: "[TP00-DP00-PP00-EP00]"}, {PID: 4242, Prefix: "[TP01-DP00-PP00-EP00]"}},
		Passes: []Pass{{
			Requests: 8, Launch: FullGraph, Layers: Repeat(denseNV("layer", normNV, fullNV), 4), Repeat: 3, Prologue: headNV(), Epilogue: tailNV(),
		}},
	}
}

func cutPass() Spec {
	layers := append(Repeat(denseNV("first", normFirstNV, fullNV), 1), Repeat(denseNV("layer", normNV, fullNV), 5)...)
	whole := Pass{Requests: 8, Launch: FullGraph, Layers: layers, Prologue: headNV(), Epilogue: tailNV(), Repeat: 2}
	cut := whole
	cut.Skip, cut.Repeat = 3+11*2+5, 1
	return Spec{Seed: 14, Labels: []Family{SGLang}, Noise: Noise{Python: 20, Ops: 2}, Shuffle: true, Passes: []Pass{cut, whole}}
}
