package tracelayer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inferred are the right profiles of all configs at hand, by file.
var inferred = map[string]string{
	"dsv3_mla": "dsv3_mla", "dsv41": "dsv41", "dsv41_flat_alias": "dsv41", "dsv4_csa_hca": "dsv4_csa_hca",
	"dsv4_flash_0731": "dsv4_csa_hca", "dsv4_pro": "dsv4_csa_hca", "dsv4_pro_0813": "dsv4_csa_hca",
	"gemma4": "gemma4", "gemma4_26b_a4b": "gemma4", "gemma4_e2b": "gemma4", "generic": "generic",
	"generic_addnorm": "generic_addnorm", "generic_addnorm_gpt_oss_20b": "generic_addnorm",
	"generic_addnorm_minimax_m3": "generic_addnorm", "generic_addnorm_qwen3_30b_a3b": "generic_addnorm",
	"generic_addnorm_qwen3_5_397b": "generic_addnorm", "generic_addnorm_qwen3_8b": "generic_addnorm",
	"glm5_next": "glm5_next", "glm5_next_glm53_flash_alias": "glm5_next", "hy_v4": "hy_v4",
	"kimi_k3": "kimi_k3", "kimi_k3_text_only": "kimi_k3", "longcat_flash": "longcat_flash",
	"longcat_flash_hf_doubled": "longcat_flash", "lookalike_deepseek_v2_lite": "dsv3_mla",
	"lookalike_dots3_note": "generic_addnorm", "lookalike_glm4_moe": "generic_addnorm",
	"lookalike_hy_v3": "generic_addnorm", "lookalike_kimi_k25": "dsv3_mla",
	"lookalike_kimi_linear_48b": "generic_addnorm", "lookalike_qwen3_5": "generic_addnorm",
	"lookalike_qwen3_next": "generic_addnorm", "mla_dsa": "mla_dsa", "mla_dsa_glm5": "mla_dsa",
	"mla_dsa_glm52": "mla_dsa", "nemotron_h": "nemotron_h", "nemotron_h_block_list": "nemotron_h",
	"nemotron_h_vl_wrapper": "nemotron_h", "qwen4_exp": "qwen4_exp",
	"Qwen--Qwen3-30B-A3B": "generic_addnorm", "Qwen--Qwen3-8B": "generic_addnorm", "Qwen--Qwen3.5-27B": "generic_addnorm",
	"deepseek-ai--DeepSeek-R1": "dsv3_mla", "deepseek-ai--DeepSeek-V3.2": "mla_dsa", "deepseek-ai--DeepSeek-V3": "dsv3_mla",
	"deepseek-ai--DeepSeek-V4-Flash": "dsv4_csa_hca", "deepseek-ai--DeepSeek-V4-Pro": "dsv4_csa_hca",
	"google--gemma-4-26B-A4B": "gemma4", "meta-llama--Meta-Llama-3.1-8B": "generic_addnorm",
	"openai--gpt-oss-120b": "generic_addnorm", "openai--gpt-oss-20b": "generic_addnorm",
}

// configs returns the configs that are kept next to this repository, by file name
// without its ending.
func configs(t *testing.T) map[string]*Config {
	dir := shared(t, "configs")
	all := map[string]*Config{}
	for _, pattern := range []string{"*.json", "public/*.json"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			c, err := ReadConfig(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			all[strings.TrimSuffix(strings.TrimSuffix(name, ".config"), "_config")] = c
		}
	}
	return all
}

func TestInferEveryConfig(t *testing.T) {
	for name, c := range configs(t) {
		want, ok := inferred[name]
		if !ok {
			t.Errorf("%s: the test does not know this config", name)
			continue
		}
		p, why, err := Profiles().Infer(c)
		if err != nil || p.Name != want {
			t.Errorf("%s: got %v (%s, %v), want %s", name, p, why, err, want)
			continue
		}
		t.Logf("%s: %s, by %s", name, p.Name, why)
		types, err := p.LayerTypes(c)
		if want == "generic" {
			if !errors.Is(err, ErrNoLayers) {
				t.Errorf("%s: got %v, want no layers", name, err)
			}
			continue
		}
		if err != nil || len(types) == 0 {
			t.Errorf("%s: %d layers, %v", name, len(types), err)
		}
	}
}

// kindsOf says how many layers there are of each kind, in order of appearance,
// and what the first and last one are called.
func kindsOf(types []LayerType) string {
	var order []string
	count := map[string]int{}
	for _, l := range types {
		if count[l.Cluster()] == 0 {
			order = append(order, l.Cluster())
		}
		count[l.Cluster()]++
	}
	var b strings.Builder
	for _, name := range order {
		b.WriteString(strings.Repeat(" ", min(b.Len(), 1)) + strconv.Itoa(count[name]) + "x" + name)
	}
	return b.String() + "; " + types[0].String() + " to " + types[len(types)-1].String()
}

