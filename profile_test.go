package tracelayer

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testProfile wraps rules in a profile file.
func testProfile(rules string) string {
	return `{"schema": "tracelayer/profile/1", "name": "test", "rules": [` + rules + `]}`
}

func TestParseProfileRefuses(t *testing.T) {
	const good = `{"key": "a", "group": "norm", "base": {"any": ["x"]}}`
	tests := []struct {
		name, in, field string
	}{
		{"no JSON", `nonsense`, "document"},
		{"empty", ``, "document"},
		{"cut off", testProfile(good)[:60], "document"},
		{"second value", testProfile(good) + `{}`, "document"},
		{"unknown field", `{"schema": "tracelayer/profile/1", "name": "a", "anchor": 1}`, "document"},
		{"other schema", `{"schema": "tracelayer/profile/2", "name": "a"}`, "schema"},
		{"no schema", `{"name": "a"}`, "schema"},
		{"no name", `{"schema": "tracelayer/profile/1"}`, "name"},
		{"field twice", `{"schema": "tracelayer/profile/1", "name": "a", "name": "b"}`, "document"},
		{"field twice, nested", testProfile(`{"key": "a", "group": "norm", "base": {"any": ["x"], "any": ["y"]}}`), "document"},
		{"unknown field of a rule", testProfile(good + `, {"key": "b", "grop": "norm"}`), "rules[1]"},
		{"unknown field of a condition", testProfile(`{"key": "a", "group": "norm", "base": {"any": ["x"], "nor": ["y"]}}`), "rules[0]"},
		{"wrong type", testProfile(`{"key": "a", "group": "norm", "base": {"any": "x"}}`), "rules[0]"},
		{"no key", testProfile(`{"group": "norm", "base": {"any": ["x"]}}`), "rules[0].key"},
		{"odd key", testProfile(`{"key": "a b", "group": "norm", "base": {"any": ["x"]}}`), "rules[0].key"},
		{"key twice", testProfile(good + "," + good), "rules[1].key"},
		{"unknown group", testProfile(`{"key": "a", "group": "gemm", "base": {"any": ["x"]}}`), "rules[0].group"},
		{"label with a control byte", testProfile(`{"key": "a", "label": "\u0007", "group": "norm", "base": {"any": ["x"]}}`), "rules[0].label"},
		{"blank label", testProfile(`{"key": "a", "label": " ", "group": "norm", "base": {"any": ["x"]}}`), "rules[0].label"},
		{"long label", testProfile(`{"key": "a", "label": "` + strings.Repeat("a", 41) + `", "group": "norm", "base": {"any": ["x"]}}`), "rules[0].label"},
		{"reserved key", testProfile(`{"key": "other", "group": "norm", "base": {"any": ["x"]}}`), "rules[0].key"},
		{"field twice, other case", testProfile(`{"key": "a", "Key": "b", "group": "norm", "base": {"any": ["x"]}}`), "document"},
		{"no condition", testProfile(`{"key": "a", "group": "norm"}`), "rules[0]"},
		{"empty condition", testProfile(`{"key": "a", "group": "norm", "base": {}}`), "rules[0].base"},
		{"nothing but not", testProfile(`{"key": "a", "group": "norm", "base": {"not": ["x"]}}`), "rules[0].base"},
		{"empty string", testProfile(`{"key": "a", "group": "norm", "name": {"all": ["x", ""]}}`), "rules[0].name.all"},
		{"bad regexp", testProfile(`{"key": "a", "group": "norm", "name": {"regexp": "(x"}}`), "rules[0].name.regexp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseProfile("test.json", []byte(tt.in))
			pe, ok := errors.AsType[*ProfileError](err)
			if !ok {
				t.Fatalf("got %v, want a ProfileError", err)
			}
			if pe.File != "test.json" || pe.Field != tt.field || pe.Err == nil {
				t.Errorf("got file %q, field %q (%v), want field %q", pe.File, pe.Field, pe.Err, tt.field)
			}
		})
	}
}

// testedProfile makes the profile of one file, which need not have anchors.
func testedProfile(file string) (*Profile, error) {
	f, err := parseProfile("test.json", []byte(file))
	if err != nil {
		return nil, err
	}
	f.Abstract = true
	return f.profile([]*parsedProfile{f})
}

