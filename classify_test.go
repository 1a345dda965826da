package tracelayer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The names that the trace_layer script knew, with its labels.
func TestClassifyScriptLabels(t *testing.T) {
	tests := []struct{ name, label, group string }{
		{"_ZN5aiter31pa_bf16_pertokenFp8_gqa8_2tg_4wE", "PA (paged_attn)", "attention"},
		{"pa_bf16_pertokenFp8_gqa8_2tg_4w.kd", "PA (paged_attn)", "attention"},
		{"void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm<1>, true>(ck::Arg)", "GEMM_FP8 (CK dense)", "gemm_fp8"},
		{"void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<1>, true>(ck::Arg)", "MoE_GEMM (CK)", "moe_gemm"},
		{"void aiter::dynamic_per_group_scaled_quant_kernel<std::bfloat16_t>(int)", "FP8_quant", "quant"},
		{"aiter::add_rmsnorm_quant_kernel", "RMSNorm+Quant", "norm"},
		{"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_fp8_e4m3_fnuz, 256, 16, true, false, true, 1>(int)", "RMSNorm+Quant", "norm"},
		{"void aiter::grouped_topk_kernel<float, 1>(float*) [clone .kd]", "MoE_gate (topk)", "moe_routing"},
		{"void ck_tile::kentry<1, ck_tile::MoeSortingMultiPhaseKernel_P0<int>>(int)", "MoE_sort_P0", "moe_routing"},
		{"ck_tile::MoeSortingMultiPhaseKernel_P23", "MoE_sort_P23", "moe_routing"},
		{"void ck_tile::kentry<2, ck_tile::MoeSortingKernel<ck_tile::MoeSortingProblemEx<int> >, x>(x)", "MoE_sort", "moe_routing"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN", "GEMM_BF16 (rocBLAS)", "gemm_bf16"},
		{"triton_poi_fused__to_copy_0", "Triton_copy", "elementwise"},
		{"triton_poi_fused_embedding_0", "Embedding", "embedding"},
		{"triton_red_fused_0", "RMSNorm_triton", "norm"},
		{"aiter::kn_entry_2c_sbhd_cached_indirect2_inplace", "RoPE", "rope"},
		{"aiter::reshape_and_cache_with_per_token_quant_kernel", "KV_cache_quant", "kv_store"},
		{"_ZN5aiter40fmoe_bf16_blockscaleFp8_g1u1_gelu_64x128E", "MoE_GEMM_fused (ASM)", "moe_gemm"},
		{"_ZN7ck_tile6kentryILi1ENS_15MoeFlatmmKernelINS_3fooEEEJEEEvDpT1_", "MoE_GEMM_flatmm", "moe_gemm"},
		{"aiter::mix_sample_kernel", "Sampling", "sampling"},
		{"aiter::fmha_fwd_hd128_bf16_causal_group", "FlashAttn", "attention"},
	}
	for _, tt := range tests {
		if got := Classify(nil, tt.name); got.Label != tt.label || got.Group != tt.group {
			t.Errorf("%s: got %q in %q, want %q in %q", tt.name, got.Label, got.Group, tt.label, tt.group)
		}
	}
}

// Names that simple lists get wrong, and kinds that they lack.
func TestClassifyTraps(t *testing.T) {
	const lamport = "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)"
	tests := []struct{ name, key, group string }{
		// These instances of a quantising kernel do not quantise.
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_", "rmsnorm_add_noquant", "norm"},
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_", "rmsnorm_noquant", "norm"},
		{"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 256, 16, true, false>(int)", "rmsnorm_add_noquant", "norm"},
		{"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)", "kv_cache", "kv_store"},
		{"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>(int)", "kv_cache_quant", "kv_store"},
		// wvSplitK is a GEMM.
		{"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 4, 16, 8, 1, 1>(int, int)", "gemm_skinny", "gemm_bf16"},
		{"wv_splitk_small_fp16_bf16_kernel", "gemm_skinny", "gemm_bf16"},
		// Collectives of all makes.
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce_nccl", "comm"},
		{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "nccl", "comm"},
		{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter", "comm"},
		{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "allreduce_custom", "comm"},
		{"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)", "allreduce_multimem", "comm"},
		{"sglang::all_reduce_push_res_kernel<8,true,true>", "allreduce", "comm"},
		{"void aiter::allreduce_fusion_kernel_1stage<std::bfloat16_t, 4, true>(int)", "allreduce_fusion", "comm"},
		{"flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel", "allreduce_fusion", "comm"},
		{lamport + "1, __nv_bfloat16, 8, true>(int)", "allreduce_fusion", "comm"},
		{lamport + "0, __nv_bfloat16, 8, true>(int)", "allreduce_lamport", "comm"},
		{"ar_fusion::moe::moefinalize_allreduce_fusion_kernel_oneshot_lamport", "allreduce_moe_finalize", "comm"},
		{"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*)", "ep_dispatch", "comm"},
		{"void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*)", "ep_combine", "comm"},
		// "quant" in names of other kinds.
		{"_ZN5aiter27pa_bf16_noquant_gqa8_1tg_4wE", "pa", "attention"},
		{"_fused_rms_fp8_group_quant_kernel", "rmsnorm_quant", "norm"},
		{"void aiter::act_and_mul_quant_kernel<int>(int)", "activation_quant", "activation"},
		{"_fused_dynamic_mxfp4_quant_moe_sort_kernel", "moe_sort", "moe_routing"},
		{"moe_topk_quant", "topk", "moe_routing"},
		{"deep_gemm_quantized", "gemm_fp8_deepgemm", "gemm_fp8"},
		{"awq_dequantize_kernel", "gemm_w4a16", "gemm_other"},
		// "deep_gemm" in names of other kinds.
		{"void deep_gemm::sm90_tf32_hc_prenorm_gemm_impl<24u>(unsigned int)", "mhc_pre_gemm", "mhc"},
		{"deep_gemm::sm120_fp8_mqa_logits", "paged_mqa", "indexer"},
		{"deep_gemm::sm100_fp8_fp4_mega_moe_impl", "moe", "moe_gemm"},
		{"deep_gemm::sm90_bf16_gemm_impl", "gemm_bf16_other", "gemm_bf16"},
		{"void deep_gemm::fp8_gemm_kernel<1536u, (deep_gemm::GemmType)0>(int)", "gemm_fp8_deepgemm", "gemm_fp8"},
		{"void deep_gemm::fp8_gemm_kernel<4096u, (deep_gemm::GemmType)2>(int)", "moe_gemm_deepgemm", "moe_gemm"},
		// "topk" in names of other kinds.
		{"_topk_index_merge_kernel", "indexer_topk", "indexer"},
		{"void vllm::topKPerRowDecode<1024, true, false, true>", "indexer_topk", "indexer"},
		{"_topk_topp_kernel", "sampling", "sampling"},
		{"fmoe_bf16_pertokenFp8_g1u1_vs_tkw1_silu_1tg_32x384", "moe_gemm_asm", "moe_gemm"},
		// A norm with something else is that.
		{"fused_qk_rmsnorm_rope_gate_kernel", "qk_norm_rope", "rope"},
		{"_attn_res_rmsnorm_kernel", "mhc_attn_res", "mhc"},
		{"mla_output_gate_kernel", "attn_gate", "activation"},
		{"kernel_unified_attention_2d", "unified_attention_2d", "attention"},
		{"void paged_attention_ll4mi_reduce_kernel<int>(int)", "pa_reduce", "attention"},
		{"void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576>>", "mla", "mla"},
		{"fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDense", "mla_trtllm", "mla"},
		{"nvjet_sm100_tst_128x24_64x11_4x2_h_bz_TNT", "gemm_bf16", "gemm_bf16"},
		{"nvjet_qqtst_128x256_128x6_2x2_2cta_h_bz_TNT", "gemm_nvjet_fp8", "gemm_fp8"},
		// Copies are copies, whatever their names remind of.
		{"Memcpy DtoD (Device -> Device)", "memcpy", "copy"},
		{"Memset (Device)", "memset", "memset"},
		{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}> >(int)", "torch_copy", "copy"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)", "torch_fill", "memset"},
		// Words in template arguments mislead nobody.
		{"void foo<aiter::quant, ncclFoo>(at::native::x)", "other", "other"},
		{"", "other", "other"},
	}
	for _, tt := range tests {
		if got := Classify(nil, tt.name); got.Key != tt.key || got.Group != tt.group {
			t.Errorf("%s: got %q in %q, want %q in %q", tt.name, got.Key, got.Group, tt.key, tt.group)
		}
	}
}

// Every all-reduce has a key that begins so, for those who count them.
func TestAllReduceKeys(t *testing.T) {
	for _, r := range commonProfile().rules {
		if strings.Contains(r.class.Label, "AllReduce") != strings.HasPrefix(r.class.Key, "allreduce") {
			t.Errorf("key %q, label %q", r.class.Key, r.class.Label)
		}
	}
}

func TestClassifySpellings(t *testing.T) {
	tests := [][]string{
		{"pa_bf16_noquant_gqa8_1tg_4w", "aiter::pa_bf16_noquant_gqa8_1tg_4w", "_ZN5aiter27pa_bf16_noquant_gqa8_1tg_4wE",
			"_ZN5aiter27pa_bf16_noquant_gqa8_1tg_4wE.kd", "_ZN5aiter27pa_bf16_noquant_gqa8_1tg_4wE [clone .kd]"},
		{"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (bool)0>>(int)", "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, false>>(int)",
			"_Z24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traitsILi128ELb0EEEvi"},
		{"store_kvcache", "void (anonymous namespace)::store_kvcache<2048l, 4>(int)", "void sglang::(anonymous namespace)::store_kvcache<2048l>(int)",
			"void <unnamed>::store_kvcache<(long)2048>(int)", "_ZN12_GLOBAL__N_113store_kvcacheILl2048EEEvi"},
		{"ck_tile::Rmsnorm2dFwd", "void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<ck_tile::X>>(int)", "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_1XEEEEEvi"},
		{"vllm::rms_norm_kernel", "std::enable_if<((8)>(0))&&vllm::x<c10::BFloat16>::exists, void>::type vllm::rms_norm_kernel<c10::BFloat16, 8>(int)"},
	}
	for _, names := range tests {
		want := Classify(nil, names[0])
		if want.Key == "other" {
			t.Errorf("%s: not known", names[0])
		}
		for _, name := range names[1:] {
			if got := Classify(nil, name); got != want {
				t.Errorf("%s: got %v, want %v as %s", name, got, want, names[0])
			}
		}
	}
}

func TestSimplify(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"kernel_unified_attention_2d", "kernel_unified_attention_2d"},
		{"void foo(int)", "foo"},
		{"void ns::foo<void (*)(int), 3>(void *)", "ns::foo"},
		{"unsigned int foo<3>(int)", "foo"},
		{"void (anonymous namespace)::foo<1>(int)", "foo"},
		{"void at::native::(anonymous namespace)::foo_kernel<4>(int)", "foo_kernel"},
		{"void at::native::foo<at::native::bar(x)::{lambda()#1}::operator()() const::{lambda(int)#2}>(int)", "foo"},
		{"void deep_ep::internode_ll::dispatch<true, 3>(void*)", "deep_ep::internode_ll::dispatch"},
		{"void moe::dev::finalize::finalizeKernelVecLoad<moe::X<2, true> >(moe::X<2>)", "moe::finalizeKernelVecLoad"},
		{"void flashinfer::mla::hopper::BatchMLAPageAttentionHopperKernel<1>(int)", "BatchMLAPageAttentionHopperKernel"},
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int>(int)", "gemvx::kernel"},
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT0_", "aiter::add_rmsnorm_quant_kernel"},
		{"_ZN2ck16tensor_operation6device12_GLOBAL__N_115kernel_conv_fwdINS_1XEEEvi", "ck::kernel_conv_fwd"},
		{"_ZN5aiter30fmha_fwd", "aiter::fmha_fwd"}, // cut off by a tool
		{"_Z", "_Z"},
		{"_ZTS", "_ZTS"},
		{"foo.kd", "foo"},
		{"foo<1>(int) [clone .kd]", "foo"},
		{".kd", ".kd"},
		{"Memcpy DtoD (Device -> Device)", "Memcpy DtoD"},
		{"void cutlass::device_kernel<vllm::enable_sm90_or_later<cutlass::gemm::kernel::GemmUniversal<int> > >(x)", "cutlass::gemm::GemmUniversal"},
		{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64>(x)", "cutlass_80_tensorop_s1688gemm_64x64"},
		{"void cutlass::device_kernel<int>(x)", "cutlass::device_kernel"},
		{"kernel_cutlass_add_rmsnorm_object_at__tensorptrbf16gmemalign128", "kernel_cutlass_add_rmsnorm"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN", "Cijk_Alik_Bljk_BBS_MT16x16x256"},
		{"nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_bias_TNT", "nvjet_sm100_tst_64x16_64x1…litK_bias_TNT"},
		{"void foo<1, 2", "foo"}, // cut off
		{"<int>(x)", "<int>(x)"},
		{"a\x01b\u202ec", "a\uFFFDb\uFFFDc"},
		{"a\xff\xfeb", "a\uFFFDb"},
		{" \n ", "?"},
	}
	for _, tt := range tests {
		if got := Simplify(nil, tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// corpusFloor is just under what the rules reach. Raise it when they get better.
const corpusFloor = 98.4

// TestClassifyCorpus measures the rules against a labelled corpus of real names,
// which is kept next to this repository and not in it.
func TestClassifyCorpus(t *testing.T) {
	file := filepath.Join("..", "shared", "facts", "kernel_names.tsv")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:]
	p := Profiles().Any()
	agree := 0
	confused := map[string]int{}
	rows := map[string][]string{} // names by the key of their rule
	for _, line := range lines {
		f := strings.SplitN(line, "\t", 4) // group, framework, source, name
		c := Classify(p, f[3])
		rows[c.Key] = append(rows[c.Key], f[3])
		if c.Group == f[0] {
			agree++
			continue
		}
		confused[f[0]+" as "+c.Group]++
		t.Logf("%s, not %s (%s): %.100s", f[0], c.Group, c.Key, f[3])
	}
	got := 100 * float64(agree) / float64(len(lines))
	t.Logf("%d of %d names agree by group: %.2f %%", agree, len(lines), got)
	for _, k := range slices.Sorted(maps.Keys(confused)) {
		t.Logf("%3d  %s", confused[k], k)
	}
	single := 0
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if len(rows[key]) == 1 {
			single++
			t.Logf("rule for one name only: %s: %.100s", key, rows[key][0])
		}
	}
	t.Logf("%d of %d rules met know one name only", single, len(rows))
	if 4*single > len(rows) {
		t.Errorf("%d of %d rules know one name only: rules are for kinds", single, len(rows))
	}
	if got < corpusFloor {
		t.Errorf("agreement %.2f %%, want %.2f %% or more", got, corpusFloor)
	}
}

// sampleNames are names of several lengths and kinds, some of which no rule matches.
var sampleNames = []string{
	"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
	"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, int)",
	"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMBSK_GLS0_ISA942_IU1_K1_LBSPPA512",
	"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwd<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> > > > > >(x)",
	"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned long)",
	"nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_bias_TNT",
	"kernel_unified_attention_2d",
	"some_unknown_kernel",
	"void somebody::nobody_knows_kernel<float, 3>(float*)",
	"Memcpy DtoD (Device -> Device)",
}

// BenchmarkClassify classifies ten thousand distinct names, as many as the
// largest traces have.
func BenchmarkClassify(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("%s_%d", sampleNames[i%len(sampleNames)], i)
	}
	p := Profiles().Any()
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range names {
			Classify(p, name)
		}
	}
	b.ReportMetric(float64(len(names)*b.N)/b.Elapsed().Seconds(), "names/s")
}

