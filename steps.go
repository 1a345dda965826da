package tracelayer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Step is one step of the server (or one capture), however many labels of the
// trace show it.
//
// Where labels of two families nest, Label holds the numbers of both. Where
// they disagree the inner one wins, being nearer to the model; only a phase
// that says more than which requests there are (draft, verify, dummy, eager)
// wins from either place.
type Step struct {
	Label
	Name string // the name of the inner label
	// Start and Dur are those of the label Name on its CPU row, or from the first
	// start to the last end on the GPU rows where no CPU row has it. Times of the
	// two kinds of rows must not be compared: the GPU runs behind.
	Start Time
	Dur   time.Duration // NoDur when it cannot be used
	Seen  Seen
	// ByOrder says that CPU and GPU copies were put together in the order they
	// come, for want of a common External id. Where their numbers differ, which
	// belongs to which is a guess.
	ByOrder bool
}

// Seen lists the labels of one step as indices into [Trace.Annotations], in
// ascending order: those of every family, thread and stream that shows it.
type Seen struct {
	CPU, GPU []int
}

// Steps returns every step that the labels of t show, once each, in order of
// Start. These labels are one step:
//
//   - CPU and GPU copies with one name and one External id. Where a CPU row has
//     an id several times, each is a step.
//   - Without a common id: GPU copies of one name that overlap on different
//     streams; and the k-th CPU copy with the k-th GPU copy of one name, which
//     is all that can be said, as their times differ. Profilers lose copies at
//     both ends of a trace, so there are as many steps as the larger side has.
//   - A label around that of another family on the same row. If several lie in
//     it, it joins the first that is no draft, or a draft that is alone.
//   - What lies in a capture label: it belongs to the capture and never ran.
//
// A draft inside a label of its own family is a step of its own. Ranks that
// SGLang merged into one file ("[TP00] 42" as pid) are kept apart.
func Steps(t *Trace) []Step {
	b := stepBuilder{
		trace: t, group: make([]int32, len(t.Annotations)),
		seen: map[stepRowKey]int32{}, byID: map[stepIDKey]int32{}, latest: map[stepRowKey]int32{},
	}
	b.collect()
	b.pair()
	b.nest(false)
	b.nest(true)
	return b.steps()
}

// stepGroup is a set of labels of one name that show one step.
type stepGroup struct {
	name     *stepName
	id       int64
	cpu, gpu []int // into Trace.Annotations
	parent   int32 // the group it was merged into; itself at the root
	families uint8 // at the root: which families its members have
	byOrder  bool
}

type stepName struct {
	Label
	name string
}

func (n *stepName) family() uint8 {
	switch n.Family {
	case FamilyATOM:
		return 1
	case FamilyVLLM:
		return 2
	case FamilySGLang:
		return 4
	}
	return 8
}

// stepRow is one thread, or one stream of a device.
type stepRow struct {
	pid, tid string
	gpu      bool
}

// stepBucket holds the groups of one name and rank in order of start.
type stepBucket struct {
	cpu, gpu []int32
	last     int32 // the group of the latest GPU copy without id, -1 before there is one
	lastEnd  Time
}

type stepBucketKey struct {
	name *stepName
	rank string
}

// stepRowKey names one External id of a bucket on one row.
type stepRowKey struct {
	bucket, row int32
	id          int64
}

// stepIDKey names the n-th step of an External id. GPU rows have no process.
type stepIDKey struct {
	bucket int32
	id     int64
	gpu    bool
	pid    string
	n      int32
}

type stepBuilder struct {
	trace   *Trace
	group   []int32 // of each annotation, -1 where it is not a step label
	groups  []stepGroup
	buckets []stepBucket
	rows    [][]int // the step labels of each row, in order of start
	rowGPU  []bool

	seen   map[stepRowKey]int32 // how often an id has come
	byID   map[stepIDKey]int32  // its groups
	latest map[stepRowKey]int32 // the group of the latest GPU copy without id
}

