package tracelayer

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goccy/go-json"
)

// profileSchema is the only value of a profile's "schema" field that this
// version reads.
const profileSchema = "tracelayer/profile/1"

// A Profile says how the kernels of one family of models are recognised: which
// kernel opens a layer and what kernels are called. It is data, of the
// library's JSON rules (profiles/README.md) or a bare pattern, and never
// changes, so goroutines may share it.
type Profile struct {
	// Name is the profile's name, empty for a bare anchor.
	Name string

	anchor string // literal substring of an anchor's name; empty: no anchor
	rules  []rule // the profile's own rules, tried before the common ones
}

// AnchorProfile returns a profile that knows nothing but its anchor: a kernel is
// an anchor when its name contains pattern, literally and case-sensitively, as
// it stands in the trace. Kernels are named by the common rules. An empty
// pattern matches no kernel.
func AnchorProfile(pattern string) *Profile {
	return &Profile{anchor: pattern}
}

// isAnchor reports whether a kernel of this name opens a layer.
func (p *Profile) isAnchor(name string) bool {
	return p != nil && p.anchor != "" && strings.Contains(name, p.anchor)
}

//go:embed profiles/common.json
var commonJSON []byte

// commonProfile returns the rules that hold for every model.
var commonProfile = sync.OnceValue(func() *Profile {
	p, err := parseProfile("common.json", commonJSON)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return p
})

// groups are the values that a rule's group may have, and "other" for a kernel
// that no rule knows.
var groups = []string{
	"activation", "attention", "comm", "compressor", "conv", "copy",
	"elementwise", "embedding", "gemm_bf16", "gemm_fp4", "gemm_fp8",
	"gemm_other", "hadamard", "indexer", "kv_meta", "kv_store", "linear_attn",
	"memset", "mhc", "mla", "moe_combine", "moe_gemm", "moe_routing", "norm",
	"other", "quant", "rope", "sampling", "softmax", "sort", "spec",
}

// A rule gives a class to the kernels that it matches.
type rule struct {
	class Class // an empty Label stands for the kernel's simplified name
	base  *match
	name  *match
}

// matches reports whether every condition that the rule has holds.
func (r *rule) matches(n *kernelName) bool {
	return (r.base == nil || r.base.holds(&n.path, n.last)) &&
		(r.name == nil || r.name.holds(&n.full, 0))
}

// A match is a condition on a text: all must occur and none of not, and at least
// one of the other lists must apply, if there is any.
type match struct {
	any, all, not []pattern // substrings
	prefix, is    []pattern // beginnings and whole values of the last component
	re            *regexp.Regexp
	fold          bool // compare in lower case; the lists are in lower case already
}

// A pattern is a substring to look for, with its signature.
type pattern struct {
	s   string
	sig signature
}

// in reports whether the pattern occurs in s, whose signature is sig.
func (p *pattern) in(s string, sig *signature) bool {
	return sig.covers(&p.sig) && strings.Contains(s, p.s)
}

// A signature is a set of 256 hash values of the pairs of bytes in a text. A
// pattern with a pair that the text lacks cannot occur in it. That answers
// nearly all of the hundreds of questions that the rules ask of a name, three
// times as fast as searching.
type signature [4]uint64

func newSignature(s string) (sig signature) {
	for i := 1; i < len(s); i++ {
		h := (uint32(s[i-1])<<8 | uint32(s[i])) * 0x9E3779B1 >> 24
		sig[h>>6] |= 1 << (h & 63)
	}
	return sig
}

// covers reports whether s holds all values of t.
func (s *signature) covers(t *signature) bool {
	return t[0]&^s[0]|t[1]&^s[1]|t[2]&^s[2]|t[3]&^s[3] == 0
}

// holds applies m to a text, whose last component begins at last.
func (m *match) holds(t *text, last int) bool {
	s, sig := t.form(m.fold)
	for i := range m.all {
		if !m.all[i].in(s, sig) {
			return false
		}
	}
	return m.alternative(s, sig, last) && !anyIn(m.not, s, sig)
}

// alternative reports whether one of the alternatives applies. The regular
// expression comes last, because it costs the most.
func (m *match) alternative(s string, sig *signature, last int) bool {
	if len(m.any) == 0 && len(m.prefix) == 0 && len(m.is) == 0 && m.re == nil {
		return true
	}
	if anyIn(m.any, s, sig) {
		return true
	}
	// Lower case of letters that are not ASCII can differ in length.
	base := s[min(last, len(s)):]
	for i := range m.prefix {
		if strings.HasPrefix(base, m.prefix[i].s) {
			return true
		}
	}
	for i := range m.is {
		if base == m.is[i].s {
			return true
		}
	}
	return m.re != nil && m.re.MatchString(s)
}

// anyIn reports whether one of the patterns occurs in s, whose signature is sig.
func anyIn(ps []pattern, s string, sig *signature) bool {
	for i := range ps {
		if ps[i].in(s, sig) {
			return true
		}
	}
	return false
}

// profileFile, ruleFile and matchFile are the JSON form; profiles/README.md
// documents the fields.
type profileFile struct {
	Schema  string            `json:"schema"`
	Name    string            `json:"name"`
	Comment string            `json:"comment"`
	Rules   []json.RawMessage `json:"rules"`
}

