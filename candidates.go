package tracelayer

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A Candidate is a text that could serve as the anchor: the names of kernels
// up to their template arguments or parameters.
type Candidate struct {
	Name     string  // a literal part of the names
	Count    int     // kernels that have it
	Evenness float64 // share of the gaps between them that equal the most frequent one, 0 to 1
	Between  int     // the most frequent gap: kernels from one to the next
}

// maxCandidates is how many candidates an error lists.
const maxCandidates = 8

// candidates ranks the names of the selected kernels as anchors: attention
// before all else, since a layer has one of it, then by evenness of spacing and
// count. What occurs fewer than three times has no spacing to judge, and what
// mostly follows itself is a loop and not a layer.
func candidates(s *Segments) []Candidate {
	var all []Candidate
	for name, gaps := range s.gapsByName() {
		if len(gaps) < 2 {
			continue
		}
		if top := countGaps(gaps)[0]; top.Kernels > 1 {
			all = append(all, Candidate{name, len(gaps) + 1, float64(top.Count) / float64(len(gaps)), top.Kernels})
		}
	}
	isAttention := map[string]bool{}
	for _, c := range all {
		group := Classify(s.Profile, c.Name).Group
		isAttention[c.Name] = group == "attention" || group == "mla"
	}
	slices.SortFunc(all, func(a, b Candidate) int {
		if isAttention[a.Name] != isAttention[b.Name] {
			if isAttention[a.Name] {
				return -1
			}
			return 1
		}
		score := func(c Candidate) float64 { return c.Evenness * math.Log2(float64(c.Count)) }
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxCandidates)]
}

// gapsByName is the gaps between selected kernels whose names are equal up to
// their arguments.
func (s *Segments) gapsByName() map[string][]int32 {
	stems := make([]string, len(s.Trace.Names))
	for i, name := range s.Trace.Names {
		stems[i] = stem(name)
	}
	last := map[string]int32{}
	gaps := map[string][]int32{}
	for i, k := range s.Order {
		name := stems[s.Trace.Kernels[k].Name]
		if at, ok := last[name]; ok {
			gaps[name] = append(gaps[name], int32(i)-at)
		}
		last[name] = int32(i)
	}
	return gaps
}

// stem is a demangled name without the return type void, and up to its
// template arguments or parameters; any other name is its own stem.
func stem(name string) string {
	s := strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(s, "<("); i > 0 && !strings.HasPrefix(s[i:], "(anonymous namespace)") {
		return s[:i]
	}
	return s
}
