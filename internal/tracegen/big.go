package tracegen

import "fmt"

// The sizes that graphs are captured for.
var graphSizes = [...]int{1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 88, 96, 112, 128, 144, 160, 192, 224, 256}

// kernelsShape is a long run of graph decode steps of a MoE model, each batch
// size with kernels of its own, as libraries choose them by shape; now and
// then a prefill.
func kernelsShape() Spec {
	s := Spec{Seed: 100, Vendor: AMD, Labels: []Family{ATOM}, WorldSize: 8, Processes: []Process{{PID: 3090494}}, Noise: Noise{Python: 220, Ops: 22}}
	for i, size := range graphSizes {
		s.Passes = append(s.Passes, bigDecode(i, size))
		if i%12 == 8 {
			s.Passes = append(s.Passes, atomPrefill(1+i/12, 4096))
		}
	}
	return s
}

// bigKinds is the number of kinds of MoE layers that take turns. A turn is
// longer than gzip's window, so that a file packs as real ones do and not
// twice as well.
const bigKinds = 4

// bigDecode is a decode step with the kernels that the i-th size has.
func bigDecode(i, size int) Pass {
	kinds := make([]*Kind, bigKinds)
	for j := range kinds {
		kinds[j] = bigLayer(i, j, int64(size))
	}
	return Pass{
		Phase: Decode, Requests: size, KVLen: 900 + 10*i, Launch: FullGraph, Layers: Cycle(61, kinds...),
		Prologue: []Kernel{eager(copyIn, 24), kern(embedAMD, 43)},
		Epilogue: []Kernel{kern(normAMD, 62), eager(tensile(64<<(i%4), 16+16*i, 32), 1124), eager(gatherAMD, 206), eager(sampleAMD, 87), eager(copyOut, 31)},
	}
}

func bigLayer(i, j int, size int64) *Kind {
	at := 20 * (len(graphSizes)*j + i)
	return &Kind{Name: fmt.Sprintf("moe%d", j), Kernels: []Kernel{
		kern(fused("red", at), 62), kern(tuned(at+1), 104), kern(fused("poi", at+2), 51), kern(cacheAMD, 48),
		kern(pagedAttention(at), 120+size/2), kern(pagedReduce(at), 44), kern(tuned(at+3), 161), comm(reduceAMD, 17400),
		kern(fused("red", at+4), 62), kern(tuned(at+5), 97), kern("_topk_forward", 61), kern("_combined_routing_compute", 54),
		kern("_combined_routing_memset", 27), kern(fused("per", at+6), 49), kern(tunedMoE(at+7), 900+size*8),
		kern(fused("poi", at+8), 38), kern(tunedMoE(at+9), 440+size*4), comm(reduceAMD, 17400),
	}}
}

func pagedAttention(n int) string {
	return fmt.Sprintf("void paged_attention_ll4mi_QKV_mfma16_kernel<%d, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 1, 128, 256, false, 8, 1, ck_tile::ComposedAttention<0u, false> >", n)
}

func pagedReduce(n int) string {
	return fmt.Sprintf("void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16, 128, 128, 256, %d, false>", n)
}

// pythonShape is the same run with the profiler's with_stack: nearly all of
// the file is Python frames and operators.
func pythonShape() Spec {
	s := kernelsShape()
	s.Seed, s.Noise = 101, Noise{Python: 10000, Ops: 600}
	return s
}
