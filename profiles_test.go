package tracelayer

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tracelayer/tracelayer/internal/tracegen"
)

func profileNamed(t testing.TB, name string) *Profile {
	t.Helper()
	p, ok := Profiles().Lookup(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

func TestBuiltInProfiles(t *testing.T) {
	// Key, blocks per layer, extra anchors per pass, first block and use of each
	// anchor, and the blocks per layer of an anchor that is not listed.
	want := map[string]string{
		"dsv3_mla":        "1: attention 1+0 from 0 named, residual 2+0 from 1 confirmed",
		"dsv41":           "1: mhc_sublayer 2+0 from 0 named",
		"dsv4_csa_hca":    "2: mhc_pre 2+0 from 0 config, mhc_post 2+0 from 0 named closes, mhc_triton 2+0 from 0 named",
		"gemma4":          "1: qkv_norm 1+0 from 0 named lead 2",
		"generic":         "1: residual 2+0 from 1 confirmed",
		"generic_addnorm": "2: residual 2+0 from 1 confirmed",
		"glm5_next":       "2: mhc_pre 2+0 from 0 config",
		"hy_v4":           "2: ihc_pre 2+0 from 0 named",
		"kimi_k3":         "2: attn_res 2+1 from 0 named, attn_res_hip 2+1 from 0 named, attn_res_triton 2+1 from 0 named",
		"longcat_flash":   "4: residual 4+0 from 1 named",
		"mla_dsa":         "2: residual 2+0 from 1 confirmed",
		"nemotron_h":      "1: residual 1+0 from 1 named",
		"qwen4_exp":       "2: grouped_norm 2+0 from 0 named, hc_gate_mix 2+1 from 0 named, hc_mix 2+0 from 0 named, hc_combine_norm 2+-1 from 1 named",
	}
	all := Profiles().All()
	if len(all) != len(want) {
		t.Errorf("%d profiles, want %d", len(all), len(want))
	}
	for _, p := range all {
		var anchors []string
		for _, a := range p.Anchors() {
			s := fmt.Sprintf("%s %d+%d from %d %s", a.Key, a.Blocks, a.Extra, a.First, a.Use)
			if a.Closes {
				s += " closes"
			}
			if a.Lead > 0 {
				s += fmt.Sprint(" lead ", a.Lead)
			}
			anchors = append(anchors, s)
			if len(a.Evidence) == 0 {
				t.Errorf("%s: %s has no evidence", p.Name, a.Key)
			}
			for _, framework := range []string{"trtllm", "tokenspeed"} {
				if e := a.Evidence[framework]; e != "" && e != "none" {
					t.Errorf("%s: %s claims %q for %s, of which no trace is at hand", p.Name, a.Key, e, framework)
				}
			}
		}
		if got := fmt.Sprintf("%d: %s", p.Blocks, strings.Join(anchors, ", ")); got != want[p.Name] {
			t.Errorf("%s:\n got %s\nwant %s", p.Name, got, want[p.Name])
		}
		if p.Comment == "" {
			t.Errorf("%s: no comment", p.Name)
		}
	}
}

func TestAnchorMatches(t *testing.T) {
	const lamport = "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)"
	tests := []struct {
		profile, anchor string
		is, isNot       []string
	}{
		{"dsv4_csa_hca", "mhc_pre",
			[]string{"mhc_pre_big_fuse_with_norm_tilelang_kernel", "void aiter::mhc_pre_big_fuse_kernel<8>(int)", "mhc_pre_big_fuse_tilelang_kernel.kd", "aiter::mhc_pre_big_fuse_rmsnorm_kernel"},
			[]string{"mhc_post_tilelang_kernel", "mhc_fused_tilelang_kernel", "mhc_pre_gemm_sqrsum_tilelang_kernel"}},
		{"dsv3_mla", "attention",
			[]string{"void flash::flash_fwd_splitkv_mla_kernel<X>(int)", "flashinfer::mla::BatchMLAPageAttentionHopperKernel", "_ZN5aiter33mla_a8w8_qh16_qseqlen1_gqaratio16E", "mla_pfl_qh192_vh128_m32x8_n128x1_causal1",
				"fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDense"},
			[]string{"flash_fwd_mla_combine_kernel", "kn_mla_reduce_v1_ps", "get_mla_metadata_kernel"}},
		{"kimi_k3", "attn_res",
			[]string{"void sglang::attn_res_fused_tma_kernel<K<7168>, 1>(int)", "sm100::fwd_prod_v2::attn_res_fwd_online_v2_kernel<7168>", "_attn_res_kernel", "_attn_res_fused_kernel", "_attn_res_rmsnorm_kernel"},
			[]string{"_score_kernel", "attn_residual_norm"}},
		{"kimi_k3", "attn_res_hip", []string{"_agg_kernel"}, []string{"_hidden_agg_kernel"}},
		{"hy_v4", "ihc_pre", []string{"_hy4_ihc_pre_stage2", "_ihc_pre_stage2"}, []string{"_hy4_ihc_pre_stage1", "_ihc_post_kernel"}},
		{"qwen4_exp", "hc_gate_mix", []string{"_hc_gate_mix_kernel"}, []string{"_hc_combine_norm_kernel", "_hc_silu_kernel"}},
		{"gemma4", "qkv_norm", []string{"_gemma_qkv_rmsnorm_kernel"}, []string{"_gemma_rmsnorm_kernel", "_gemma_rmsnorm_residual_kernel"}},
		{"generic_addnorm", "residual",
			[]string{
				"std::enable_if<((8)>(0))&&vllm::x<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)",
				"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(int)", "void flashinfer::norm::FusedAddRMSNormQuantKernel<8u>(int)",
				"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_",
				"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 256, 8, true, false>(int)",
				"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, (int)256, (int)8, (bool)1, (bool)0>(int)",
				"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<ck_tile::Rmsnorm2dFwdPipeline<ck_tile::Rmsnorm2dFusedAddEnumE1>>>(int)",
				lamport + "1, __nv_bfloat16, 8, true>(int)", lamport + "10, __nv_bfloat16, 8, true>(int)", "void aiter::allreduce_fusion_kernel_1stage<std::bfloat16_t, 4, true>(int)",
				"_gemma_fused_add_rmsnorm_kernel", "_fused_add_rmsnorm_pad", "triton_red_fused_add_rms_norm_0", "triton_red_fused_add_marlin_gemm_rms_norm_0",
				"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__tensor", "aiter::local_device_load_rmsnorm",
			},
			[]string{
				"vllm::rms_norm_kernel", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_",
				"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 256, 8, false, true>(int)", "aiter::add_rmsnorm_quant_kernel",
				"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<ck_tile::Rmsnorm2dFusedAddEnumE0>>(int)",
				lamport + "0, __nv_bfloat16, 8, true>(int)", "qknorm_allreduce_fusion_kernel_2stage", "_gemma_rmsnorm_kernel", "triton_red_fused_rms_norm_0",
				"kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensor",
			}},
	}
	for _, tt := range tests {
		anchors := profileNamed(t, tt.profile).Anchors()
		i := slices.IndexFunc(anchors, func(a Anchor) bool { return a.Key == tt.anchor })
		if i < 0 {
			t.Errorf("%s has no anchor %s", tt.profile, tt.anchor)
			continue
		}
		for _, name := range tt.is {
			if !anchors[i].Matches(name) {
				t.Errorf("%s: %s does not match %s", tt.profile, tt.anchor, name)
			}
		}
		for _, name := range tt.isNot {
			if anchors[i].Matches(name) {
				t.Errorf("%s: %s matches %s", tt.profile, tt.anchor, name)
			}
		}
	}
	a := profileNamed(t, "dsv4_csa_hca").Anchors()[0]
	if !a.LeadKernel("void deep_gemm::sm90_tf32_hc_prenorm_gemm_impl<24u>(int)") || a.LeadKernel("mhc_post_tilelang_kernel") {
		t.Error("the kernels in front of an mHC anchor are the prenorm GEMM and the fused kernel, not the post of the half before")
	}
	r := profileNamed(t, "generic_addnorm").Anchors()[0]
	if !r.Entry("vllm::rms_norm_kernel") || r.Entry("fused_qknorm_rmsnorm") {
		t.Error("a plain norm opens layer 0, a norm of q and k does not")
	}
}

func TestBlockLabels(t *testing.T) {
	tests := []struct {
		profile string
		k       int
		want    string
	}{
		{"gemma4", 1, "full"}, {"dsv4_csa_hca", 2, "attn ffn"}, {"longcat_flash", 4, "attn0 mlp0 attn1 mlp1"},
		{"longcat_flash", 2, "attn ffn"}, {"generic", 3, "part0 part1 part2"}, {"generic", 4, "part0 part1 part2 part3"},
	}
	for _, tt := range tests {
		if got := strings.Join(profileNamed(t, tt.profile).BlockLabels(tt.k), " "); got != tt.want {
			t.Errorf("%s, %d blocks: got %s, want %s", tt.profile, tt.k, got, tt.want)
		}
	}
}

// TestPipelineCategories: the table of the pipeline scripts, each name with the
// key and the label that it has there.
func TestPipelineCategories(t *testing.T) {
	tests := []struct{ profile, name, key, label string }{
		{"dsv4_csa_hca", "void flash_fwd_splitkv_mla_kernel<X>(int)", "mla", "★ MLA Attention"},
		{"dsv3_mla", "flash_fwd_splitkv_mla_kernel", "mla", "★ MLA Attention"},
		{"dsv4_csa_hca", "fused_moe_kernel", "moe", "★ MoE Fused"},
		{"dsv3_mla", "fused_moe_kernel", "moe", "★ MoE Fused"},
		{"generic", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "allreduce", "● NCCL AllReduce"},
		{"generic", "vllm::cross_device_reduce_1stage", "allreduce", "● NCCL AllReduce"},
		{"generic", "ncclDevKernel_ReduceScatter_Sum_bf16", "allreduce", "● NCCL AllReduce"},
		{"generic", "one_shot_lamport_kernel", "allreduce", "● NCCL AllReduce"},
		{"generic", "some_ALL_REDUCE", "allreduce", "● NCCL AllReduce"},
		{"generic", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<X>(int)", "gemm_fp8", "GEMM fp8"},
		{"generic", "nvjet_tst_64x8_64x16", "gemm_bf16", "GEMM bf16"},
		{"dsv4_csa_hca", "fast_hadamard_transform_kernel", "hadamard", "Hadamard Xform"},
		{"dsv4_csa_hca", "_Indexer_store", "indexer", "Indexer Cache"},
		{"dsv4_csa_hca", "fused_q_indexer_rope_hadamard", "indexer", "Indexer Cache"},
		{"dsv4_csa_hca", "deep_gemm::sm90_fp8_paged_mqa_logits", "paged_mqa", "Paged MQA"},
		{"dsv4_csa_hca", "mhc_pre_gemm_sqrsum_splitk_stage_0_kernel", "mhc_pre_gemm", "MHC Pre GEMM"},
		{"dsv4_csa_hca", "mhc_pre_big_fuse_tilelang_kernel", "mhc_pre_fuse", "MHC Pre Fuse"},
		{"glm5_next", "mhc_post_tilelang_kernel", "mhc_post", "MHC Post"},
		{"dsv4_csa_hca", "flash_c4_prefill", "c4_prefill", "C4 Prefill"},
		{"dsv4_csa_hca", "flash_c128_prefill", "c128_prefill", "C128 Prefill"},
		{"generic", "RMS_norm_kernel", "rmsnorm", "RMSNorm"},
		{"generic", "LayerNorm_kernel", "rmsnorm", "RMSNorm"},
		{"generic", "per_token_group_quant_8bit_kernel", "quant", "FP8 Quant"},
		{"generic", "topk_kernel", "topk", "TopK"},
		{"dsv4_csa_hca", "deepseek_rope_kernel", "rope", "RoPE"},
		{"dsv3_mla", "fused_norm_rope", "rope", "RoPE"},
		{"generic", "silu_mul_clamp_kernel", "activation", "Activation"},
		{"generic", "act_and_mul_kernel", "activation", "Activation"},
		{"generic", "nobody_knows", "other", "nobody_knows"},
	}
	for _, tt := range tests {
		if got := Classify(profileNamed(t, tt.profile), tt.name); got.Key != tt.key || got.Label != tt.label {
			t.Errorf("%s, %s: got %s %q, want %s %q", tt.profile, tt.name, got.Key, got.Label, tt.key, tt.label)
		}
	}
	// A plain name of a family stays with the common rules elsewhere.
	if got := Classify(profileNamed(t, "gemma4"), "flash_fwd_splitkv_mla_kernel").Label; got != "MLA (flash_mla)" {
		t.Errorf("a rule of another family: %q", got)
	}
	p := profileNamed(t, "dsv41")
	if from, to, ok := p.TypicalShare("mla"); from != 21 || to != 33 || !ok {
		t.Errorf("typical share of MLA: %v to %v, %v", from, to, ok)
	}
	if _, _, ok := p.TypicalShare("embedding"); ok {
		t.Error("a typical share that nobody gave")
	}
}

// madeUp is a family that nobody has, in a user's own files.
var madeUp = fstest.MapFS{
	"base.json": {Data: []byte(`{"schema": "tracelayer/profile/1", "name": "zebra_base", "abstract": true, "extends": "pipeline",
		"anchors": [{"key": "stripe", "blocks": 3, "use": "config", "kernels": [{"base": {"any": ["zebra_stripe"]}}], "evidence": {"vllm": "trace"}}],
		"layer_count": ["stripes"], "block_labels": ["head", "body", "tail"]}`)},
	"zebra.json": {Data: []byte(`{"schema": "tracelayer/profile/1", "name": "zebra", "extends": "zebra_base",
		"identity": [{"model_types": ["zebra"]}], "layer_types": {"attention": [{"fields": ["coat"], "by": "letters", "values": {"b": "BLACK", "w": "WHITE"}}]},
		"anchors": [{"key": "own", "like": "stripe", "blocks": 3, "extra": 2, "use": "named"}],
		"simplify": [{"old": "zebra_", "new": "z."}],
		"rules": [{"key": "hoof", "label": "Hoof", "group": "elementwise", "base": {"any": ["zebra_hoof"]}, "typical_pct": [1, 2]}]}`)},
	"gemma4.json": {Data: []byte(`{"schema": "tracelayer/profile/1", "name": "gemma4", "extends": "generic", "identity": [{"model_types": ["gemma4"]}], "blocks": 7}`)},
}

func TestReadProfiles(t *testing.T) {
	set, err := ReadProfiles(madeUp, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	c := parseConfig(t, `{"model_type": "zebra", "stripes": 4, "coat": "bwbb"}`)
	p, why, err := set.Infer(c)
	if err != nil || p.Name != "zebra" || why != "model_type zebra" {
		t.Fatalf("got %v by %q, %v", p, why, err)
	}
	types, err := p.LayerTypes(c)
	if err != nil || len(types) != 4 || types[1].String() != "WHITE" || types[3].String() != "BLACK+FINAL" {
		t.Errorf("layer types %v, %v", types, err)
	}
	if got := Classify(p, "zebra_hoof_kernel"); got != (Class{"hoof", "Hoof", "elementwise"}) {
		t.Errorf("own rule: %v", got)
	}
	if got := Classify(p, "nvjet_tst").Label; got != "GEMM bf16" {
		t.Errorf("category of what it extends: %q", got)
	}
	if got := Simplify(p, "void zebra_tail_kernel<3>(int)"); got != "z.tail_kernel" {
		t.Errorf("simplified to %q", got)
	}
	a := p.Anchors()
	if len(a) != 1 || a[0].Extra != 2 || !a[0].Matches("zebra_stripe_kernel") || a[0].Evidence["vllm"] != "trace" {
		t.Errorf("anchors %+v", a)
	}
	if got := p.BlockLabels(3); !slices.Equal(got, []string{"head", "body", "tail"}) {
		t.Errorf("block labels %q", got)
	}
	if g, _ := set.Lookup("gemma4"); g.Blocks != 7 {
		t.Error("the user's profile does not take the place of the library's")
	}
	if _, ok := set.Lookup("zebra_base"); ok {
		t.Error("an abstract profile is offered")
	}
	if g, _ := Profiles().Lookup("gemma4"); g.Blocks != 1 {
		t.Error("the library's own set has changed")
	}
	if got := Classify(set.Any(), "zebra_hoof").Key; got != "hoof" {
		t.Errorf("any: %q", got)
	}
}

func TestReadProfilesRefuses(t *testing.T) {
	const head = `{"schema": "tracelayer/profile/1", "name": "a", `
	const anchor = `"anchors": [{"key": "x", "blocks": 1, "use": "named", "kernels": [{"base": {"any": ["x"]}}]}]`
	tests := []struct{ name, text, field string }{
		{"missing anchor", head + `"identity": [{"model_types": ["a"]}]}`, "anchors"},
		{"extends nothing", head + `"extends": "b", ` + anchor + `}`, "extends"},
		{"extends itself", head + `"extends": "a", ` + anchor + `}`, "extends"},
		{"odd name", strings.Replace(head, `"a"`, `"A b"`, 1) + anchor + `}`, "name"},
		{"identity of nothing", head + `"identity": [{}], ` + anchor + `}`, "identity[0]"},
		{"layer rule of another kind", head + `"layer_types": {"attention": [{"fields": ["x"], "by": "moon", "name": "X"}]}, ` + anchor + `}`, "layer_types.attention[0].by"},
		{"layer rule without fields", head + `"layer_types": {"roles": [{"by": "ids", "name": "X"}]}, ` + anchor + `}`, "layer_types.roles[0].fields"},
		{"layer rule without name", head + `"layer_types": {"additions": [{"fields": ["x"], "by": "ids"}]}, ` + anchor + `}`, "layer_types.additions[0].name"},
		{"layer rule without values", head + `"layer_types": {"attention": [{"fields": ["x"], "by": "list"}]}, ` + anchor + `}`, "layer_types.attention[0].values"},
		{"blocks", head + `"blocks": 65, ` + anchor + `}`, "blocks"},
		{"anchor without key", head + `"anchors": [{"blocks": 1}]}`, "anchors[0].key"},
		{"anchor without kernels", head + `"anchors": [{"key": "x", "blocks": 1, "use": "named"}]}`, "anchors[0].kernels"},
		{"anchor without blocks", head + strings.Replace(anchor, `"blocks": 1`, `"blocks": 0`, 1) + `}`, "anchors[0].blocks"},
		{"anchor without use", head + strings.Replace(anchor, `"named"`, `"often"`, 1) + `}`, "anchors[0].use"},
		{"anchor with an odd first", head + strings.Replace(anchor, `"blocks": 1`, `"blocks": 1, "first": 2`, 1) + `}`, "anchors[0].first"},
		{"anchor with odd evidence", head + strings.Replace(anchor, `"blocks": 1`, `"blocks": 1, "evidence": {"vllm": "hearsay"}`, 1) + `}`, "anchors[0].evidence.vllm"},
		{"anchor with a bad expression", head + strings.Replace(anchor, `"any": ["x"]`, `"regexp": "("`, 1) + `}`, "anchors[0].kernels[0].base.regexp"},
		{"anchor like nothing", head + `"anchors": [{"key": "x", "like": "y", "blocks": 1, "use": "named"}]}`, "anchors[0].like"},
		{"unknown field of an anchor", head + strings.Replace(anchor, `"blocks"`, `"blox"`, 1) + `}`, "anchors[0]"},
		{"category of nothing", head + `"categories": [{"key": "x", "label": "X"}], ` + anchor + `}`, "categories[0].of"},
		{"category without label", head + `"categories": [{"key": "x", "of": ["y"]}], ` + anchor + `}`, "categories[0].label"},
		{"odd share", head + `"categories": [{"key": "x", "label": "X", "of": ["y"], "typical_pct": [5]}], ` + anchor + `}`, "categories[0].typical_pct"},
		{"replacement of nothing", head + `"simplify": [{"new": "x"}], ` + anchor + `}`, "simplify[0].old"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadProfiles(fstest.MapFS{"a.json": {Data: []byte(tt.text)}}, "*.json")
			pe, ok := errors.AsType[*ProfileError](err)
			if !ok || pe.File != "a.json" || pe.Field != tt.field {
				t.Errorf("got %v, want a ProfileError of the field %q", err, tt.field)
			}
		})
	}
	if _, err := ReadProfiles(fstest.MapFS{}, "*.json"); err == nil {
		t.Error("no file: no error")
	}
	if _, err := ReadProfiles(fstest.MapFS{}, "["); err == nil {
		t.Error("a bad pattern: no error")
	}
	two := fstest.MapFS{"a.json": {Data: []byte(head + anchor + `}`)}, "b.json": {Data: []byte(head + anchor + `}`)}}
	if _, err := ReadProfiles(two, "*.json"); err == nil {
		t.Error("two profiles of one name: no error")
	}
	if _, err := ReadProfiles(fstest.MapFS{"x.json": {Mode: fs.ModeDir}}, "*.json"); err == nil {
		t.Error("a directory: no error")
	}
	same := `"identity": [{"model_types": ["zebra"]}], `
	set, err := ReadProfiles(fstest.MapFS{"a.json": {Data: []byte(head + same + anchor + `}`)}, "b.json": {Data: []byte(strings.Replace(head, `"a"`, `"b"`, 1) + same + anchor + `}`)}}, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := set.Infer(parseConfig(t, `{"model_type": "zebra"}`)); err == nil {
		t.Error("two profiles claim a config alike: no error")
	}
}

// TestWithAnchor: a family's rules name the kernels of layers that a bare anchor cuts.
func TestWithAnchor(t *testing.T) {
	p := profileNamed(t, "generic_addnorm")
	trace, _ := generatedSpec(t, tracegen.Spec{Seed: 30, Passes: times(2, passSpec(tracegen.Repeat(layerKind("layer", "norm_kernel", "nvjet_tst", "attention_fwd", "nvjet_tst"), 4), nil))})
	if _, err := Segment(trace, p, nil); err == nil {
		t.Error("no anchor to cut by: no error")
	}
	s, err := Segment(trace, p.WithAnchor("attention_fwd"), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Summarize(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.Groups[0].Positions[1].Class.Label; got != "GEMM bf16" || s.LayersPerPass != 4 {
		t.Errorf("%q, %d layers", got, s.LayersPerPass)
	}
	if p.anchor != "" || (*Profile)(nil).WithAnchor("x").anchor != "x" {
		t.Error("the profile has changed, or none is not allowed")
	}
}

// TestClassifyFast: ten thousand distinct names in 50 ms, with every family's
// rules. The bound here is wider, for machines that do other work.
func TestClassifyFast(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("%s_%d", sampleNames[i%len(sampleNames)], i)
	}
	p := Profiles().Any()
	best := time.Hour
	for range 3 {
		start := time.Now()
		for _, name := range names {
			Classify(p, name)
		}
		best = min(best, time.Since(start))
	}
	t.Logf("10,000 names in %s", best)
	if !testing.Short() && best > 250*time.Millisecond {
		t.Errorf("10,000 names took %s", best)
	}
}
