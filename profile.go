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
// kernels open its layers, what kernels are called, and which kinds of layers a
// config makes. It is data, of a JSON file (profiles/README.md) or a bare
// pattern, and never changes, so goroutines may share it.
type Profile struct {
	// Name is the profile's name, empty for a bare anchor.
	Name string
	// Comment is what its file says of the family.
	Comment string
	// Blocks is the number of anchors a layer has if they are a kernel that the
	// user names and Anchors does not have.
	Blocks int

	anchor                           string      // literal substring of an anchor's name; empty: no anchor
	rules                            []rule      // the profile's own rules and those it extends, tried before the common ones
	categories                       []ruleGroup // take classes of the common rules together
	anchors                          []Anchor
	labels                           []string // of the blocks of a layer, if it has as many
	identity                         []identity
	simplify                         []replacement
	layerCount                       []string              // fields of the config
	typical                          map[string][2]float64 // share of GPU time in percent, by key
	attentionTypes, additions, roles []layerRule
}

// AnchorProfile returns a profile that knows nothing but its anchor: a kernel is
// an anchor when its name contains pattern, literally and case-sensitively, as
// it stands in the trace. Kernels are named by the common rules. An empty
// pattern matches no kernel.
func AnchorProfile(pattern string) *Profile {
	return &Profile{anchor: pattern}
}

// WithAnchor returns a profile that is p in all but its anchor, which is that of
// [AnchorProfile]. p may be nil.
func (p *Profile) WithAnchor(pattern string) *Profile {
	q := &Profile{}
	if p != nil {
		*q = *p
	}
	q.anchor = pattern
	return q
}

// isAnchor reports whether a kernel of this name opens a layer.
func (p *Profile) isAnchor(name string) bool {
	return p != nil && p.anchor != "" && strings.Contains(name, p.anchor)
}

// Anchors returns the kernels that mark the layers of the family, the one to try
// first in front. The caller may change the slice.
func (p *Profile) Anchors() []Anchor { return slices.Clone(p.anchors) }

// BlockLabels returns the names of the blocks of a layer of k blocks: full; attn
// and ffn; what the profile calls them; else part0, part1 and so on.
func (p *Profile) BlockLabels(k int) []string {
	switch {
	case p != nil && len(p.labels) == k:
		return slices.Clone(p.labels)
	case k == 1:
		return []string{"full"}
	case k == 2:
		return []string{"attn", "ffn"}
	}
	labels := make([]string, k)
	for i := range labels {
		labels[i] = fmt.Sprintf("part%d", i)
	}
	return labels
}

// An Anchor is a kernel that runs a known number of times in each layer.
type Anchor struct {
	Key string // machine name, one in its profile
	// Blocks is how often it runs in a layer: it opens, or closes, a block of it.
	Blocks int
	// Extra is how often it runs in a pass beyond layers times Blocks.
	Extra int
	// Lead is how many kernels of its block come before it. Kernels that LeadKernel
	// knows come before it too, where they stand directly in front.
	Lead int
	// Closes says that it ends its block instead of opening it.
	Closes bool
	// First is the block that the first anchor of a pass opens, counted from the
	// first block of layer 0. Where it is not 0, a kernel of Entry opens layer 0.
	First int
	// Use says what has to be known before layers are cut by it.
	Use AnchorUse
	// Evidence says for a framework how it is known: "trace" (seen in a trace),
	// "source" (read in the framework's source) or "none".
	Evidence map[string]string

	kernels, lead, entry []nameMatch
}

// Matches reports whether a kernel of this name is the anchor.
func (a *Anchor) Matches(name string) bool { return anyHolds(a.kernels, name) }

// LeadKernel reports whether a kernel of this name belongs to the block of the
// anchor that follows it directly.
func (a *Anchor) LeadKernel(name string) bool { return anyHolds(a.lead, name) }

// Entry reports whether a kernel of this name opens layer 0, where a kernel other
// than the anchor does.
func (a *Anchor) Entry(name string) bool { return anyHolds(a.entry, name) }

// AnchorUse says what has to be known before layers are cut by an anchor.
type AnchorUse string

const (
	// UseConfig: the config alone is enough.
	UseConfig AnchorUse = "config"
	// UseConfirmed: passes that labels or launches prove, or the user, confirm it.
	UseConfirmed AnchorUse = "confirmed"
	// UseNamed: the user names it.
	UseNamed AnchorUse = "named"
)

//go:embed profiles/common.json
var commonJSON []byte