func FuzzClassify(f *testing.F) {
	for _, s := range sampleNames {
		f.Add(s)
	}
	for _, s := range []string{"", " ", "\x00", "\xff", "_ZN", "_Z9999999999999999999x", "_ZN7ck_tile6kentryILi1ES", "void <<<((", "a::(anonymous namespace",
		"operator()<", "cutlass::device_kernel<<unnamed>::x", "x [clone .kd", "\u202e.kd", "İİ_İ", "Cijk__MT", "std::enable_if<(((8)>(0)))>::type f<(", "device_kernel<device_kernel<device_kernel<device_kernel<x>>>>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c := Classify(nil, name)
		if c.Label == "" || c.Key == "" || !slices.Contains(groups, c.Group) {
			t.Errorf("%q: got %+v", name, c)
		}
		short := Simplify(nil, name)
		if (short == "") != (name == "") {
			t.Errorf("%q: simplified to %q", name, short)
		}
		for _, s := range []string{c.Label, short} {
			if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || utf8.RuneCountInString(s) > maxLabel {
				t.Errorf("%q: got %q", name, s)
			}
		}
		if again := Classify(AnchorProfile("x"), name); again != c {
			t.Errorf("%q: got %v with a bare anchor, %v without a profile", name, again, c)
		}
	})
}

// A name of a megabyte must not take more than time in proportion to its length.
func TestClassifyLongNames(t *testing.T) {
	for _, part := range []string{"a ", "(", "<", "a<", "::", "(anonymous namespace)", "_ZN1a", "a<b(", "> ", ".kd", " [clone x]", "S_"} {
		for _, head := range []string{"", "_ZN7ck_tile6kentryI", "cutlass::device_kernel<", "Cijk_"} {
			c := Classify(nil, head+strings.Repeat(part, 1<<20/len(part)))
			if c.Label == "" {
				t.Errorf("%q...: no label", head+part)
			}
		}
	}
}