type ruleFile struct {
	Key     string     `json:"key"`
	Label   string     `json:"label"`
	Group   string     `json:"group"`
	Comment string     `json:"comment"`
	Base    *matchFile `json:"base"`
	Name    *matchFile `json:"name"`
}

type matchFile struct {
	Any    []string `json:"any"`
	All    []string `json:"all"`
	Not    []string `json:"not"`
	Prefix []string `json:"prefix"`
	Is     []string `json:"is"`
	Regexp string   `json:"regexp"`
	Fold   bool     `json:"fold"`
}

// parseProfile reads a profile. Its errors are ProfileErrors that name file and
// the field at fault.
func parseProfile(file string, data []byte) (*Profile, error) {
	var f profileFile
	err := decodeStrict(data, &f)
	if err == nil {
		err = checkKeys(json.NewDecoder(bytes.NewReader(data)))
	}
	if err != nil {
		return nil, &ProfileError{File: file, Field: "document", Err: err}
	}
	if f.Schema != profileSchema {
		err := fmt.Errorf("%q instead of %q", f.Schema, profileSchema)
		return nil, &ProfileError{File: file, Field: "schema", Err: err}
	}
	if f.Name == "" {
		return nil, &ProfileError{File: file, Field: "name", Err: errors.New("empty")}
	}
	p := &Profile{Name: f.Name, rules: make([]rule, 0, len(f.Rules))}
	seen := make(map[string]int, len(f.Rules))
	for i, raw := range f.Rules {
		r, field, err := parseRule(raw)
		if err == nil {
			if first, ok := seen[r.class.Key]; ok {
				field, err = ".key", fmt.Errorf("%q is the key of rules[%d] too", r.class.Key, first)
			}
		}
		if err != nil {
			return nil, &ProfileError{File: file, Field: fmt.Sprintf("rules[%d]%s", i, field), Err: err}
		}
		seen[r.class.Key] = i
		p.rules = append(p.rules, r)
	}
	return p, nil
}

// parseRule reads one rule. The second result says where in the rule the error is.
func parseRule(data []byte) (rule, string, error) {
	var f ruleFile
	if err := decodeStrict(data, &f); err != nil {
		return rule{}, "", err
	}
	switch {
	case !isKey(f.Key):
		return rule{}, ".key", fmt.Errorf("%q is not made of a-z, 0-9 and _", f.Key)
	case f.Key == "other":
		return rule{}, ".key", errors.New("other is the key of kernels that no rule matches")
	case !slices.Contains(groups, f.Group):
		return rule{}, ".group", fmt.Errorf("unknown group %q", f.Group)
	case f.Label != printable(f.Label):
		return rule{}, ".label", fmt.Errorf("%q has outer blanks or characters that cannot be printed", f.Label)
	case utf8.RuneCountInString(f.Label) > maxLabel:
		return rule{}, ".label", fmt.Errorf("%q is longer than %d characters", f.Label, maxLabel)
	case f.Base == nil && f.Name == nil:
		return rule{}, "", errors.New("neither base nor name: it would match every kernel")
	}
	r := rule{class: Class{Key: f.Key, Label: f.Label, Group: f.Group}}
	var field string
	var err error
	if r.base, field, err = f.Base.compile(); err != nil {
		return rule{}, ".base" + field, err
	}
	if r.name, field, err = f.Name.compile(); err != nil {
		return rule{}, ".name" + field, err
	}
	return r, "", nil
}

func isKey(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	return s != "" && strings.Trim(s, letters) == ""
}

// compile checks a condition and prepares it. A nil condition stays nil.
func (f *matchFile) compile() (*match, string, error) {
	if f == nil {
		return nil, "", nil
	}
	m := &match{fold: f.Fold}
	lists := []struct {
		name string
		from []string
		to   *[]pattern
	}{
		{".any", f.Any, &m.any}, {".all", f.All, &m.all}, {".not", f.Not, &m.not},
		{".prefix", f.Prefix, &m.prefix}, {".is", f.Is, &m.is},
	}
	conditions := 0
	for _, l := range lists {
		for _, s := range l.from {
			if s == "" {
				return nil, l.name, errors.New("an empty string matches every kernel")
			}
			if f.Fold {
				s = strings.ToLower(s)
			}
			*l.to = append(*l.to, pattern{s, newSignature(s)})
			conditions++
		}
	}
	if f.Regexp != "" {
		re, err := regexp.Compile(f.Regexp)
		if err != nil {
			return nil, ".regexp", err
		}
		m.re = re
		conditions++
	}
	if conditions == len(m.not) {
		return nil, "", errors.New("no condition but not: it would match nearly every kernel")
	}
	return m, "", nil
}

// decodeStrict reads the one JSON value that data holds and refuses fields that
// v does not have, at any depth.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if err := dec.Decode(new(json.RawMessage)); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// checkKeys refuses an object that has a field twice: a decoder would keep the
// last one in silence, and with it lose half of a rule. It reads one value.
func checkKeys(dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			field := strings.ToLower(fmt.Sprint(key)) // the decoder does not mind the case
			if seen[field] {
				return fmt.Errorf("field %q twice in one object", field)
			}
			seen[field] = true
			if err := checkKeys(dec); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for dec.More() {
			if err := checkKeys(dec); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = dec.Token() // the closing bracket
	return err
}
