package tracelayer

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed profiles/*.json
var profileFiles embed.FS

// A ProfileSet holds profiles by name. It never changes, so goroutines may share it.
type ProfileSet struct {
	all []*Profile // by name
}

// Profiles returns the profiles that are part of the library.
func Profiles() *ProfileSet { return builtIn() }

var builtIn = sync.OnceValue(func() *ProfileSet {
	files, err := readProfileFiles(profileFiles, "profiles/*.json")
	if err == nil {
		var s *ProfileSet
		if s, err = resolve(files); err == nil {
			return s
		}
	}
	panic(err) // the files are part of the program, and a test reads them
})

// ReadProfiles reads the profiles in the files that match the pattern, in the
// form that profiles/README.md describes, and returns them together with those of
// the library. They may extend any of them, and one that has the name of one of
// the library's takes its place. Errors are *ProfileErrors, or those of fsys and
// [path.Match]; that nothing matches is one.
func ReadProfiles(fsys fs.FS, pattern string) (*ProfileSet, error) {
	own, err := readProfileFiles(fsys, pattern)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return nil, &ProfileError{File: pattern, Field: "document", Err: errors.New("no file of this name")}
	}
	files, err := readProfileFiles(profileFiles, "profiles/*.json")
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f *parsedProfile) bool {
		return slices.ContainsFunc(own, func(g *parsedProfile) bool { return g.Name == f.Name })
	})
	return resolve(append(own, files...))
}

// readProfileFiles reads files, each by itself, in order of their names.
func readProfileFiles(fsys fs.FS, pattern string) ([]*parsedProfile, error) {
	names, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var files []*parsedProfile
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := parseProfile(path.Base(name), data)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// resolve makes profiles of files: what one does not have comes from the one that
// it extends. The files of a user come first.
func resolve(files []*parsedProfile) (*ProfileSet, error) {
	byName := map[string]*parsedProfile{}
	for _, f := range files {
		if g := byName[f.Name]; g != nil {
			return nil, &ProfileError{File: f.file, Field: "name", Err: fmt.Errorf("%q is the name of %s too", f.Name, g.file)}
		}
		byName[f.Name] = f
	}
	s := &ProfileSet{}
	for _, f := range files {
		chain, err := ancestors(f, byName)
		if err != nil {
			return nil, err
		}
		p, err := f.profile(chain)
		if err != nil {
			return nil, err
		}
		if !f.Abstract {
			s.all = append(s.all, p)
		}
	}
	slices.SortFunc(s.all, func(a, b *Profile) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// ancestors returns a file and those that it extends, the nearest first.
func ancestors(f *parsedProfile, byName map[string]*parsedProfile) ([]*parsedProfile, error) {
	chain := []*parsedProfile{f}
	for last := f; last.Extends != ""; last = chain[len(chain)-1] {
		next := byName[last.Extends]
		if next == nil {
			return nil, &ProfileError{File: last.file, Field: "extends", Err: fmt.Errorf("no profile is called %q", last.Extends)}
		}
		if slices.Contains(chain, next) {
			return nil, &ProfileError{File: last.file, Field: "extends", Err: fmt.Errorf("%q extends itself", next.Name)}
		}
		chain = append(chain, next)
	}
	return chain, nil
}

// profile makes the profile of a file and those that it extends.
func (f *parsedProfile) profile(chain []*parsedProfile) (*Profile, error) {
	p := &Profile{Name: f.Name, Comment: f.Comment, Blocks: 1, typical: map[string][2]float64{}}
	for i := len(chain) - 1; i >= 0; i-- { // the nearest one's say is the last
		c := chain[i]
		if c.Blocks > 0 {
			p.Blocks = c.Blocks
		}
		if c.BlockLabels != nil {
			p.labels = c.BlockLabels
		}
		if c.LayerCount != nil {
			p.layerCount = c.LayerCount
		}
		if t := c.LayerTypes; t.Attention != nil || t.Additions != nil || t.Roles != nil {
			p.attentionTypes, p.additions, p.roles = layerRules(t.Attention), layerRules(t.Additions), layerRules(t.Roles)
		}
		if c.anchors != nil {
			p.anchors = nil
			for j, a := range c.anchors {
				if err := a.likeOther(c.like[j], chain[i+1:]); err != nil {
					return nil, &ProfileError{File: c.file, Field: fmt.Sprintf("anchors[%d].like", j), Err: err}
				}
				p.anchors = append(p.anchors, a)
			}
		}
		maps.Copy(p.typical, c.typical)
	}
	for _, c := range chain {
		p.rules = append(p.rules, c.rules...)
		p.categories = append(p.categories, c.categories...)
		p.simplify = append(p.simplify, c.Simplify...)
	}
	for _, id := range f.Identity {
		p.identity = append(p.identity, identity(id))
	}
	if !f.Abstract && len(p.anchors) == 0 {
		return nil, &ProfileError{File: f.file, Field: "anchors", Err: errors.New("missing: no kernel marks a layer")}
	}
	return p, nil
}

// likeOther takes the kernels, the entry and the evidence that an anchor does not
// give itself from the anchor of this key that an extended profile has, or the
// common one.
func (a *Anchor) likeOther(key string, chain []*parsedProfile) error {
	if key == "" {
		return nil
	}
	lists := [][]Anchor{}
	for _, c := range chain {
		lists = append(lists, c.anchors)
	}
	for _, list := range append(lists, commonProfile().anchors) {
		for _, b := range list {
			if b.Key != key || b.kernels == nil {
				continue
			}
			if a.kernels == nil {
				a.kernels = b.kernels
			}
			if a.entry == nil {
				a.entry = b.entry
			}
			if a.lead == nil {
				a.lead = b.lead
			}
			if a.Evidence == nil {
				a.Evidence = b.Evidence
			}
			return nil
		}
	}
	return fmt.Errorf("no anchor %q that names kernels, in what it extends", key)
}

func layerRules(files []layerRuleFile) []layerRule {
	var rules []layerRule
	for _, f := range files {
		rules = append(rules, layerRule{f.Fields, f.By, f.Base, f.Values, f.Name, f.Others, f.Unless, f.With})
	}
	return rules
}

// All returns the profiles by name. The caller may change the slice.
func (s *ProfileSet) All() []*Profile { return slices.Clone(s.all) }

// Lookup returns the profile of this name.
func (s *ProfileSet) Lookup(name string) (*Profile, bool) {
	for _, p := range s.all {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// Any returns a profile that has the rules of all families, for kernels of a
// model that is not known. It is called any, and has no anchors.
func (s *ProfileSet) Any() *Profile {
	p := &Profile{Name: "any", Blocks: 1}
	seen := map[string]bool{}
	for _, q := range s.all {
		for _, r := range q.rules {
			if !seen[r.class.Key] {
				seen[r.class.Key] = true
				p.rules = append(p.rules, r)
			}
		}
	}
	return p
}

// TypicalShare returns the share of GPU time that a category usually has, in
// percent, and false where the profile does not know.
func (p *Profile) TypicalShare(key string) (from, to float64, ok bool) {
	share, ok := p.typical[key]
	return share[0], share[1], ok
}

// An identity is one way to know a family by its config: all that it has must hold.
type identity identityFile

// The stages of Infer: what identifies a model, the most telling first.
const (
	byModelType = iota
	byArchitecture
	byFields
	numStages
)

// match reports whether the config is of this identity, at a stage, and by what.
func (id *identity) match(c *Config, stage int) (why string, ok bool) {
	for _, f := range id.Has {
		if !c.Has(f) {
			return "", false
		}
	}
	if slices.ContainsFunc(id.Lacks, c.Has) {
		return "", false
	}
	switch stage {
	case byModelType:
		why, ok = oneOf("model_type", id.ModelTypes, c.ModelTypes)
	case byArchitecture:
		why, ok = oneOf("architecture", id.Architectures, c.Architectures)
	default:
		ok = len(id.ModelTypes)+len(id.Architectures) == 0
	}
	if ok && len(id.Has) > 0 {
		if why != "" {
			why += " with "
		}
		why += strings.Join(id.Has, " and ")
	}
	if ok && why == "" {
		why = "nothing in the config tells more"
	}
	return why, ok
}

// oneOf returns the first of the config's values that is wanted.
func oneOf(what string, wanted, have []string) (string, bool) {
	for _, v := range have {
		if slices.Contains(wanted, v) {
			return what + " " + v, true
		}
	}
	return "", false
}

// Infer chooses the profile for a model's config: by model_type, else by
// architecture, else by the fields that it has; why says by which. A nil config
// is one without fields. That two profiles claim the config alike is an error, and
// so is that none does, which the library's own set never says.
func (s *ProfileSet) Infer(c *Config) (p *Profile, why string, err error) {
	if c == nil {
		c = &Config{}
	}
	for stage := range numStages {
		order := 0
		for _, q := range s.all {
			for i := range q.identity {
				id := &q.identity[i]
				w, ok := id.match(c, stage)
				switch {
				case !ok || p != nil && id.Order > order:
				case p == nil || id.Order < order:
					p, why, order, err = q, w, id.Order, nil
				case q != p:
					err = c.fail("", fmt.Errorf("%s and %s both claim it (%s): choose a profile", p.Name, q.Name, w))
				}
			}
		}
		if err != nil {
			return nil, "", err
		}
		if p != nil {
			return p, why, nil
		}
	}
	return nil, "", c.fail("", errors.New("no profile claims it"))
}
