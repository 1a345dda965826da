package tracelayer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// A category is what a trace's "cat" means to the library.
type category uint8

const (
	catOther category = iota
	catKernel
	catCopy
	catLabel
	catGPULabel
	catRuntime
)

// categories has the known categories in lower case: Kineto wrote "Kernel" and
// "Memcpy" until 2021 and "kernel" and "gpu_memcpy" since.
var categories = map[string]category{
	"kernel":              catKernel,
	"gpu_memcpy":          catCopy,
	"gpu_memset":          catCopy,
	"memcpy":              catCopy,
	"memset":              catCopy,
	"user_annotation":     catLabel,
	"gpu_user_annotation": catGPULabel,
	"cuda_runtime":        catRuntime,
	"cuda_driver":         catRuntime,
	"hip_runtime":         catRuntime,
	"hip_driver":          catRuntime,
	"runtime":             catRuntime,
	"driver":              catRuntime,
}

// The args that are read, in the order of argKeys.
const (
	argDevice = iota
	argStream
	argCorrelation
	argExternalID
)

var argKeys = []string{"device", "stream", "correlation", "External id"}

// A builder makes a Trace of events. Kernels go into chunks, so that growing
// never copies them and a file of any number needs no guess.
type builder struct {
	t            Trace
	end          ending
	kernels      chunks[Kernel]
	correlations chunks[int64]
	copies       chunks[Kernel]
	launches     chunks[Launch]
	names        map[string]NameID
	follows      []NameID // for each name, the one that came after it last
	lanes        map[Lane]LaneID
	threads      map[string]ThreadID
	labels       map[string]string // interned label texts
	cats         map[string]category
	last         struct { // what the last event and the last kernel had
		cat              []byte // the category's spelling
		category         category
		name             NameID
		hasLane          bool
		lane             LaneID
		pid, device, row string
	}
	key       []byte
	open      map[string][]begin // B events that wait for their E, by thread
	size      int64              // of the file, 0 when not known
	hasOrigin bool
	warn      warnings
}

// newBuilder makes a builder for a file of size bytes, 0 when not known.
func newBuilder(name string, size int64) *builder {
	return &builder{
		t: Trace{Name: name}, size: size,
		names: map[string]NameID{}, lanes: map[Lane]LaneID{}, threads: map[string]ThreadID{},
		labels: map[string]string{}, cats: map[string]category{}, open: map[string][]begin{},
	}
}

// reserve makes room for as many kernels as the file may hold at most: real
// traces pack to 25 to 40 bytes a kernel, and have 600 unpacked, 200 without args.
func (b *builder) reserve() {
	perKernel := int64(200)
	if b.end.packed {
		perKernel = 24
	}
	if n := int(min(b.size/perKernel, 1<<22)); n > chunkLen {
		b.kernels.reserve(n)
		b.correlations.reserve(n)
	}
}

func (b *builder) options() chrometrace.Options {
	return chrometrace.Options{
		ArgKeys:    argKeys,
		WantArgs:   func(cat []byte) bool { return b.category(cat) != catOther },
		WantHeader: wantHeader,
	}
}

// category looks a spelling up once and remembers it; neighbours mostly share one.
func (b *builder) category(text []byte) category {
	if bytes.Equal(text, b.last.cat) {
		return b.last.category
	}
	c, ok := b.cats[string(text)]
	if !ok {
		c = categories[strings.ToLower(string(text))]
		b.cats[string(text)] = c
	}
	b.last.cat = append(b.last.cat[:0], text...)
	b.last.category = c
	return c
}

// add takes one event. It never fails.
func (b *builder) add(e *chrometrace.Event) error {
	ph := byte(0)
	if len(e.Phase.Text) == 1 {
		ph = e.Phase.Text[0]
	}
	if e.TS.Kind == '"' {
		b.warn.quotedTime.add(e)
	}
	if ph == 's' || ph == 't' || ph == 'f' || ph == 'M' {
		return nil // flows and metadata: nothing is read of them, and they are many
	}
	start, hasStart := chrometrace.Micros(e.TS.Text)
	dur, hasDur := chrometrace.Micros(e.Dur.Text)
	if hasStart && makesRow(ph, e, hasDur) && (!b.hasOrigin || Time(start) < b.t.Origin) {
		b.t.Origin, b.hasOrigin = Time(start), true
	}
	switch ph {
	case 'X':
		b.t.Counts.Complete++
		if cat := b.category(e.Category.Text); cat != catOther {
			b.keep(e, cat, Time(start), b.duration(e, cat, dur, hasDur), hasStart)
		}
	case 'B':
		b.beginSlice(e, Time(start), hasStart)
	case 'E':
		b.endSlice(e, Time(start), hasStart)
	}
	return nil
}