// collect groups what External ids and overlapping streams show to be one.
func (b *stepBuilder) collect() {
	names := map[string]*stepName{}
	rows := map[stepRow]int32{}
	buckets := map[stepBucketKey]int32{}
	for i, a := range b.trace.Annotations {
		name, known := names[a.Name]
		if !known {
			if l, ok := ParseLabel(a.Name); ok {
				name = &stepName{Label: l, name: a.Name}
			}
			names[a.Name] = name
		}
		if name == nil {
			b.group[i] = -1
			continue
		}
		row := b.row(rows, i)
		key := stepBucketKey{name, pidRank(a.PID)}
		bk, ok := buckets[key]
		if !ok {
			bk = int32(len(b.buckets))
			buckets[key] = bk
			b.buckets = append(b.buckets, stepBucket{last: -1})
		}
		switch {
		case a.ExternalID >= 0:
			b.add(b.sameID(bk, row, name, a), i)
		case a.GPU:
			b.add(b.overlap(bk, row, name, a), i)
		default:
			b.add(b.newGroup(bk, name, a), i)
		}
	}
}

// row notes annotation i on its row.
func (b *stepBuilder) row(rows map[stepRow]int32, i int) int32 {
	a := &b.trace.Annotations[i]
	key := stepRow{a.PID, a.TID, a.GPU}
	r, ok := rows[key]
	if !ok {
		r = int32(len(b.rows))
		rows[key] = r
		b.rows = append(b.rows, nil)
		b.rowGPU = append(b.rowGPU, a.GPU)
	}
	b.rows[r] = append(b.rows[r], i)
	return r
}

// pidRank is the part of a pid that SGLang's trace merger puts in front of it.
func pidRank(pid string) string {
	if i := strings.LastIndex(pid, "] "); i > 0 && pid[0] == '[' {
		return pid[:i]
	}
	return ""
}

func (b *stepBuilder) newGroup(bk int32, name *stepName, a Annotation) int32 {
	g := int32(len(b.groups))
	b.groups = append(b.groups, stepGroup{name: name, id: a.ExternalID, parent: g, families: name.family()})
	if a.GPU {
		b.buckets[bk].gpu = append(b.buckets[bk].gpu, g)
	} else {
		b.buckets[bk].cpu = append(b.buckets[bk].cpu, g)
	}
	return g
}

func (b *stepBuilder) add(g int32, i int) {
	b.group[i] = g
	if b.trace.Annotations[i].GPU {
		b.groups[g].gpu = append(b.groups[g].gpu, i)
	} else {
		b.groups[g].cpu = append(b.groups[g].cpu, i)
	}
}

// sameID finds the group of a's External id: the k-th copy on each row shows the
// k-th step of that id.
func (b *stepBuilder) sameID(bk, row int32, name *stepName, a Annotation) int32 {
	at := stepRowKey{bk, row, a.ExternalID}
	key := stepIDKey{bucket: bk, id: a.ExternalID, gpu: a.GPU, n: b.seen[at]}
	if !a.GPU {
		key.pid = a.PID
	}
	b.seen[at]++
	g, ok := b.byID[key]
	if !ok {
		g = b.newGroup(bk, name, a)
		b.byID[key] = g
	}
	return g
}

// overlap finds the group of a GPU copy without an id: the latest one, if it
// lasts until a and has no copy on a's row yet.
func (b *stepBuilder) overlap(bk, row int32, name *stepName, a Annotation) int32 {
	k := &b.buckets[bk]
	at := stepRowKey{bk, row, -1}
	if g, ok := b.latest[at]; k.last >= 0 && (!ok || g != k.last) {
		first := b.trace.Annotations[b.groups[k.last].gpu[0]].Start
		if a.Start < k.lastEnd || a.Start == first {
			b.latest[at] = k.last
			k.lastEnd = max(k.lastEnd, a.End())
			return k.last
		}
	}
	g := b.newGroup(bk, name, a)
	b.latest[at] = g
	k.last, k.lastEnd = g, a.End()
	return g
}

