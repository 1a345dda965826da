package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-json"
	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

// ClassesSchema names the form of what [Classes.WriteJSON] writes.
const ClassesSchema = "tracelayer/classify_kernels/1"

// Classes are the kernels of a trace by what they do.
type Classes struct {
	Trace        *tracelayer.Trace
	Profile      string // its name
	Unclassified bool   // list the names that no rule knows instead of the groups
	groups       []classShare
	other        []classShare
	total        time.Duration
	noDur        int
}

// A classShare is what the kernels of a group, or of a name, take together.
type classShare struct {
	name    string
	kernels int
	names   int
	dur     time.Duration
}

// NewClasses classifies the kernels of a trace, each distinct name once.
func NewClasses(t *tracelayer.Trace, p *tracelayer.Profile, unclassified bool) *Classes {
	c := &Classes{Trace: t, Profile: p.Name, Unclassified: unclassified}
	perName := make([]classShare, len(t.Names))
	for _, k := range t.Kernels {
		s := &perName[k.Name]
		s.kernels++
		if k.Dur == tracelayer.NoDur {
			c.noDur++
			continue
		}
		s.dur += k.Dur
		c.total += k.Dur
	}
	groups := map[string]*classShare{}
	for i := range perName {
		s := &perName[i]
		if s.kernels == 0 {
			continue // the name of something else
		}
		s.name, s.names = t.Names[i], 1
		class := tracelayer.Classify(p, s.name)
		if class.Key == "other" {
			c.other = append(c.other, *s)
		}
		g := groups[class.Group]
		if g == nil {
			g = &classShare{name: class.Group}
			groups[class.Group] = g
		}
		g.kernels += s.kernels
		g.names++
		g.dur += s.dur
	}
	for _, g := range groups {
		c.groups = append(c.groups, *g)
	}
	for _, list := range [][]classShare{c.groups, c.other} {
		slices.SortFunc(list, func(a, b classShare) int {
			return cmp.Or(cmp.Compare(b.dur, a.dur), cmp.Compare(b.kernels, a.kernels), cmp.Compare(a.name, b.name))
		})
	}
	return c
}

// Notes are what the numbers rest on.
func (c *Classes) Notes() []string {
	var notes []string
	if c.noDur > 0 {
		notes = append(notes, fmt.Sprintf("%d kernels have no usable duration: they are counted, and take no time", c.noDur))
	}
	if lanes := len(c.Trace.Lanes); lanes > 1 {
		notes = append(notes, fmt.Sprintf("times add up the kernels of %d streams, which may run side by side", lanes))
	}
	return notes
}

// rows are the shares that are shown.
func (c *Classes) rows() (what string, rows []classShare) {
	if c.Unclassified {
		return "Kernel", c.other
	}
	return "Group", c.groups
}

func (c *Classes) pct(d time.Duration) float64 {
	if c.total == 0 {
		return 0
	}
	return 100 * float64(d) / float64(c.total)
}

// WriteText writes a table: a group, or a name that no rule knows, a line, the
// one that takes the most time first.
func (c *Classes) WriteText(w io.Writer) error {
	what, rows := c.rows()
	tab := texttab.New(texttab.Column{Left: true}, texttab.Column{Gap: 2, Width: 8}, texttab.Column{Gap: 2, Width: 6},
		texttab.Column{Gap: 2, Width: 10}, texttab.Column{Gap: 2, Width: 7})
	tab.Row(what, "Kernels", "Names", "Time(ms)", "%")
	add := func(s classShare, name string) {
		tab.Row(name, strconv.Itoa(s.kernels), strconv.Itoa(s.names), fmt.Sprintf("%.3f", float64(s.dur)/1e6), fmt.Sprintf("%.1f%%", c.pct(s.dur)))
	}
	all := classShare{dur: c.total}
	for _, s := range c.groups {
		all.kernels += s.kernels
		all.names += s.names
	}
	for _, s := range rows {
		add(s, Printable(s.name))
	}
	if !c.Unclassified {
		add(all, "TOTAL")
	}
	if _, err := fmt.Fprintf(w, "Profile: %s\nTotal GPU kernels: %d\n", c.Profile, all.kernels); err != nil {
		return err
	}
	if c.Unclassified {
		var s classShare
		for _, o := range c.other {
			s.kernels, s.names, s.dur = s.kernels+o.kernels, s.names+1, s.dur+o.dur
		}
		if _, err := fmt.Fprintf(w, "No rule knows %d kernels (%d names, %.1f%% of the time)\n", s.kernels, s.names, c.pct(s.dur)); err != nil {
			return err
		}
		if s.names == 0 {
			return nil
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	for _, line := range tab.Lines() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

type classesJSON struct {
	Schema       string      `json:"schema"`
	Trace        string      `json:"trace"`
	Profile      string      `json:"profile"`
	Kernels      int         `json:"kernels"`
	TotalUS      float64     `json:"total_us"`
	Groups       []shareJSON `json:"groups"`
	Unclassified []shareJSON `json:"unclassified"`
	Warnings     []string    `json:"warnings"`
}

type shareJSON struct {
	Name    string  `json:"name"`
	Kernels int     `json:"kernels"`
	Names   int     `json:"names"`
	TotalUS float64 `json:"total_us"`
	Pct     float64 `json:"pct"`
}

// WriteJSON writes one document with the groups and the names that no rule knows.
func (c *Classes) WriteJSON(w io.Writer) error {
	shares := func(list []classShare) []shareJSON {
		all := []shareJSON{}
		for _, s := range list {
			all = append(all, shareJSON{s.name, s.kernels, s.names, float64(s.dur) / 1e3, float64(int64(10*c.pct(s.dur)+0.5)) / 10})
		}
		return all
	}
	doc := classesJSON{Schema: ClassesSchema, Trace: c.Trace.Name, Profile: c.Profile, Kernels: len(c.Trace.Kernels),
		TotalUS: float64(c.total) / 1e3, Groups: shares(c.groups), Unclassified: shares(c.other),
		Warnings: append(append([]string{}, Warnings(c.Trace)...), c.Notes()...)}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(out, '\n'))
	return err
}