// commonProfile returns the rules that hold for every model.
var commonProfile = sync.OnceValue(func() *Profile {
	f, err := parseProfile("common.json", commonJSON)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return &Profile{Name: f.Name, rules: f.rules, anchors: f.anchors}
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
	nameMatch
}

// A nameMatch is a condition on a kernel's name.
type nameMatch struct {
	base *match
	name *match
}

// matches reports whether every part that the condition has holds.
func (c *nameMatch) matches(n *kernelName) bool {
	return (c.base == nil || c.base.holds(&n.path, n.last)) &&
		(c.name == nil || c.name.holds(&n.full, 0))
}

// anyHolds reports whether one of the conditions holds for a name.
func anyHolds(cs []nameMatch, name string) bool {
	if len(cs) == 0 {
		return false
	}
	n := parseName(name)
	for i := range cs {
		if cs[i].matches(&n) {
			return true
		}
	}
	return false
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

// profileFile and the types below are the JSON form; profiles/README.md documents
// the fields.
type profileFile struct {
	Schema      string            `json:"schema"`
	Name        string            `json:"name"`
	Comment     string            `json:"comment"`
	Abstract    bool              `json:"abstract"`
	Extends     string            `json:"extends"`
	Identity    []identityFile    `json:"identity"`
	LayerCount  []string          `json:"layer_count"`
	LayerTypes  layerTypesFile    `json:"layer_types"`
	Blocks      int               `json:"blocks"`
	BlockLabels []string          `json:"block_labels"`
	Anchors     []json.RawMessage `json:"anchors"`
	Categories  []json.RawMessage `json:"categories"`
	Rules       []json.RawMessage `json:"rules"`
	Simplify    []replacement     `json:"simplify"`
}

// A replacement shortens names for tables.
type replacement struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	Comment string `json:"comment"`
}

type identityFile struct {
	ModelTypes    []string `json:"model_types"`
	Architectures []string `json:"architectures"`
	Has           []string `json:"has"`
	Lacks         []string `json:"lacks"`
	Order         int      `json:"order"`
	Comment       string   `json:"comment"`
}

type layerTypesFile struct {
	Comment   string          `json:"comment"`
	Attention []layerRuleFile `json:"attention"`
	Additions []layerRuleFile `json:"additions"`
	Roles     []layerRuleFile `json:"roles"`
}

type layerRuleFile struct {
	Fields  []string          `json:"fields"`
	By      string            `json:"by"`
	Base    int               `json:"base"`
	Values  map[string]string `json:"values"`
	Name    string            `json:"name"`
	Others  string            `json:"others"`
	Unless  string            `json:"unless"`
	With    string            `json:"with"`
	Comment string            `json:"comment"`
}

type anchorFile struct {
	Key      string            `json:"key"`
	Like     string            `json:"like"`
	Comment  string            `json:"comment"`
	Kernels  []conditionFile   `json:"kernels"`
	Blocks   int               `json:"blocks"`
	Extra    int               `json:"extra"`
	Lead     int               `json:"lead"`
	LeadBy   []conditionFile   `json:"lead_kernels"`
	Closes   bool              `json:"closes"`
	First    int               `json:"first"`
	Entry    []conditionFile   `json:"entry"`
	Use      string            `json:"use"`
	Evidence map[string]string `json:"evidence"`
}

type categoryFile struct {
	Key     string    `json:"key"`
	Label   string    `json:"label"`
	Of      []string  `json:"of"`
	Typical []float64 `json:"typical_pct"`
	Comment string    `json:"comment"`
}

type ruleFile struct {
	Key     string    `json:"key"`
	Label   string    `json:"label"`
	Group   string    `json:"group"`
	Comment string    `json:"comment"`
	Typical []float64 `json:"typical_pct"`
	conditionFile
}

type conditionFile struct {
	Base *matchFile `json:"base"`
	Name *matchFile `json:"name"`
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

// A parsedProfile is a file that has been checked by itself.
type parsedProfile struct {
	profileFile
	file       string
	rules      []rule
	anchors    []Anchor
	like       []string // of each anchor
	categories []ruleGroup
	typical    map[string][2]float64
}

// parseProfile reads a profile. Its errors are ProfileErrors that name file and
// the field at fault.
func parseProfile(file string, data []byte) (*parsedProfile, error) {
	fail := func(field string, err error) (*parsedProfile, error) {
		return nil, &ProfileError{File: file, Field: field, Err: err}
	}
	p := &parsedProfile{file: file, typical: map[string][2]float64{}}
	err := decodeStrict(data, &p.profileFile)
	if err == nil {
		err = checkKeys(json.NewDecoder(bytes.NewReader(data)))
	}
	if err != nil {
		return fail("document", err)
	}
	if p.Schema != profileSchema {
		return fail("schema", fmt.Errorf("%q instead of %q", p.Schema, profileSchema))
	}
	if p.Name == "" {
		return fail("name", errors.New("empty"))
	}
	if !isKey(p.Name) {
		return fail("name", fmt.Errorf("%q is not made of a-z, 0-9 and _", p.Name))
	}
	if p.Blocks < 0 || p.Blocks > maxBlocks {
		return fail("blocks", fmt.Errorf("%d instead of 1 to %d", p.Blocks, maxBlocks))
	}
	for i, id := range p.Identity {
		if len(id.ModelTypes)+len(id.Architectures)+len(id.Has)+len(id.Lacks) == 0 && id.Order == 0 {
			return fail(fmt.Sprintf("identity[%d]", i), errors.New("no condition: it would take every config"))
		}
	}
	for _, list := range []struct {
		name  string
		rules []layerRuleFile
	}{{"attention", p.LayerTypes.Attention}, {"additions", p.LayerTypes.Additions}, {"roles", p.LayerTypes.Roles}} {
		for i, r := range list.rules {
			if field, err := r.check(); err != nil {
				return fail(fmt.Sprintf("layer_types.%s[%d]%s", list.name, i, field), err)
			}
		}
	}
	for i, r := range p.Simplify {
		if r.Old == "" {
			return fail(fmt.Sprintf("simplify[%d].old", i), errors.New("empty"))
		}
	}
	for i, raw := range p.profileFile.Anchors {
		a, like, field, err := parseAnchor(raw)
		if err == nil && slices.ContainsFunc(p.anchors, func(b Anchor) bool { return b.Key == a.Key }) {
			field, err = ".key", fmt.Errorf("%q is the key of another anchor too", a.Key)
		}
		if err != nil {
			return fail(fmt.Sprintf("anchors[%d]%s", i, field), err)
		}
		p.anchors, p.like = append(p.anchors, a), append(p.like, like)
	}
	for i, raw := range p.profileFile.Categories {
		c, typical, field, err := parseCategory(raw)
		if err != nil {
			return fail(fmt.Sprintf("categories[%d]%s", i, field), err)
		}
		if typical != nil {
			p.typical[c.key] = [2]float64(typical)
		}
		p.categories = append(p.categories, c)
	}
	seen := make(map[string]int, len(p.profileFile.Rules))
	for i, raw := range p.profileFile.Rules {
		r, typical, field, err := parseRule(raw)
		if err == nil {
			if first, ok := seen[r.class.Key]; ok {
				field, err = ".key", fmt.Errorf("%q is the key of rules[%d] too", r.class.Key, first)
			}
		}
		if err != nil {
			return fail(fmt.Sprintf("rules[%d]%s", i, field), err)
		}
		if typical != nil {
			p.typical[r.class.Key] = [2]float64(typical)
		}
		seen[r.class.Key] = i
		p.rules = append(p.rules, r)
	}
	return p, nil
}

// maxBlocks bounds the blocks of a layer; real ones have 4 at most.
const maxBlocks = 64

// check reports what is wrong with the rule, and in which of its fields.
func (r *layerRuleFile) check() (string, error) {
	switch {
	case !slices.Contains(ruleKinds, r.By):
		return ".by", fmt.Errorf("%q is none of %s", r.By, strings.Join(ruleKinds, ", "))
	case len(r.Fields) == 0 && r.By != "always":
		return ".fields", errors.New("empty")
	case len(r.Values) == 0 && (r.By == "list" || r.By == "letters"):
		return ".values", errors.New("empty")
	case r.Name == "" && r.By != "list" && r.By != "letters":
		return ".name", errors.New("empty")
	}
	return "", nil
}

// parseAnchor reads one anchor, and the key of the one that it is like. The third
// result says where in the anchor the error is.
func parseAnchor(data []byte) (a Anchor, like, field string, err error) {
	var f anchorFile
	if err := decodeStrict(data, &f); err != nil {
		return a, "", "", err
	}
	switch {
	case !isKey(f.Key):
		return a, "", ".key", fmt.Errorf("%q is not made of a-z, 0-9 and _", f.Key)
	case len(f.Kernels) == 0 && f.Like == "":
		return a, "", ".kernels", errors.New("empty: which kernels?")
	case f.Blocks < 1 || f.Blocks > maxBlocks:
		return a, "", ".blocks", fmt.Errorf("%d instead of 1 to %d", f.Blocks, maxBlocks)
	case f.Extra < -maxBlocks || f.Extra > maxBlocks:
		return a, "", ".extra", fmt.Errorf("%d instead of %d to %d", f.Extra, -maxBlocks, maxBlocks)
	case f.First < 0 || f.First > f.Blocks:
		return a, "", ".first", fmt.Errorf("%d instead of 0 to %d", f.First, f.Blocks)
	case f.Lead < 0 || f.Lead > 1000:
		return a, "", ".lead", fmt.Errorf("%d instead of 0 to 1000", f.Lead)
	case !slices.Contains([]AnchorUse{UseConfig, UseConfirmed, UseNamed}, AnchorUse(f.Use)):
		return a, "", ".use", fmt.Errorf("%q instead of config, confirmed or named", f.Use)
	}
	for framework, e := range f.Evidence {
		if e != "trace" && e != "source" && e != "none" {
			return a, "", ".evidence." + framework, fmt.Errorf("%q instead of trace, source or none", e)
		}
	}
	a = Anchor{Key: f.Key, Blocks: f.Blocks, Extra: f.Extra, Lead: f.Lead, Closes: f.Closes,
		First: f.First, Use: AnchorUse(f.Use), Evidence: f.Evidence}
	for _, l := range []struct {
		name string
		from []conditionFile
		to   *[]nameMatch
	}{{".kernels", f.Kernels, &a.kernels}, {".lead_kernels", f.LeadBy, &a.lead}, {".entry", f.Entry, &a.entry}} {
		for i := range l.from {
			c, field, err := l.from[i].compile()
			if err != nil {
				return a, "", fmt.Sprintf("%s[%d]%s", l.name, i, field), err
			}
			*l.to = append(*l.to, c)
		}
	}
	return a, f.Like, "", nil
}

// A ruleGroup is a category that takes classes of the common rules together.
type ruleGroup struct {
	key, label string
	of         []string // keys; one that ends in * is the beginning of several
}

// takes reports whether the category holds the rule of this key.
func (g *ruleGroup) takes(key string) bool {
	for _, of := range g.of {
		if start, ok := strings.CutSuffix(of, "*"); of == key || ok && strings.HasPrefix(key, start) {
			return true
		}
	}
	return false
}

// parseCategory reads one category, and its typical share.
func parseCategory(data []byte) (ruleGroup, []float64, string, error) {
	var f categoryFile
	if err := decodeStrict(data, &f); err != nil {
		return ruleGroup{}, nil, "", err
	}
	switch {
	case !isKey(f.Key) || f.Key == "other":
		return ruleGroup{}, nil, ".key", fmt.Errorf("%q is not made of a-z, 0-9 and _, or other", f.Key)
	case len(f.Of) == 0 || slices.Contains(f.Of, "") || slices.Contains(f.Of, "*"):
		return ruleGroup{}, nil, ".of", errors.New("no keys, or all of them")
	case f.Label == "":
		return ruleGroup{}, nil, ".label", errors.New("empty")
	}
	if err := checkRuleLabel(f.Label); err != nil {
		return ruleGroup{}, nil, ".label", err
	}
	if err := checkTypical(f.Typical); err != nil {
		return ruleGroup{}, nil, ".typical_pct", err
	}
	return ruleGroup{f.Key, f.Label, f.Of}, f.Typical, "", nil
}

func checkRuleLabel(s string) error {
	if s != printable(s) {
		return fmt.Errorf("%q has outer blanks or characters that cannot be printed", s)
	}
	if utf8.RuneCountInString(s) > maxLabel {
		return fmt.Errorf("%q is longer than %d characters", s, maxLabel)
	}
	return nil
}

// checkTypical checks a share: from and to, in percent.
func checkTypical(share []float64) error {
	if share != nil && (len(share) != 2 || share[0] < 0 || share[0] > share[1] || share[1] > 100) {
		return fmt.Errorf("%v instead of [from, to] in percent", share)
	}
	return nil
}

// parseRule reads one rule, and its typical share. The third result says where in
// the rule the error is.
func parseRule(data []byte) (rule, []float64, string, error) {
	var f ruleFile
	if err := decodeStrict(data, &f); err != nil {
		return rule{}, nil, "", err
	}
	switch {
	case !isKey(f.Key):
		return rule{}, nil, ".key", fmt.Errorf("%q is not made of a-z, 0-9 and _", f.Key)
	case f.Key == "other":
		return rule{}, nil, ".key", errors.New("other is the key of kernels that no rule matches")
	case !slices.Contains(groups, f.Group):
		return rule{}, nil, ".group", fmt.Errorf("unknown group %q", f.Group)
	}
	if err := checkRuleLabel(f.Label); err != nil {
		return rule{}, nil, ".label", err
	}
	if err := checkTypical(f.Typical); err != nil {
		return rule{}, nil, ".typical_pct", err
	}
	c, field, err := f.compile()
	if err != nil {
		return rule{}, nil, field, err
	}
	return rule{Class{Key: f.Key, Label: f.Label, Group: f.Group}, c}, f.Typical, "", nil
}

// compile checks a condition and prepares it. The second result says where in it
// the error is.
func (f *conditionFile) compile() (c nameMatch, field string, err error) {
	if f.Base == nil && f.Name == nil {
		return c, "", errors.New("neither base nor name: it would match every kernel")
	}
	if c.base, field, err = f.Base.compile(); err != nil {
		return c, ".base" + field, err
	}
	if c.name, field, err = f.Name.compile(); err != nil {
		return c, ".name" + field, err
	}
	return c, "", nil
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