// pair puts the GPU copies to the CPU copies, first by id and then by order.
func (b *stepBuilder) pair() {
	joined, left := 0, 0
	var cpu, gpu []int32
	for _, k := range b.buckets {
		cpu, gpu = b.withID(cpu, k.cpu), b.withID(gpu, k.gpu)
		left += len(gpu)
		for c, g := 0, 0; c < len(cpu) && g < len(gpu); {
			switch x, y := b.groups[cpu[c]].id, b.groups[gpu[g]].id; {
			case x < y:
				c++
			case x > y:
				g++
			default:
				b.merge(cpu[c], gpu[g])
				g++
				joined++
				left--
				if c+1 < len(cpu) && b.groups[cpu[c+1]].id == x { // else the rest of this id is c's too
					c++
				}
			}
		}
	}
	for _, k := range b.buckets {
		b.pairByOrder(k, joined > 0 && joined >= left)
	}
}

// withID returns those of groups that have an External id, sorted by it, in the
// memory of buf.
func (b *stepBuilder) withID(buf, groups []int32) []int32 {
	buf = buf[:0]
	for _, g := range groups {
		if b.groups[g].id >= 0 {
			buf = append(buf, g)
		}
	}
	slices.SortStableFunc(buf, func(x, y int32) int { return cmp.Compare(b.groups[x].id, b.groups[y].id) })
	return buf
}

// pairByOrder pairs what ids left over. Every trace of Kineto that was looked at
// gives both rows the same ids; there a GPU copy whose id no CPU copy has lost
// its CPU copy (byID). Where most ids do not join, the rows are numbered apart,
// and an id is no hindrance.
func (b *stepBuilder) pairByOrder(k stepBucket, byID bool) {
	free := k.gpu
	for _, c := range k.cpu {
		if len(b.groups[c].gpu) > 0 {
			continue
		}
		for len(free) > 0 && (b.find(free[0]) != free[0] || byID && b.groups[free[0]].id >= 0) {
			free = free[1:]
		}
		if len(free) == 0 {
			return
		}
		b.merge(c, free[0])
		b.groups[c].byOrder = true
		free = free[1:]
	}
}

// merge moves the GPU copies of g, which come after those of c, to c.
func (b *stepBuilder) merge(c, g int32) {
	b.groups[c].gpu = append(b.groups[c].gpu, b.groups[g].gpu...)
	b.groups[g].gpu = nil
	b.groups[g].parent = c
}

func (b *stepBuilder) find(g int32) int32 {
	for b.groups[g].parent != g {
		b.groups[g].parent = b.groups[b.groups[g].parent].parent
		g = b.groups[g].parent
	}
	return g
}

// inners are the labels of other families directly inside one label.
type inners struct {
	main   int32 // the first that is no draft, -1 for none
	draft  int32 // the first draft, -1 for none
	drafts int
}

// nest merges labels that lie in one another, on the CPU rows or on the GPU
// rows. CPU rows come first: what they show is not undone by the other.
func (b *stepBuilder) nest(gpu bool) {
	found := map[int32]*inners{}
	var order []int32
	for r, row := range b.rows {
		if b.rowGPU[r] != gpu {
			continue
		}
		b.sweep(row, func(outer, inner int32) {
			in, ok := found[outer]
			if !ok {
				in = &inners{main: -1, draft: -1}
				found[outer] = in
				order = append(order, outer)
			}
			in.note(inner, b.groups[inner].name.Phase)
		})
	}
	for _, o := range order {
		in := found[o]
		switch {
		case in.main >= 0:
			b.join(o, in.main)
		case in.drafts == 1:
			b.join(o, in.draft)
		}
	}
}

func (in *inners) note(g int32, p Phase) {
	switch {
	case p != PhaseDraft && in.main < 0:
		in.main = g
	case p == PhaseDraft && g != in.draft:
		in.drafts++
		if in.draft < 0 {
			in.draft = g
		}
	}
}

// join merges outer into inner unless they already hold a label of one family:
// two labels of one family are two steps.
func (b *stepBuilder) join(outer, inner int32) {
	o, i := b.find(outer), b.find(inner)
	if b.groups[o].families&b.groups[i].families != 0 {
		return
	}
	b.groups[o].parent = i
	b.groups[i].families |= b.groups[o].families
}

// openLabel is a label of the row that is not over yet.
type openLabel struct {
	start, end Time
	group      int32
	other      int32 // the nearest label around it of another family, -1 for none
	capture    int32 // the capture it is or lies in, -1 for none
}