// makesRow reports whether Perfetto's JSON importer makes a slice or a counter
// of an event (json_trace_parser_impl.cc: not of metadata, flows or an X
// without a duration); the smallest of their times is the zero of its axis.
func makesRow(ph byte, e *chrometrace.Event, hasDur bool) bool {
	switch ph {
	case 'X':
		return hasDur
	case 'B', 'i', 'I', 'R', 'b', 'n':
		return true
	case 'C':
		return e.ArgsKind == '{'
	}
	return false
}

// keep takes a slice of a known category and returns its index in the store for
// that, or -1 if it is not kept.
func (b *builder) keep(e *chrometrace.Event, cat category, start Time, dur time.Duration, hasStart bool) int {
	switch cat {
	case catKernel:
		return b.kernel(e, start, dur, hasStart)
	case catCopy:
		return b.copy(e, start, dur, hasStart)
	case catLabel, catGPULabel:
		return b.label(e, cat, start, dur, hasStart)
	case catRuntime:
		b.launch(e, start, hasStart)
	}
	return -1
}

// duration is the duration of an X event, if it can be used. It warns of a
// kernel's or copy's that cannot.
func (b *builder) duration(e *chrometrace.Event, cat category, ns int64, ok bool) time.Duration {
	var why *tally
	switch {
	case e.Dur.Kind == 0:
		why = &b.warn.noDur
	case e.Dur.Kind == 'n':
		why = &b.warn.nullDur
	case !ok && chrometrace.NonFinite(e.Dur.Text):
		why = &b.warn.nonFiniteDur
	case !ok:
		why = &b.warn.badDur
	case ns < 0:
		why = &b.warn.negativeDur
	case time.Duration(ns) > MaxDur:
		why = &b.warn.longDur
	default:
		return time.Duration(ns)
	}
	if cat == catKernel || cat == catCopy {
		why.add(e)
	}
	return NoDur
}

// kernel keeps a kernel and returns its index, or -1 if it has no place in time.
func (b *builder) kernel(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Kernels++
	if !b.placed(e, start, dur, hasStart) {
		return -1
	}
	id := NoCorrelation
	if v, ok := integer(e.Arg(argCorrelation)); ok {
		id = v
	}
	if b.kernels.len() == 0 {
		b.reserve()
	}
	b.correlations.push(id)
	return b.kernels.push(Kernel{start, dur, b.name(e), b.laneOf(e)})
}

func (b *builder) copy(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Copies++
	if !b.placed(e, start, dur, hasStart) {
		return -1
	}
	return b.copies.push(Kernel{start, dur, b.name(e), b.laneOf(e)})
}

// placed reports whether a kernel has a usable start. Kineto writes ts 0 and
// dur 0 for kernels whose timing was not collected (pytorch/kineto issue 109).
func (b *builder) placed(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) bool {
	switch {
	case !hasStart:
		b.warn.noStart.add(e)
	case start == 0 && dur == 0:
		b.warn.noTiming.add(e)
	default:
		return true
	}
	b.t.Counts.Unplaced++
	return false
}

// name interns the event's name. Kernels follow each other in the same order
// layer after layer, so the name that came after the last one is tried first.
func (b *builder) name(e *chrometrace.Event) NameID {
	text := e.Name().Text
	if b.last.name < NameID(len(b.follows)) {
		if id := b.follows[b.last.name]; b.t.Names[id] == string(text) {
			b.last.name = id
			return id
		}
	}
	id, ok := b.names[string(text)]
	if !ok {
		id = NameID(len(b.t.Names))
		s := string(text)
		b.names[s] = id
		b.t.Names = append(b.t.Names, s)
		b.follows = append(b.follows, 0)
	}
	b.follows[b.last.name] = id
	b.last.name = id
	return id
}

// laneOf interns the event's lane. Device and stream come from the args, else
// from pid and tid.
func (b *builder) laneOf(e *chrometrace.Event) LaneID {
	pid := e.PID().Text
	device, stream := textOr(e.Arg(argDevice), pid), e.Arg(argStream)
	row := stream.Text
	if stream.Kind != '0' && stream.Kind != '"' {
		row = e.TID().Text
	}
	if b.last.hasLane && string(pid) == b.last.pid && string(device) == b.last.device && string(row) == b.last.row {
		return b.last.lane
	}
	b.last.pid, b.last.device, b.last.row = string(pid), string(device), string(row)
	b.last.lane = b.addLane(Lane{b.last.pid, b.last.device, trimStream(b.last.row)})
	b.last.hasLane = true
	return b.last.lane
}