func TestLayerTypesOfConfigs(t *testing.T) {
	want := map[string]string{
		"dsv4_csa_hca":                   "2xSWA_ONLY+HASH 1xCSA_C4+HASH 20xHCA_C128 20xCSA_C4; SWA_ONLY+HASH+FIRST to CSA_C4+FINAL",
		"dsv4_flash_0731":                "2xSWA_ONLY+HASH 1xCSA_C4+HASH 20xHCA_C128 20xCSA_C4; SWA_ONLY+HASH+FIRST to CSA_C4+FINAL",
		"dsv4_pro_0813":                  "2xHCA_C128+HASH 1xCSA_C4+HASH 29xHCA_C128 29xCSA_C4; HCA_C128+HASH+FIRST to CSA_C4+FINAL",
		"dsv41":                          "2xSWA_ONLY 18xV41_C2 20xV41_C1; SWA_ONLY+FIRST to V41_C1+FINAL",
		"dsv41_flat_alias":               "2xSWA_ONLY 18xV41_C2 20xV41_C1; SWA_ONLY+FIRST to V41_C1+FINAL",
		"dsv3_mla":                       "3xMLA+DENSE 58xMLA+MOE; MLA+DENSE+FIRST to MLA+MOE+FINAL",
		"lookalike_deepseek_v2_lite":     "1xMLA+DENSE 26xMLA+MOE; MLA+DENSE+FIRST to MLA+MOE+FINAL",
		"mla_dsa":                        "3xDSA_FULL+DENSE 58xDSA_FULL+MOE; DSA_FULL+DENSE+FIRST to DSA_FULL+MOE+FINAL",
		"mla_dsa_glm52":                  "3xDSA_FULL+DENSE 57xDSA_SHARED+MOE 18xDSA_FULL+MOE; DSA_FULL+DENSE+FIRST to DSA_SHARED+MOE+FINAL",
		"kimi_k3":                        "1xKDA+DENSE 68xKDA+MOE 24xMLA+MOE; KDA+DENSE+FIRST to MLA+MOE+FINAL",
		"glm5_next":                      "3xKDA+DENSE 11xDSA+MOE 31xKDA+MOE; KDA+DENSE+FIRST to KDA+MOE+FINAL",
		"hy_v4":                          "1xDSA_FULL+DENSE 20xDSA_FULL+MOE 57xDSA_SHARED+MOE; DSA_FULL+DENSE+FIRST to DSA_FULL+MOE+FINAL",
		"qwen4_exp":                      "36xGDN 12xQSA; GDN+FIRST to QSA+FINAL",
		"nemotron_h":                     "23xMAMBA 23xMOE 6xATTN; MAMBA+FIRST to MOE+FINAL",
		"nemotron_h_block_list":          "23xMAMBA 23xMOE 6xATTN; MAMBA+FIRST to MOE+FINAL",
		"longcat_flash_hf_doubled":       "28xMLA; MLA+FIRST to MLA+FINAL",
		"gemma4":                         "50xSLIDING 10xFULL; SLIDING+FIRST to FULL+FINAL",
		"gemma4_26b_a4b":                 "25xSLIDING+MOE 5xFULL+MOE; SLIDING+MOE+FIRST to FULL+MOE+FINAL",
		"gemma4_e2b":                     "12xSLIDING 3xFULL 16xSLIDING+SHARED_KV 4xFULL+SHARED_KV; SLIDING+FIRST to FULL+SHARED_KV+FINAL",
		"generic_addnorm":                "18xSLIDING 18xFULL; SLIDING+FIRST to FULL+FINAL",
		"generic_addnorm_qwen3_5_397b":   "45xGDN 15xGQA; GDN+FIRST to GQA+FINAL",
		"lookalike_qwen3_next":           "36xGDN 12xGQA; GDN+FIRST to GQA+FINAL",
		"lookalike_kimi_linear_48b":      "1xKDA+DENSE 19xKDA+MOE 7xMLA+MOE; KDA+DENSE+FIRST to MLA+MOE+FINAL",
		"meta-llama--Meta-Llama-3.1-8B":  "32xATTN; ATTN+FIRST to ATTN+FINAL",
		"deepseek-ai--DeepSeek-V4-Flash": "2xSWA_ONLY+HASH 1xCSA_C4+HASH 20xHCA_C128 20xCSA_C4; SWA_ONLY+HASH+FIRST to CSA_C4+FINAL",
	}
	all := configs(t)
	for name, want := range want {
		c := all[name]
		if c == nil {
			t.Errorf("%s: no such config", name)
			continue
		}
		p, _, err := Profiles().Infer(c)
		if err != nil {
			t.Fatal(err)
		}
		types, err := p.LayerTypes(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := kindsOf(types); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func parseConfig(t *testing.T, text string) *Config {
	t.Helper()
	c, err := ParseConfig(strings.NewReader(text), "config.json")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLayerRoles(t *testing.T) {
	for _, text := range []string{
		`{"model_type": "deepseek_v41", "num_hidden_layers": 4, "compress_ratios": [0, 2, 1, 7], "kv_source_layer_ids": [1, 2], "candidate_source_layer_id": 2, "engram_layer_ids": [3]}`,
		`{"num_hidden_layers": 4, "compress_ratios": [0, 2, 1, 7], "kv_source_layers": [1, 2], "candidate_source_layer": 2, "engram_layer_ids": [3]}`,
		`{"model_type": "deepseek_v4.1", "text_config": {"num_hidden_layers": 4, "compress_ratios": [0, 2, 1, 7], "kv_source_layer_ids": [1, 2], "candidate_source_layer_id": 2, "engram_layer_ids": [3]}, "num_hidden_layers": null}`,
	} {
		c := parseConfig(t, text)
		p, why, err := Profiles().Infer(c)
		if err != nil || p.Name != "dsv41" {
			t.Fatalf("%s: got %v by %s, %v", text, p, why, err)
		}
		got, err := p.LayerTypes(c)
		if err != nil {
			t.Fatal(err)
		}
		want := []LayerType{
			{Attention: "SWA_ONLY", Ratio: 0, First: true},
			{Attention: "V41_C2", Ratio: 2, Roles: []string{"KV_SOURCE"}},
			{Attention: "V41_C1", Ratio: 1, Roles: []string{"KV_SOURCE", "CANDIDATE_SOURCE"}},
			{Attention: "RATIO_7", Ratio: 7, Roles: []string{"ENGRAM"}, Last: true},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", text, d)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	tests := []struct{ name, text, profile, field string }{
		{"no JSON", `nonsense`, "", ""},
		{"empty", ``, "", ""},
		{"a list", `[]`, "", ""},
		{"null", `null`, "", ""},
		{"two values", `{} {}`, "", ""},
		{"model_type no string", `{"text_config": {"model_type": 3}}`, "", "text_config.model_type"},
		{"architectures no list", `{"architectures": "A"}`, "", "architectures"},
		{"architecture no string", `{"architectures": [1]}`, "", "architectures"},
		{"no layers", `{"hidden_size": 3}`, "generic", "num_hidden_layers or n_layer or num_layers"},
		{"half a layer", `{"num_hidden_layers": 1.5}`, "generic", "num_hidden_layers"},
		{"minus one layer", `{"num_hidden_layers": -1}`, "generic", "num_hidden_layers"},
		{"a billion layers", `{"num_hidden_layers": 1000000000}`, "generic", "num_hidden_layers"},
		{"layers as text", `{"num_hidden_layers": {}}`, "generic", "num_hidden_layers"},
		{"short ratios", `{"num_hidden_layers": 3, "compress_ratios": [0, 4]}`, "dsv4_csa_hca", "compress_ratios"},
		{"two ratios too many", `{"num_hidden_layers": 1, "compress_ratios": [0, 4, 0]}`, "dsv4_csa_hca", "compress_ratios"},
		{"a ratio as text", `{"num_hidden_layers": 2, "compress_ratios": [0, "x"]}`, "dsv4_csa_hca", "compress_ratios[1]"},
		{"ratios no list", `{"num_hidden_layers": 2, "compress_ratios": 4}`, "dsv4_csa_hca", "compress_ratios"},
		{"hash layers as text", `{"num_hidden_layers": 2, "compress_ratios": [0, 4], "num_hash_layers": "a"}`, "dsv4_csa_hca", "num_hash_layers"},
		{"types too long", `{"num_hidden_layers": 1, "layer_types": ["full_attention", "full_attention"]}`, "gemma4", "layer_types"},
		{"layer ids beyond", `{"num_hidden_layers": 2, "linear_attn_config": {"kda_layers": [0]}}`, "kimi_k3", "linear_attn_config.kda_layers"},
		{"pattern too short", `{"num_hidden_layers": 3, "hybrid_override_pattern": "M*"}`, "nemotron_h", "hybrid_override_pattern"},
		{"every zero", `{"num_hidden_layers": 2, "full_attention_interval": 0}`, "generic_addnorm", "full_attention_interval"},
		{"flag as number", `{"num_hidden_layers": 1, "enable_moe_block": 1}`, "gemma4", "enable_moe_block"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := ParseConfig(strings.NewReader(tt.text), "config.json")
			if tt.profile != "" {
				if err != nil {
					t.Fatal(err)
				}
				p, _ := Profiles().Lookup(tt.profile)
				_, err = p.LayerTypes(c)
			}
			ce, ok := errors.AsType[*ConfigError](err)
			if !ok || ce.File != "config.json" || ce.Field != tt.field || ce.Err == nil {
				t.Errorf("got %v, want a ConfigError of the field %q", err, tt.field)
			}
		})
	}
	if _, err := ReadConfig(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
}

// Identity comes before fields, and model_type before architecture.
func TestInferOrder(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"model_type": "deepseek_v41", "architectures": ["DeepseekV4ForCausalLM"]}`, "dsv41"},
		{`{"architectures": ["DeepseekV4ForCausalLM"], "kv_lora_rank": 512}`, "dsv4_csa_hca"},
		{`{"compress_ratios": [0], "kv_lora_rank": 512, "num_hidden_layers": 1}`, "dsv4_csa_hca"},
		{`{"compress_ratios": [0], "kv_source_layer_ids": [0], "num_hidden_layers": 1}`, "dsv41"},
		{`{"index_topk": 4, "kv_lora_rank": 512, "num_hidden_layers": 1}`, "mla_dsa"},
		{`{"model_type": "deepseek_v3", "index_topk": 4}`, "mla_dsa"},
		{`{"model_type": "deepseek_v3", "index_topk": null}`, "dsv3_mla"},
		{`{"kv_lora_rank": 512, "num_hidden_layers": 1}`, "dsv3_mla"},
		{`{"kv_lora_rank": null, "num_hidden_layers": 1}`, "generic_addnorm"},
		{`{"kv_lora_rank": 512, "linear_attn_config": {}, "num_hidden_layers": 1}`, "generic_addnorm"},
		{`{"language_config": {"model_type": "deepseek_v2"}}`, "dsv3_mla"},
		{`{"llm_config": {"text_config": {"model_type": "nemotron_h"}}}`, "nemotron_h"},
		{`{"model_type": "kimi_linear", "num_hidden_layers": 1, "kv_lora_rank": 1}`, "generic_addnorm"},
		{`{"vision_config": {"model_type": "deepseek_v3"}}`, "generic"},
		{`{}`, "generic"},
	}
	for _, tt := range tests {
		p, why, err := Profiles().Infer(parseConfig(t, tt.text))
		if err != nil || p.Name != tt.want || why == "" {
			t.Errorf("%s: got %v by %q (%v), want %s", tt.text, p, why, err, tt.want)
		}
	}
	if p, _, err := Profiles().Infer(nil); err != nil || p.Name != "generic" {
		t.Errorf("nil: got %v, %v", p, err)
	}
}

func TestConfigFields(t *testing.T) {
	c := parseConfig(t, `{"_name_or_path": "org/model", "a": null, "n": 3, "text_config": {"n": 4, "x": {"y": [1]}, "f": 2.0}}`)
	if n, ok := c.Int("a", "n"); n != 4 || !ok {
		t.Errorf("n is %d, %v: the language model's own field counts", n, ok)
	}
	if n, ok := c.Int("f"); n != 2 || !ok {
		t.Errorf("f is %d, %v", n, ok)
	}
	if c.Has("a") || c.Has("x.z") || c.Has("n.y") || !c.Has("x.y") {
		t.Error("null, missing and nested fields are mixed up")
	}
	if got := []string{c.Text("x.y"), c.Text("a"), c.Name()}; !slices.Equal(got, []string{"[1]", "", "org/model"}) {
		t.Errorf("got %q", got)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"num_hidden_layers": 3, "compress_ratios": [0, 4, 128], "text_config": {"model_type": "deepseek_v4"}}`)
	f.Add(`{"layers_block_type": ["mamba"], "linear_attn_config": {"kda_layers": [1e99]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		if n, ok := c.Int("num_hidden_layers"); ok && n > 1000 {
			return
		}
		for _, p := range Profiles().All() {
			types, err := p.LayerTypes(c)
			if err != nil {
				continue
			}
			for _, l := range types {
				if l.Attention == "" {
					t.Errorf("%s: a layer without a type", p.Name)
				}
			}
		}
	})
}