// sweep calls nested for each label of a row and the nearest one around it that
// is of another family, and merges what lies in a capture into the capture.
func (b *stepBuilder) sweep(row []int, nested func(outer, inner int32)) {
	ann := b.trace.Annotations
	slices.SortStableFunc(row, func(x, y int) int { // the longer of two that start together is around the other
		return cmp.Or(cmp.Compare(ann[x].Start, ann[y].Start), cmp.Compare(ann[y].End(), ann[x].End()))
	})
	var open []openLabel
	for _, i := range row {
		l := openLabel{ann[i].Start, ann[i].End(), b.group[i], -1, -1}
		for len(open) > 0 && !open[len(open)-1].holds(l) {
			open = open[:len(open)-1]
		}
		name := b.groups[l.group].name
		if len(open) > 0 {
			around := open[len(open)-1]
			l.capture = around.capture
			l.other = around.other
			if b.groups[around.group].name.Family != name.Family {
				l.other = around.group
			}
		}
		switch {
		case l.capture >= 0 && (name.Phase != PhaseCapture || b.groups[l.capture].name.Family != name.Family):
			b.groups[b.find(l.group)].parent = b.find(l.capture)
		case name.Phase == PhaseCapture:
			l.capture = l.group
		case l.other >= 0:
			nested(l.other, l.group)
		}
		open = append(open, l)
	}
}

// holds reports whether l, which does not start before o, lies in o. Equal
// times do; a label that starts where o ends does not.
func (o openLabel) holds(l openLabel) bool {
	return l.end <= o.end && (l.start < o.end || l.start == o.start)
}

// steps makes a step of each group that was not merged into another.
func (b *stepBuilder) steps() []Step {
	members := make([][]int32, len(b.groups))
	n := 0
	for g := range b.groups {
		root := b.find(int32(g))
		if members[root] == nil {
			n++
		}
		members[root] = append(members[root], int32(g))
	}
	steps := make([]Step, 0, n)
	for root, m := range members {
		if m != nil {
			steps = append(steps, b.step(int32(root), m))
		}
	}
	slices.SortFunc(steps, func(x, y Step) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.Seen.first(), y.Seen.first()))
	})
	return steps
}

func (b *stepBuilder) step(root int32, members []int32) Step {
	g := &b.groups[root]
	s := Step{Label: g.name.Label, Name: g.name.name}
	// The innermost label starts last, so this is from the inside out.
	slices.SortFunc(members, func(x, y int32) int { return cmp.Compare(y, x) })
	for _, m := range members {
		o := &b.groups[m]
		if m != root && s.Phase != PhaseCapture && o.name != g.name {
			s.Label = s.under(o.name.Label)
		}
		s.Seen.CPU = append(s.Seen.CPU, o.cpu...)
		s.Seen.GPU = append(s.Seen.GPU, o.gpu...)
		s.ByOrder = s.ByOrder || o.byOrder
	}
	slices.Sort(s.Seen.CPU)
	slices.Sort(s.Seen.GPU)
	where := g.cpu
	if len(where) == 0 {
		where = s.Seen.CPU
	}
	if len(where) == 0 {
		where = g.gpu
	}
	s.Start, s.Dur = b.hull(where)
	return s
}

// hull is the time from the first start to the last end of some labels.
func (b *stepBuilder) hull(where []int) (Time, time.Duration) {
	first := b.trace.Annotations[where[0]]
	end, usable := first.Start, false
	for _, i := range where {
		a := b.trace.Annotations[i]
		end = max(end, a.End())
		usable = usable || a.Dur >= 0
	}
	if !usable {
		return first.Start, NoDur
	}
	return first.Start, time.Duration(end - first.Start)
}

func (s Seen) first() int {
	switch {
	case len(s.CPU) == 0:
		return s.GPU[0]
	case len(s.GPU) == 0:
		return s.CPU[0]
	}
	return min(s.CPU[0], s.GPU[0])
}