// addLane returns the id of a lane.
func (b *builder) addLane(l Lane) LaneID {
	id, ok := b.lanes[l]
	if !ok {
		id = LaneID(len(b.t.Lanes))
		b.lanes[l] = id
		b.t.Lanes = append(b.t.Lanes, l)
	}
	return id
}

// trimStream is the number of a row that Kineto calls "stream 7" or 7.
func trimStream(tid string) string { return strings.TrimPrefix(tid, "stream ") }

// textOr is what a string or number says, or else the other text.
func textOr(v chrometrace.Value, or []byte) []byte {
	if v.Kind == '"' || v.Kind == '0' {
		return v.Text
	}
	return or
}

func (b *builder) label(e *chrometrace.Event, cat category, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Labels++
	if !hasStart {
		return -1
	}
	external := int64(-1)
	if v, ok := integer(e.Arg(argExternalID)); ok {
		external = v
	}
	b.t.Annotations = append(b.t.Annotations, Annotation{
		Name: b.text(e.Name().Text), Start: start, Dur: dur,
		PID: b.text(e.PID().Text), TID: b.text(e.TID().Text),
		GPU: cat == catGPULabel, ExternalID: external,
	})
	return len(b.t.Annotations) - 1
}

// text interns a label's text.
func (b *builder) text(p []byte) string {
	s, ok := b.labels[string(p)]
	if !ok {
		s = string(p)
		b.labels[s] = s
	}
	return s
}

// launch keeps a runtime call that launches kernels (cudaLaunchKernel,
// cuLaunchKernelEx, hipModuleLaunchKernel, hipGraphLaunch, ...).
func (b *builder) launch(e *chrometrace.Event, start Time, hasStart bool) {
	if !bytes.Contains(e.Name().Text, []byte("Launch")) {
		return
	}
	b.t.Counts.Launches++
	if !hasStart {
		return
	}
	id := NoCorrelation
	if v, ok := integer(e.Arg(argCorrelation)); ok {
		id = v
	}
	b.launches.push(Launch{id, start, b.thread(e), bytes.Contains(e.Name().Text, []byte("GraphLaunch"))})
}

func (b *builder) thread(e *chrometrace.Event) ThreadID {
	b.key = threadKey(b.key[:0], e)
	id, ok := b.threads[string(b.key)]
	if !ok {
		id = ThreadID(len(b.t.Threads))
		b.threads[string(b.key)] = id
		b.t.Threads = append(b.t.Threads, Thread{string(e.PID().Text), string(e.TID().Text)})
	}
	return id
}

func threadKey(dst []byte, e *chrometrace.Event) []byte {
	return append(append(append(dst, e.PID().Text...), 0), e.TID().Text...)
}

// integer is a whole number, written as a number or as a string.
func integer(v chrometrace.Value) (int64, bool) {
	if v.Kind != '0' && v.Kind != '"' {
		return 0, false
	}
	return chrometrace.Integer(v.Text)
}

// A begin is a B event that waits for its E.
type begin struct {
	cat   category
	index int // in the builder's store for cat, -1 where nothing is kept
	start Time
	event int64
}

// beginSlice takes a B event. Its duration comes with its E.
func (b *builder) beginSlice(e *chrometrace.Event, start Time, hasStart bool) {
	cat := b.category(e.Category.Text)
	index := b.keep(e, cat, start, NoDur, hasStart)
	b.key = threadKey(b.key[:0], e)
	b.open[string(b.key)] = append(b.open[string(b.key)], begin{cat, index, start, e.Index})
}

// endSlice gives the innermost open slice of the thread its duration.
func (b *builder) endSlice(e *chrometrace.Event, end Time, ok bool) {
	b.key = threadKey(b.key[:0], e)
	stack := b.open[string(b.key)]
	if len(stack) == 0 {
		b.warn.strayEnd.add(e)
		return
	}
	top := stack[len(stack)-1]
	b.open[string(b.key)] = stack[:len(stack)-1]
	dur := time.Duration(end - top.start)
	if top.index < 0 {
		return
	}
	if !ok || dur < 0 || dur > MaxDur {
		b.warn.badEnd.add(e)
		return
	}
	switch top.cat {
	case catKernel:
		b.kernels.at(top.index).Dur = dur
	case catCopy:
		b.copies.at(top.index).Dur = dur
	case catLabel, catGPULabel:
		b.t.Annotations[top.index].Dur = dur
	}
}