func TestProfileRulesComeFirst(t *testing.T) {
	p, err := testedProfile(testProfile(
		`{"key": "mine", "label": "Mine", "group": "mhc", "base": {"is": ["agg_kernel", "rms_norm_kernel"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Classify(p, "_agg_kernel"), (Class{"mine", "Mine", "mhc"}); got != want {
		t.Errorf("own rule: got %v, want %v", got, want)
	}
	if got := Classify(p, "void vllm::rms_norm_kernel<int>(int)").Key; got != "mine" {
		t.Errorf("own rule before the common one: got %q", got)
	}
	if got := Classify(p, "nvjet_tst_64x64").Group; got != "gemm_bf16" {
		t.Errorf("common rules after the own ones: got %q", got)
	}
}

func TestMatch(t *testing.T) {
	const name = "void ns::_Foo_bar<Arg, 3>(int)"
	tests := []struct {
		cond string
		want bool
	}{
		{`"base": {"any": ["nope", "Foo"]}`, true},
		{`"base": {"any": ["foo"]}`, false},
		{`"base": {"any": ["FOO"], "fold": true}`, true},
		{`"base": {"any": ["Arg"]}`, false},
		{`"name": {"any": ["Arg"]}`, true},
		{`"base": {"all": ["Foo", "bar"]}`, true},
		{`"base": {"all": ["Foo", "baz"]}`, false},
		{`"base": {"any": ["Foo"], "not": ["bar"]}`, false},
		{`"base": {"all": ["Foo"], "any": ["nope"]}`, false},
		{`"base": {"prefix": ["Foo"]}`, true},
		{`"base": {"prefix": ["ns"]}`, false},
		{`"base": {"is": ["Foo_bar"]}`, true},
		{`"base": {"is": ["Foo"]}`, false},
		{`"base": {"any": ["nope"], "is": ["foo_bar"], "fold": true}`, true},
		{`"base": {"regexp": "^ns::_F.o"}`, true},
		{`"base": {"regexp": "^foo"}`, false},
		{`"base": {"any": ["Foo"]}, "name": {"regexp": "<Arg, (?:\\(int\\))?3>"}`, true},
		{`"base": {"any": ["Foo"]}, "name": {"regexp": "<Arg, 4>"}`, false},
	}
	for _, tt := range tests {
		p, err := testedProfile(testProfile(`{"key": "hit", "group": "norm", ` + tt.cond + `}`))
		if err != nil {
			t.Fatalf("%s: %v", tt.cond, err)
		}
		if got := Classify(p, name).Key == "hit"; got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.cond, got, tt.want)
		}
	}
}

func TestCommonProfile(t *testing.T) {
	p := commonProfile()
	if p.Name != "common" || len(p.rules) < 100 {
		t.Errorf("got %q with %d rules", p.Name, len(p.rules))
	}
}

// fuzzConfig is a config of a few layers with a field of each kind.
func fuzzConfig() *Config {
	c, err := ParseConfig(strings.NewReader(`{"num_hidden_layers": 3, "a": [1, 2, 3], "b": "xyz", "c": 2, "d": true}`), "fuzz")
	if err != nil {
		panic(err)
	}
	return c
}

func FuzzParseProfile(f *testing.F) {
	f.Add(commonJSON)
	f.Add([]byte(testProfile(`{"key": "a", "label": "A", "group": "norm", "name": {"regexp": "a|b", "fold": true}}`)))
	f.Add([]byte(`{"a": [{"b": {}}], "a": 1e999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseProfile("fuzz.json", data)
		if err == nil {
			p.Extends = ""
			q, err := p.profile([]*parsedProfile{p})
			if err == nil {
				Classify(q, "void ns::name<int>(int)")
				_, _, _ = (&ProfileSet{all: []*Profile{q}}).Infer(nil)
				_, _ = q.LayerTypes(fuzzConfig())
			}
			return
		}
		if pe, ok := errors.AsType[*ProfileError](err); !ok || pe.Field == "" || pe.Err == nil {
			t.Errorf("got %v, want a ProfileError", err)
		}
	})
}

// The groups are listed in the README too, and its example must hold.
func TestProfilesREADME(t *testing.T) {
	data, err := os.ReadFile("profiles/README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	_, rest, _ := strings.Cut(readme, "```json\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no example")
	}
	if _, err := parseProfile("README.md", []byte(example)); err != nil {
		t.Error(err)
	}
	_, rest, _ = strings.Cut(readme, "| `group` | one of ")
	line, _, _ := strings.Cut(rest, "|")
	if got := regexp.MustCompile(`\w+`).FindAllString(line, -1); !slices.Equal(got, groups) {
		t.Errorf("groups: got %q, want %q", got, groups)
	}
}

func TestAnchor(t *testing.T) {
	const name = "void aiter::PA_bf16.x<1>(int)"
	tests := []struct {
		pattern string
		want    bool
	}{
		{"PA_bf16.x", true},
		{"void aiter", true}, // the name as it stands in the trace
		{"pa_bf16", false},   // case matters
		{"PA_.*", false},     // literal
		{"", false},
	}
	for _, tt := range tests {
		p := AnchorProfile(tt.pattern)
		if p.Name != "" || p.anchor != tt.pattern {
			t.Errorf("got name %q, anchor %q", p.Name, p.anchor)
		}
		if got := p.isAnchor(name); got != tt.want {
			t.Errorf("%q: got %t, want %t", tt.pattern, got, tt.want)
		}
	}
	if (*Profile)(nil).isAnchor(name) {
		t.Error("a nil profile has no anchor")
	}
}