// DecodeBS says at which batch sizes a trace decodes.
type DecodeBS struct {
	// Dominant is the number of requests that most decode steps have, 0 where
	// there is no decode step. Of sizes with equally many steps it is the one
	// seen first.
	Dominant int
	Counts   []BSCount // by falling Steps; equal ones in order of first appearance
	Steps    int       // decode steps, the sum of Counts
	// Phases counts all steps of the trace, decode included, in the order of the
	// constants; phases without a step are left out.
	Phases []PhaseCount
	// Unknown lists the names of labels that are no step labels, sorted as Counts.
	Unknown []LabelCount
}

// BSCount is how many decode steps have BS requests.
type BSCount struct {
	BS    int
	Steps int
	// GraphBS is the padded size of the graph they ran in, 0 where the labels do
	// not state one size for all of them.
	GraphBS int
}

// PhaseCount is how many steps are of one phase.
type PhaseCount struct {
	Phase Phase
	Steps int
}

// LabelCount is how many labels have one name, each copy counted.
type LabelCount struct {
	Name   string
	Labels int
}

// DetectDecodeBS counts the decode steps of t by their number of requests:
// neither the size of the padded graph nor the number of tokens. Each step
// counts once, see [Steps]. Mixed, verify, draft, dummy, eager and capture steps
// do not count; a mixed step runs other kernels than the decode graph, and its
// requests are not all in decode.
//
// Without a decode step it returns an error that is [ErrNoDecode] and states
// what labels there are; Phases and Unknown are filled in that case too.
//
// BUG: ATOM before its labels had prefixes (ROCm/ATOM#1611) named dummy steps
// decode[..] as well. They cannot be told apart and count.
func DetectDecodeBS(t *Trace) (DecodeBS, error) {
	var d DecodeBS
	at := map[int]int{}
	var phases [len(phaseNames)]int
	for _, s := range Steps(t) {
		phases[s.Phase]++
		if s.Phase != PhaseDecode {
			continue
		}
		d.Steps++
		i, ok := at[s.Requests]
		if !ok {
			i = len(d.Counts)
			at[s.Requests] = i
			d.Counts = append(d.Counts, BSCount{BS: s.Requests, GraphBS: s.GraphBS})
		}
		d.Counts[i].Steps++
		if d.Counts[i].GraphBS != s.GraphBS {
			d.Counts[i].GraphBS = 0
		}
	}
	for p, n := range phases {
		if n > 0 {
			d.Phases = append(d.Phases, PhaseCount{Phase(p), n})
		}
	}
	d.Unknown = unknownLabels(t)
	if d.Steps == 0 {
		return d, fmt.Errorf("%w: %s", ErrNoDecode, d.found())
	}
	slices.SortStableFunc(d.Counts, func(x, y BSCount) int { return cmp.Compare(y.Steps, x.Steps) })
	d.Dominant = d.Counts[0].BS
	return d, nil
}

func unknownLabels(t *Trace) []LabelCount {
	var labels []LabelCount
	at := map[string]int{}
	for _, a := range t.Annotations {
		i, ok := at[a.Name]
		if !ok {
			i = -1
			if _, ok := ParseLabel(a.Name); !ok {
				i = len(labels)
				labels = append(labels, LabelCount{Name: a.Name})
			}
			at[a.Name] = i
		}
		if i >= 0 {
			labels[i].Labels++
		}
	}
	slices.SortStableFunc(labels, func(x, y LabelCount) int { return cmp.Compare(y.Labels, x.Labels) })
	return labels
}

// found says in words what a trace without decode steps holds instead.
func (d DecodeBS) found() string {
	if len(d.Phases) == 0 && len(d.Unknown) == 0 {
		return "the trace has no labels"
	}
	text := "no step labels"
	if len(d.Phases) > 0 {
		var parts []string
		for _, p := range d.Phases {
			parts = append(parts, fmt.Sprintf("%s %d", p.Phase, p.Steps))
		}
		text = "steps by their labels: " + strings.Join(parts, ", ")
	}
	if len(d.Unknown) > 0 {
		n := 0
		for _, u := range d.Unknown {
			n += u.Labels
		}
		most := d.Unknown[0]
		text += fmt.Sprintf("; other labels: %d, most often %.60q (%d)", n, most.Name, most.Labels)
	}
	if len(d.Phases) == 1 && d.Phases[0].Phase == PhaseCapture {
		text += "; looks like a graph-capture trace"
	}
	return text
}