// trace finishes the trace. cut is the error of an input that ends early and
// was accepted, or nil.
func (b *builder) trace(cut error) (*Trace, error) {
	t := &b.t
	st := b.end.stats
	t.Counts.Bytes, t.Counts.Events, t.Counts.Ignored = st.Bytes, st.Events, st.Ignored
	t.Base, t.Metadata = metadata(b.end.header, &b.warn)
	t.Launches = b.launches.join()
	b.sortKernels()
	slices.SortStableFunc(t.Annotations, func(x, y Annotation) int { return cmp.Compare(x.Start, y.Start) })
	for _, stack := range b.open {
		for _, s := range stack {
			if s.cat == catKernel || s.cat == catCopy {
				b.warn.unfinished.addAt(s.event)
			}
		}
	}
	t.Warnings = b.warn.list(st, t, cut)
	return t, nil
}

// sortKernels puts kernels and their correlation ids, and copies, in order of
// start. Equal starts keep the file's order.
func (b *builder) sortKernels() {
	t := &b.t
	t.Kernels, t.Correlations, t.Copies = b.kernels.join(), b.correlations.join(), b.copies.join()
	if order := timeOrder(t.Kernels); order != nil {
		permute(t.Kernels, order)
		permute(t.Correlations, order)
	}
	if order := timeOrder(t.Copies); order != nil {
		permute(t.Copies, order)
	}
}

// timeOrder is the order in which ks would be sorted by start, ties as they
// stand, or nil if that is the order they are in.
func timeOrder(ks []Kernel) []int32 {
	byStart := func(a, b Kernel) int { return cmp.Compare(a.Start, b.Start) }
	if slices.IsSortedFunc(ks, byStart) {
		return nil
	}
	type key struct {
		start Time
		index int32
	}
	keys := make([]key, len(ks))
	for i, k := range ks {
		keys[i] = key{k.Start, int32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return int(a.index - b.index)
	})
	order := make([]int32, len(ks))
	for i, k := range keys {
		order[i] = k.index
	}
	return order
}

// permute moves s[order[i]] to s[i] for all i, in place: a sorted copy would
// double the memory of the largest thing there is.
func permute[T any](s []T, order []int32) {
	for i := range order {
		if order[i] < 0 {
			continue // moved as part of an earlier cycle
		}
		first, j := s[i], i
		for {
			k := int(order[j])
			order[j] = ^order[j]
			if k == i {
				break
			}
			s[j] = s[k]
			j = k
		}
		s[j] = first
	}
	for i := range order {
		order[i] = ^order[i]
	}
}

// chunkLen elements make a chunk: 384 KiB of kernels.
const chunkLen = 1 << 14

// chunks is a list that grows without copying what it holds. Its first part may
// be reserved: memory that is reserved and not used costs address space only.
type chunks[T any] struct {
	first []T
	full  [][]T
	tail  []T
}

func (c *chunks[T]) reserve(n int) {
	c.first = make([]T, 0, n)
	adviseHuge(c.first)
}

// push appends v and returns its index.
func (c *chunks[T]) push(v T) int {
	switch {
	case len(c.first) < cap(c.first):
		c.first = append(c.first, v)
		return len(c.first) - 1
	case len(c.first) < chunkLen && c.tail == nil: // many traces are small
		c.first = append(c.first, v)
		return len(c.first) - 1
	case c.tail == nil:
		c.tail = make([]T, 0, chunkLen)
	case len(c.tail) == chunkLen:
		c.full = append(c.full, c.tail)
		c.tail = make([]T, 0, chunkLen)
	}
	c.tail = append(c.tail, v)
	return c.len() - 1
}

func (c *chunks[T]) at(i int) *T {
	if i < len(c.first) {
		return &c.first[i]
	}
	i -= len(c.first)
	if i/chunkLen == len(c.full) {
		return &c.tail[i%chunkLen]
	}
	return &c.full[i/chunkLen][i%chunkLen]
}

func (c *chunks[T]) len() int { return len(c.first) + len(c.full)*chunkLen + len(c.tail) }

// join empties the chunks into one slice, nil if there is nothing. Each chunk
// is let go as soon as it is copied.
func (c *chunks[T]) join() []T {
	n := c.len()
	all := c.first
	switch {
	case n == 0:
		all = nil
	case n > len(c.first) || n < cap(c.first)/2:
		all = append(make([]T, 0, n), c.first...)
		c.first = nil
	}
	for i, chunk := range c.full {
		all = append(all, chunk...)
		c.full[i] = nil
	}
	all = append(all, c.tail...)
	*c = chunks[T]{}
	return all
}
