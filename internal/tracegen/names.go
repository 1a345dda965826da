package tracegen

import (
	"fmt"
	"strings"
	"time"
)

// Names of kernels as real traces have them. Names of files that others
// recorded are facts; the traces themselves are not copied.
const (
	paDecode     = "_ZN5aiter31pa_bf16_pertokenFp8_gqa8_2tg_4wE"
	fmhaPrefill  = "_ZN5aiter37fmha_fwd_hd128_bf16_causal_rtne_groupE"
	quantAMD     = "void aiter::dynamic_per_group_scaled_quant_kernel<std::bfloat16_t, ck_tile::fp8_t, 128>(ck_tile::fp8_t*, float*, std::bfloat16_t const*, int, int, long)"
	normFirst    = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
	normAMD      = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
	reduceAMD    = "void aiter::cross_device_reduce_2stage<std::bfloat16_t, 8>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int)"
	gatherAMD    = "void aiter::allgather_lastdim<std::bfloat16_t, 4>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int)"
	topkAMD      = "void aiter::grouped_topk_kernel<float, float __vector(4), 1, true, true, false>(float*, float const*, float*, int*, unsigned long, unsigned long, int, int, int, int, float)"
	sortAMD      = "void ck_tile::kentry<1, ck_tile::MoeSortingMultiPhaseKernel_P0_v2<ck_tile::MoeSortingProblemMp<int, float, unsigned short, 1, true, true> > >(ck_tile::MoeSortingMultiPhaseKernel_P0_v2::Kargs)"
	sort23AMD    = "void ck_tile::kentry<1, ck_tile::MoeSortingMultiPhaseKernel_P23<ck_tile::MoeSortingProblemMp<int, float, unsigned short, 1, true, true> > >(ck_tile::MoeSortingMultiPhaseKernel_P23::Kargs)"
	ropeAMD      = "void aiter::kn_entry_2c_sbhd_cached_indirect2_inplace<aiter::OpCachedFwd, 0, false, true, std::bfloat16_t, std::bfloat16_t>(void*, void*, void const*, void const*, long const*, int, int, int, int)"
	cacheAMD     = "void aiter::reshape_and_cache_with_per_token_quant_kernel<__hip_bfloat16, ck_tile::fp8_t, float, true>(__hip_bfloat16 const*, __hip_bfloat16 const*, ck_tile::fp8_t*, ck_tile::fp8_t*, float*, float*, long const*, int, int)"
	embedAMD     = "triton_poi_fused_embedding_0"
	sampleAMD    = "void aiter::mix_sample_kernel<std::bfloat16_t, 1024, 8, true>(int*, std::bfloat16_t const*, float const*, float const*, int, long, float)"
	fillAMD      = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, std::array<char*, 1ul> >(int, at::native::FillFunctor<long>, std::array<char*, 1ul>)"
	copyIn       = "Memcpy HtoD (Host -> Device)"
	copyOut      = "Memcpy DtoH (Device -> Pinned)"
	setZero      = "Memset (Device)"
	normNV       = "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)"
	normFirstNV  = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, long, long, long, long, c10::BFloat16 const*, float, int, int)"
	ropeNV       = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)"
	siluNV       = "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(c10::BFloat16*, c10::BFloat16 const*, int)"
	reduceNV     = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
	argmaxNV     = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)"
	embedNV      = "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)"
	slidingNV    = "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvSlidingOrChunkedCausalP16VarSeqQ8Kv128PersistentContext"
	fullNV       = "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ8Kv128PersistentContext"
	quantNV      = "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*, c10::BFloat16 const*, float const*, int, long, long)"
	moeAlignNV   = "void moe_align_block_size_kernel<int>(int const*, int*, int*, int*, int, int, unsigned long, int*, bool, int, int)"
	moeTopkNV    = "void topkGatingSoftmax<__nv_bfloat16, 8, 128, 4, 16>(__nv_bfloat16 const*, bool const*, float*, int, int*, int*, int, int, int, bool)"
	finalizeNV   = "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t, cutlass::bfloat16_t, 4, true> >(moe::dev::finalize::KernelParams<cutlass::bfloat16_t, cutlass::bfloat16_t, 4, true>)"
	dispatchNV   = "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, int*, long*, int*, int*, void*, int*, void*, void const*, long const*, int*, int*, int, int, int, int, int, int, bool, int)"
	combineNV    = "void deep_ep::internode_ll::combine<false, 7168, 9>(void*, void*, int*, void*, void const*, long const*, float const*, int const*, long const*, int*, int, int*, int, int, int, int, int, int, int, int, bool)"
	mlaNV        = "void flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t, 576, 512, 64, 64>(Flash_fwd_mla_params)"
	mlaCombineNV = "void flash_fwd_mla_combine_kernel<cutlass::bfloat16_t, float, int, 512, 8, 160, 256>(Flash_fwd_mla_params)"
	storeNV      = "void store_kvcache<2048l, false, long>(sglang::StoreKVCacheParams)"
)

// tensile gives the name of a bf16 GEMM from rocBLAS with this tile.
func tensile(m, n, k int) string {
	return fmt.Sprintf("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT%dx%dx%d_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA950_IU1_K1_LBSPPA%d_LBSPPB%d_LBSPPM0_LPA16_LPB16_LPM0_LRVW8_LWPMn1_MIAV0_MIWT%d_%d_MO40_NTn1_NTA0_NTB0_NTC0_NTD4_NTM0_NEPBS8_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW1_SK0_SKXCCM0_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VSn1_VWA1_VWB1_WSGRA0_WSGRB0_WS64_WG32_8_1",
		m, n, k, 4*k, 8*k, max(1, m/32), max(1, n/64))
}

