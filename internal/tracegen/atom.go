package tracegen

import "time"

// The example of the script that trace_layer replaces: the rows of its table
// are given, the others make up its total. A row has microseconds.
//
//	 0 PA (paged_attn)      14.6   0.8   10.9   18.2
//	 1 FP8_quant             5.5   0.5    4.4    7.8
//	 2 GEMM_FP8 (CK dense)  16.1   0.5   14.9   18.8
//	10 MoE_GEMM (CK)       180.4  16.3  117.8  231.2
//	12 MoE_GEMM (CK)        88.5   8.4    5.3  112.8
//	   TOTAL per layer     411.0
const (
	atomLayers = 62
	atomSteps  = 41
	atomBS     = 32
)

// stat is a kernel with mean, deviation, least and most in nanoseconds.
func stat(name string, mean, std, lo, hi time.Duration) Kernel {
	return Kernel{Name: name, Mean: mean, Std: std, Lo: lo, Hi: hi}
}

// comm is a collective: its time varies far more than that of computation.
func comm(name string, mean time.Duration) Kernel {
	return stat(name, mean, mean/9, mean*7/10, mean*17/10)
}

// atomLayer is a layer in decode, from its input norm. A table that is cut at
// the attention starts with the fifth kernel.
func atomLayer(kind, norm string) *Kind {
	return &Kind{Name: kind, Kernels: []Kernel{
		kern(norm, 61),
		stat(ckGEMM(32, 128, 128), 10420, 400, 9600, 12400),
		kern(ropeAMD, 50),
		kern(cacheAMD, 48),
		stat(paDecode, 14570, 815, 10880, 18200),
		stat(quantAMD, 5498, 490, 4400, 7800),
		stat(ckGEMM(32, 256, 128), 16100, 500, 14900, 18800),
		comm(reduceAMD, 17390),
		kern(normAMD, 61),
		kern(tensile(16, 16, 256), 97),
		kern(topkAMD, 61),
		kern(sortAMD, 54),
		kern(sort23AMD, 72),
		kern(quantAMD, 49),
		stat(ckMoE(1, 32, 128, 128), 180320, 16100, 117800, 231200),
		kern(quantAMD, 54),
		stat(ckMoE(2, 32, 128, 128), 88550, 8050, 5300, 112800),
		comm(reduceAMD, 17390),
	}}
}

// atomPrefillLayer has another number of kernels: two for the cache, none to
// quantize between.
func atomPrefillLayer() *Kind {
	return &Kind{Name: "prefill", Kernels: []Kernel{
		kern(normAMD, 412),
		kern(ckGEMM(256, 128, 128), 2210),
		kern(ropeAMD, 383),
		kern(cacheAMD, 296),
		kern(fmhaPrefill, 3120),
		kern(quantAMD, 331),
		kern(ckGEMM(256, 256, 128), 3470),
		comm(reduceAMD, 286*time.Microsecond),
		kern(normAMD, 412),
		kern(tensile(128, 64, 64), 604),
		kern(topkAMD, 288),
		kern(sortAMD, 127),
		kern(sort23AMD, 311),
		kern(ckMoE(1, 128, 128, 128), 9120),
		kern(ckMoE(2, 128, 128, 128), 4630),
		comm(reduceAMD, 286*time.Microsecond),
	}}
}

// atomDecode has the shape of the example: 41 decode steps of 62 layers at
// batch size 32, prefill and warm-up before. Cut at the attention, the 61
// windows of each step give N = 2501.
func atomDecode() Spec {
	layers := append(Repeat(atomLayer("first", normFirst), 1), Repeat(atomLayer("moe", normAMD), atomLayers-1)...)
	return Spec{
		Seed: 62, Vendor: AMD, Labels: []Family{ATOM}, WorldSize: 8,
		Warmup: 2 * time.Second, WarmupNoise: Noise{Python: 1200, Ops: 100}, Noise: Noise{Python: 40, Ops: 4},
		Passes: []Pass{
			atomPrefill(1, 1024), atomPrefill(4, 4096), atomPrefill(27, 8192),
			{
				Phase: Decode, Requests: atomBS, Launch: FullGraph, Layers: layers, Repeat: atomSteps,
				Prologue: []Kernel{eager(copyIn, 24), kern(embedAMD, 43)},
				Epilogue: []Kernel{kern(normAMD, 62), eager(tensile(32, 32, 256), 1124), eager(gatherAMD, 206), eager(sampleAMD, 87), eager(copyOut, 31)},
			},
		},
	}
}

func atomPrefill(requests, tokens int) Pass {
	return Pass{
		Phase: Prefill, Requests: requests, Tokens: tokens, Layers: Repeat(atomPrefillLayer(), atomLayers),
		Prologue: []Kernel{kern(copyIn, 24), kern(embedAMD, 96)},
		Epilogue: []Kernel{kern(normAMD, 412), kern(tensile(32, 32, 256), 1124), kern(gatherAMD, 206), kern(sampleAMD, 87), kern(copyOut, 31)},
	}
}

// atomTiny is small enough to be cut at every byte: two decode steps of three
// layers of four kernels.
func atomTiny() Spec {
	layer := &Kind{Name: "layer", Kernels: []Kernel{kern(normAMD, 62), kern(paDecode, 146), kern(ckGEMM(32, 256, 128), 161), kern(quantAMD, 55)}}
	return Spec{
		Seed: 1, Vendor: AMD, Labels: []Family{ATOM}, Noise: Noise{Python: 2, Ops: 1},
		Passes: []Pass{{
			Requests: 4, Launch: FullGraph, Layers: Repeat(layer, 3), Repeat: 2,
			Prologue: []Kernel{kern(embedAMD, 43)}, Epilogue: []Kernel{kern(normAMD, 62), eager(sampleAMD, 87)},
		}},
	}
}