// tuned gives the name of the n-th bf16 GEMM that a tuner picked: solutions of
// one library differ in a good part of their parameters.
func tuned(n int) string {
	r := newRandom(uint64(n))
	pick := func(of ...int64) int64 { return of[r.below(int64(len(of)))] }
	return fmt.Sprintf("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT%dx%dx%d_MI16x16x1_SN_LDSB%d_AFC1_AFEM%d_ASEM1_CLR%d_DTVA%d_DTVB%d_EPS0_GRVWA%d_GRVWB%d_GSUAMBSK_ISA950_IU1_K1_LBSPPA%d_LBSPPB%d_LPA%d_LPB%d_LRVW%d_MIAV0_MIWT%d_%d_MO40_NTA%d_NTB%d_NTD%d_NEPBS%d_PGR2_PLR%d_SIA3_SS%d_SVW%d_VWA%d_VWB%d_WS64_WG%d_%d_%d",
		16*r.between(1, 17), 16*r.between(1, 17), pick(32, 64, 128, 256), r.below(2), pick(1, 8), r.below(2), r.below(2), r.below(2),
		pick(1, 2, 4, 8), pick(1, 2, 4, 8), 128*r.between(1, 17), 128*r.between(1, 17), pick(0, 4, 8, 16, 32), pick(0, 4, 8, 16, 32),
		pick(4, 8), r.between(1, 15), r.between(1, 15), pick(0, 4), pick(0, 4), pick(0, 4), 4*r.below(5), pick(1, 3, 5), r.below(2),
		pick(1, 2, 4, 8), pick(1, 2, 4), pick(1, 2, 4), pick(16, 32, 64), pick(1, 2, 4, 8), pick(1, 2, 4))
}

var fusedOps = [...]string{
	"add", "addmm", "mul", "cat", "clone", "copy_", "div", "expand", "index", "mean", "neg", "permute", "pow", "rsqrt", "select",
	"sigmoid", "silu", "slice", "split", "squeeze", "stack", "sub", "transpose", "unsqueeze", "view", "where", "_to_copy",
}

// fused gives the name of the n-th kernel that Inductor made, with its
// operators in order of the alphabet.
func fused(sort string, n int) string {
	r := newRandom(uint64(n))
	var name strings.Builder
	name.WriteString("triton_" + sort + "_fused_")
	for i := r.below(5); i < int64(len(fusedOps)); i += r.between(1, 7) {
		name.WriteString("_" + fusedOps[i])
	}
	return fmt.Sprintf("%s_%d", name.String(), n)
}

// tunedMoE gives the name of the n-th MoE GEMM that a tuner picked.
func tunedMoE(n int) string {
	r := newRandom(uint64(n))
	pick := func(of ...int64) int64 { return of[r.below(int64(len(of)))] }
	return fmt.Sprintf("void ck::kernel_moe_gemm<ck::GridwiseMoeGemmBlockScale<%d, %d, %d, %d, %d, %d, %d, %d, %d, ck::Sequence<%d, %d, %d>, %d, %d, %d, (ck::BlockGemmPipelineVersion)%d>, true, (ck::InMemoryDataOperationEnum)%d, 2, (ck::TailNumber)%d>",
		16*r.between(1, 17), 16*r.between(1, 17), pick(64, 128, 256), pick(128, 256), pick(8, 16), pick(8, 16), pick(16, 32), r.between(1, 9), r.between(1, 9),
		pick(4, 8, 16), pick(16, 32, 64), pick(1, 2), pick(2, 4, 8), r.between(1, 5), r.between(1, 5), pick(1, 3), r.below(2), r.between(0, 12))
}

// ckGEMM gives the name of an fp8 GEMM from composable kernel with this tile.
func ckGEMM(m, n, k int) string {
	return fmt.Sprintf("void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemmMultiD_ABScale_xdl_cshuffle_v3<RowMajor, ColumnMajor, %d, %d, %d, 256>, true, (ck::InMemoryDataOperationEnum)0, 2, (ck::TailNumber)10>(Argument)", m, n, k)
}

// ckMoE gives the name of a MoE GEMM from composable kernel with this tile;
// stage 1 is gate and up, stage 2 is down.
func ckMoE(stage, m, n, k int) string {
	return fmt.Sprintf("void ck::kernel_moe_gemm<ck::GridwiseMoeGemmBlockScale<RowMajor, ColumnMajor, %d, %d, %d, 256, (ck::Activation)%d>, true, (ck::InMemoryDataOperationEnum)%d, 2, (ck::TailNumber)10>(Argument)", m, n, k, 2-stage, stage-1)
}

// nvjet gives the name of a cuBLAS GEMM with this tile.
func nvjet(m, n, stages int) string {
	return fmt.Sprintf("nvjet_sm100_tst_%dx%d_64x%d_2x1_2cta_v_bz_TNT", m, n, stages)
}

// kern is a kernel with a mean in tenths of a microsecond.
func kern(name string, tenths int64) Kernel {
	return Kernel{Name: name, Mean: time.Duration(tenths) * 100 * time.Nanosecond}
}

// eager is kern with a launch call of its own.
func eager(name string, tenths int64) Kernel {
	k := kern(name, tenths)
	k.Eager = true
	return k
}

// onSide is kern on the first side stream.
func onSide(name string, tenths int64) Kernel {
	k := kern(name, tenths)
	k.Stream = 1
	return k
}
