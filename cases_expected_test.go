package tracelayer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// A check compares what the library makes of an input with what is expected.
type check func(c *caseInput, want any) error

// segmentChecks are the expected keys that speak of a selection of kernels.
var segmentChecks = map[string]check{
	"kernel_events":                  cut(func(s *Segments) any { return len(s.Order) }),
	"anchor_pattern":                 checkPattern,
	"anchor_count":                   cut(func(s *Segments) any { return s.Anchors }),
	"anchor_gaps":                    cut(func(s *Segments) any { return s.gaps }),
	"dominant_gap_kernels_per_layer": cut(func(s *Segments) any { return s.KernelsPerLayer }),
	"kernels_per_layer":              cut(func(s *Segments) any { return s.KernelsPerLayer }),
	"layers_matched":                 cut(func(s *Segments) any { return len(s.Layers) }),
}

// expectedChecks are the expected keys that speak of a whole file. They come
// before those of segmentChecks.
var expectedChecks = map[string]check{
	// What was read.
	"kernel_events":                  of(func(t *Trace) any { return t.Counts.Kernels }),
	"kernel_events_all":              of(func(t *Trace) any { return t.Counts.Kernels }),
	"events":                         of(func(t *Trace) any { return t.Counts.Events }),
	"complete_events":                of(func(t *Trace) any { return t.Counts.Complete }),
	"ignored_events":                 perFile(of(func(t *Trace) any { return t.Counts.Ignored })),
	"memcpy_events":                  of(func(t *Trace) any { return t.Counts.Copies }),
	"copy_and_set_events":            of(func(t *Trace) any { return t.Counts.Copies }),
	"launch_calls":                   of(func(t *Trace) any { return t.Counts.Launches }),
	"graph_launches":                 of(func(t *Trace) any { return countIf(t.Launches, func(l Launch) bool { return l.Graph }) }),
	"annotations_gpu":                of(func(t *Trace) any { return countIf(t.Annotations, func(a Annotation) bool { return a.GPU }) }),
	"sync_events":                    ofCategory("cuda_sync"),
	"python_events":                  ofCategory("python_function"),
	"gpu_busy_excludes":              checkExcluded,
	"unpacked_bytes":                 of(func(t *Trace) any { return t.Counts.Bytes }),
	"gzip_members":                   ofFile(gzipMembers),
	"memory":                         checkMemory,
	"whole_kernel_events_before_cut": perFile(ofFile(salvaged)),
	"kernel_events_in_uncut_file":    not(ofFile(salvaged)), // what the cut took away is not made up

	// Names, warnings, rows.
	"distinct_kernel_names":         of(func(t *Trace) any { return len(kernelNames(t)) }),
	"bad_kernel_name_shown_as":      checkName,
	"kernel_name_with_tab":          checkName,
	"order_by_ts_then_file_order":   of(orderedNames),
	"warnings":                      of(func(t *Trace) any { return warningCounts(t) }),
	"unusable":                      of(unusable),
	"streams":                       of(func(t *Trace) any { return laneNumbers(t, func(l Lane) string { return l.Stream }) }),
	"devices":                       of(func(t *Trace) any { return laneNumbers(t, func(l Lane) string { return l.Device }) }),
	"gpu_pids":                      of(func(t *Trace) any { return distinct(t.Lanes, func(l Lane) string { return l.PID }) }),
	"kernels_without_correlation":   of(func(t *Trace) any { return correlated(t, NoCorrelation) }),
	"kernels_with_correlation_zero": of(func(t *Trace) any { return correlated(t, 0) }),

	// Times.
	"kernels_with_usable_duration": of(func(t *Trace) any { return len(usable(t)) }),
	"kernels_with_usable_times":    of(func(t *Trace) any { return len(usable(t)) }),
	"of_which_zero_duration":       of(func(t *Trace) any { return countIf(t.Kernels, func(k Kernel) bool { return k.Dur == 0 }) }),
	"sum_us":                       exact(micro, sum),
	"sum_kernel_us":                exact(micro, sum),
	"kernel_sum_us":                exact(micro, sum),
	"sum_of_durations_us":          exact(micro, sum),
	"span_us":                      exact(micro, span),
	"wall_us":                      exact(micro, span),
	"span_ns":                      of(func(t *Trace) any { return span(t) }),
	"busy_ns":                      of(func(t *Trace) any { return int64(allTimes(t).Busy) }),
	"busy_union_us":                exact(micro, func(t *Trace) int64 { return int64(allTimes(t).Busy) }),
	"idle_us":                      exact(micro, func(t *Trace) int64 { return int64(allTimes(t).Idle()) }),
	"overlap_us":                   exact(micro, func(t *Trace) int64 { return int64(allTimes(t).HiddenComm) }),
	"utilisation_percent":          of(utilisation),
	"wrong_if_summed_percent":      not(of(utilisation)),
	"wrong_idle_if_gaps_are_added_per_stream_us": not(exact(micro, func(t *Trace) int64 { return int64(allTimes(t).Idle()) })),
	"gap_ns":                                of(gaps),
	"dur_ns":                                of(func(t *Trace) any { return each(t, func(k Kernel) int64 { return int64(k.Dur) }) }),
	"start_ns_absolute":                     of(func(t *Trace) any { return absolute(t) }),
	"first_start_ns":                        of(func(t *Trace) any { return absolute(t)[0] }),
	"both_files_same_gaps_and_durations":    checkBothFiles,
	"float64_step_at_this_ts_us":            of(float64Step),
	"first_kernel_start_us":                 exact(micro, func(t *Trace) int64 { return int64(t.Kernels[0].Start) }),
	"perfetto_zero_us":                      exact(micro, func(t *Trace) int64 { return int64(t.Origin) }),
	"first_kernel_perfetto_s":               exact(second, inPerfetto),
	"wrong_if_metadata_counts_s":            not(exact(second, inPerfetto)),
	"wrong_if_first_kernel_is_zero_s":       not(exact(second, inPerfetto)),
	"wrong_if_only_complete_events_count_s": not(exact(second, inPerfetto)),
	"first_layer_range_perfetto_us":         checkFirstLayer,
	"identical_output_on_every_run":         checkIdentical,

	// Labels. A label decode[..] with prefill requests is of PhaseMixed here,
	// which the case leaves open.
	"decode_annotations":       of(func(t *Trace) any { return inPhase(t, PhaseDecode) + inPhase(t, PhaseMixed) }),
	"prefill_annotations":      of(func(t *Trace) any { return inPhase(t, PhasePrefill) }),
	"capture_annotations":      of(captures),
	"dominant_bs":              of(dominant),
	"dominant_decode_bs":       of(dominant),
	"requests_bs":              of(dominant),
	"dominant_decode_bs_count": of(func(t *Trace) any { d, _ := DetectDecodeBS(t); return d.Counts[0].Steps }),
	"verified_tokens_m":        of(func(t *Trace) any { return distinct(Steps(t), func(s Step) int { return s.Tokens })[0] }),
	"parse":                    checkParse,

	// Selections and kinds of layers.
	"per_device":                                  checkPerDevice,
	"per_pid":                                     checkPerPID,
	"mixed_if_not_separated":                      checkMixture,
	"anchors_modulo_4_layers":                     checkRemainder,
	"target_layer_sequence":                       cut(func(s *Segments) any { return bySignature(s)[0].names }),
	"intervals_with_exactly_that_sequence":        cut(func(s *Segments) any { return bySignature(s)[0].layers }),
	"intervals_that_are_draft_of_the_same_length": cut(func(s *Segments) any { return len(s.Layers) - bySignature(s)[0].layers }),
	"moe_layers_a_gap_filter_finds":               cut(func(s *Segments) any { return len(s.Layers) }),
	"dense_layers":                                cut(func(s *Segments) any { return leftOut(s, "5 kernels instead of 7") }),
	"passes":                                      whole(func(s *Segments) any { return s.NumPasses }),
	"decode_passes":                               whole(func(s *Segments) any { return s.NumPasses }),
	"target_layers_per_pass":                      whole(func(s *Segments) any { return s.LayersPerPass }),
	"layers_per_decode_pass":                      whole(func(s *Segments) any { return s.LayersPerPass }),
	"draft_anchors_per_pass":                      whole(func(s *Segments) any { return (s.Anchors - s.NumPasses*s.LayersPerPass) / s.NumPasses }),
	"moe_layers_true":                             whole(mostLayers),
	"last_layer_gap_inside_run":                   checkLastInRun,
	"last_layer_of_trace":                         checkLastOfTrace,
}

// of compares a value of the trace.
func of(f func(*Trace) any) check {
	return func(c *caseInput, want any) error {
		if c.loadErr != nil {
			return c.loadErr
		}
		return same(f(c.trace), want)
	}
}

// cut compares a value of the segments.
func cut(f func(*Segments) any) check {
	return func(c *caseInput, want any) error {
		s, err := c.segment()
		if err != nil {
			return err
		}
		return same(f(s), want)
	}
}

// perFile is for a key that has a value for each input.
func perFile(f check) check {
	return func(c *caseInput, want any) error {
		values := want.(map[string]any)
		w, ok := values[c.base()]
		if !ok || len(values) != len(c.expect.Inputs) {
			return fmt.Errorf("values for %v, want one for each of %q", values, c.expect.Inputs)
		}
		return f(c, w)
	}
}

// ofFile compares what f finds in the input file.
func ofFile[T any](f func(file string) (T, error)) check {
	return func(c *caseInput, want any) error {
		got, err := f(c.file)
		if err != nil {
			return err
		}
		return same(got, want)
	}
}

// not is for a key that states a wrong value.
func not(f check) check {
	return func(c *caseInput, want any) error {
		if f(c, want) == nil {
			return fmt.Errorf("%v is the wrong value", want)
		}
		return nil
	}
}

const (
	micro  = 1_000         // nanoseconds
	second = 1_000_000_000 // nanoseconds
)

// exact compares nanoseconds with a decimal text in a larger unit.
func exact(unit int64, ns func(*Trace) int64) check {
	return func(c *caseInput, want any) error {
		if c.loadErr != nil {
			return c.loadErr
		}
		return sameTime(ns(c.trace), unit, want)
	}
}

func sameTime(ns, unit int64, want any) error {
	w, ok := new(big.Rat).SetString(fmt.Sprint(want))
	if got := big.NewRat(ns, unit); !ok || got.Cmp(w) != 0 {
		return fmt.Errorf("got %s, want %v", got.FloatString(9), want)
	}
	return nil
}

func countIf[T any](all []T, f func(T) bool) int {
	n := 0
	for _, v := range all {
		if f(v) {
			n++
		}
	}
	return n
}

func distinct[T any, V comparable](all []T, f func(T) V) []V {
	var vs []V
	for _, v := range all {
		if !slices.Contains(vs, f(v)) {
			vs = append(vs, f(v))
		}
	}
	return vs
}

func each(t *Trace, f func(Kernel) int64) []int64 {
	var vs []int64
	for _, k := range t.Kernels {
		vs = append(vs, f(k))
	}
	return vs
}

func kernelNames(t *Trace) []string { return distinct(t.Kernels, t.KernelName) }

func orderedNames(t *Trace) any {
	var names []string
	for _, k := range t.Kernels {
		names = append(names, t.KernelName(k))
	}
	return names
}

func checkName(c *caseInput, want any) error {
	if names := kernelNames(c.trace); !slices.Contains(names, want.(string)) {
		return fmt.Errorf("no kernel %q among %q", want, names)
	}
	return nil
}

func warningCounts(t *Trace) map[string]int64 {
	n := map[string]int64{}
	for _, w := range t.Warnings {
		n[w.Kind] = w.Count
	}
	return n
}

// unusable are the warnings of kernels without a usable time, in the words of
// the expect file, and any other warning as it is.
func unusable(t *Trace) any {
	words := map[string]string{"missing_duration": "missing", "null_duration": "null", "negative_duration": "negative", "no_timing": "ts_zero_dur_zero"}
	n := map[string]int64{}
	for kind, count := range warningCounts(t) {
		word, ok := words[kind]
		if !ok {
			word = kind
		}
		n[word] = count
	}
	return n
}

// laneNumbers are the distinct texts of f as numbers, -1 for one that is none.
func laneNumbers(t *Trace, f func(Lane) string) []int {
	return distinct(t.Lanes, func(l Lane) int {
		n, err := strconv.Atoi(f(l))
		if err != nil {
			return -1
		}
		return n
	})
}

func correlated(t *Trace, id int64) int {
	return countIf(t.Correlations, func(c int64) bool { return c == id })
}

func usable(t *Trace) []Kernel {
	return slices.DeleteFunc(slices.Clone(t.Kernels), func(k Kernel) bool { return k.Dur == NoDur })
}

func sum(t *Trace) int64 {
	n := int64(0)
	for _, k := range usable(t) {
		n += int64(k.Dur)
	}
	return n
}

func span(t *Trace) int64 {
	end := t.Kernels[0].Start
	for _, k := range t.Kernels {
		end = max(end, k.End())
	}
	return int64(end - t.Kernels[0].Start)
}

func gaps(t *Trace) any {
	var ns []int64
	for i, k := range t.Kernels[1:] {
		ns = append(ns, int64(k.Start-t.Kernels[i].End()))
	}
	return ns
}

func absolute(t *Trace) []int64 {
	return each(t, func(k Kernel) int64 { return t.Base + int64(k.Start) })
}

func inPerfetto(t *Trace) int64 { return int64(t.Kernels[0].Start - t.Origin) }

// float64Step is how far apart the microseconds of the first kernel would be
// as floating-point numbers: what the case rests on.
func float64Step(t *Trace) any {
	us := float64(absolute(t)[0]) / 1e3
	return math.Nextafter(us, math.Inf(1)) - us
}

// allTimes measures all kernels together.
func allTimes(t *Trace) Times {
	all := make([]int32, len(t.Kernels))
	for i := range all {
		all[i] = int32(i)
	}
	return NewMeter(t, nil).Times(all)
}

func utilisation(t *Trace) any {
	times := allTimes(t)
	return fmt.Sprintf("%.2f", 100*float64(times.Busy)/float64(times.Span))
}

// whole compares a value of the whole layers.
func whole(f func(*Segments) any) check {
	return func(c *caseInput, want any) error {
		s, err := c.whole()
		if err != nil {
			return err
		}
		return same(f(s), want)
	}
}

// mostLayers is the number of layers of the most frequent kind.
func mostLayers(s *Segments) any {
	sum, err := Summarize(s, nil)
	if err != nil {
		return err
	}
	return sum.Groups[0].Layers
}

func checkBothFiles(c *caseInput, want any) error {
	equal := true
	for _, input := range c.expect.Inputs {
		t, err := Load(filepath.Join(filepath.Dir(c.file), input), nil)
		if err != nil {
			return err
		}
		dur := func(k Kernel) int64 { return int64(k.Dur) }
		equal = equal && slices.Equal(absolute(t), absolute(c.trace)) && slices.Equal(each(t, dur), each(c.trace, dur))
	}
	return same(equal, want)
}

func checkFirstLayer(c *caseInput, want any) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	start, end := Time(math.MaxInt64), Time(math.MinInt64)
	for k := range s.Kernels(s.Layers[0]) {
		start, end = min(start, k.Start), max(end, k.End())
	}
	w := want.([]any)
	return errors.Join(sameTime(int64(start-c.trace.Origin), micro, w[0]), sameTime(int64(end-c.trace.Origin), micro, w[1]))
}

// checkIdentical runs the command three times in each way of writing a result.
func checkIdentical(c *caseInput, want any) error {
	for _, args := range [][]string{{"--csv", "out.csv"}, {"--json"}, {"--wide", "--by-signature"}} {
		first, err := c.succeeds(args...)
		if err != nil {
			return err
		}
		for range 2 {
			again, err := c.succeeds(args...)
			if err != nil {
				return err
			}
			if err := same(fmt.Sprint(again) == fmt.Sprint(first), want); err != nil {
				return fmt.Errorf("trace_layer %v: %+v, at first %+v", args, again, first)
			}
		}
	}
	return nil
}

// ofCategory compares the number of events of a category.
func ofCategory(cat string) check {
	return ofFile(func(file string) (int, error) {
		events, err := eventsOf(file)
		return countIf(events, func(e Event) bool { return e.Category == cat }), err
	})
}

// eventsOf is all that Events yields of a file.
func eventsOf(file string) ([]Event, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Event
	for e, err := range Events(f, file, nil) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// checkExcluded checks that nothing of some categories, which the file has, is
// a kernel or a copy.
func checkExcluded(c *caseInput, want any) error {
	events, err := eventsOf(c.file)
	if err != nil {
		return err
	}
	for _, cat := range want.([]any) {
		of := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Category != cat })
		kept := slices.ContainsFunc(of, func(e Event) bool { return slices.Contains(c.trace.Names, e.Name) })
		if len(of) == 0 || kept {
			return fmt.Errorf("%d events of category %s, kept is %v", len(of), cat, kept)
		}
	}
	return nil
}

func gzipMembers(file string) (int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	z, err := gzip.NewReader(r)
	n := 0
	for ; err == nil; err = z.Reset(r) {
		z.Multistream(false)
		if _, err := io.Copy(io.Discard, z); err != nil {
			return n, err
		}
		n++
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// salvaged is the number of kernels in front of the place where a file ends early.
func salvaged(file string) (int64, error) {
	t, err := Load(file, &LoadOptions{AllowTruncated: true})
	if err != nil {
		return 0, err
	}
	if !hasWarning(t.Warnings, "truncated") {
		return 0, fmt.Errorf("no warning of a truncated file: %v", t.Warnings)
	}
	return t.Counts.Kernels, nil
}

// checkMemory reads a file's list of events six times over and once. All that
// is allocated for the events that come on top, and so any peak, must follow the
// kernels kept: 64 bytes to store and join one, the rest to sort them.
func checkMemory(c *caseInput, _ any) error {
	f, err := os.Open(c.file)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := chrometrace.Open(f)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	few, base, err1 := allocated(plain, 1)
	many, all, err2 := allocated(plain, 6)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if perKernel := (all - base) / (many - few); many != 6*few || perKernel > 128 {
		return fmt.Errorf("%d bytes allocated for each of %d kernels, want at most 128", perKernel, many-few)
	}
	return nil
}

// allocated reads a trace with its list of events repeated. It returns the
// number of kernels and of bytes that were allocated.
func allocated(plain []byte, times int) (kernels, size int64, err error) {
	list := bytes.Index(plain, []byte(`"traceEvents"`))
	begin, end := list+bytes.IndexByte(plain[list:], '[')+1, bytes.LastIndexByte(plain, ']')
	parts := []io.Reader{bytes.NewReader(plain[:begin])}
	for i := range times {
		parts = append(parts, strings.NewReader(","[:min(i, 1)]), bytes.NewReader(plain[begin:end]))
	}
	in := io.MultiReader(append(parts, bytes.NewReader(plain[end:]))...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t, err := Read(in, "repeated", nil)
	runtime.ReadMemStats(&after)
	if err != nil {
		return 0, 0, err
	}
	return t.Counts.Kernels, int64(after.TotalAlloc - before.TotalAlloc), nil
}

func inPhase(t *Trace, p Phase) int {
	return countIf(Steps(t), func(s Step) bool { return s.Phase == p })
}

func captures(t *Trace) any {
	n := map[string]int{}
	for _, s := range Steps(t) {
		if s.Phase == PhaseCapture {
			n[strconv.Itoa(s.GraphBS)]++
		}
	}
	return n
}

// dominant is the number of requests that most decode steps have, nil without one.
func dominant(t *Trace) any {
	d, err := DetectDecodeBS(t)
	if err != nil {
		return nil
	}
	return d.Dominant
}

// labelValues are what an expect file says of a label beside its phase.
var labelValues = map[string]func(Label) any{
	"bs":       func(l Label) any { return l.Requests },
	"graph_bs": func(l Label) any { return l.GraphBS },
	"tokens":   func(l Label) any { return l.Tokens },
	"p":        func(l Label) any { return l.Context },
	"d":        func(l Label) any { return l.Generation },
	"spec":     func(l Label) any { return l.Spec },
	"tbo":      func(l Label) any { return l.TBO },
	"ctx":      func(l Label) any { return l.Ctx },
}

func checkParse(c *caseInput, want any) error {
	var errs []error
	for _, w := range want.([]any) {
		w := w.(map[string]any)
		name := w["name"].(string)
		l, _ := ParseLabel(name)
		for key, want := range w {
			if err := checkLabel(l, key, want); err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", key, name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func checkLabel(l Label, key string, want any) error {
	if value := labelValues[key]; value != nil {
		return same(value(l), want)
	}
	switch {
	case key == "name":
		return nil
	case key != "phase":
		return errors.New("a Label does not have it")
	case want != nil:
		return same(l.Phase.String(), want)
	case l.Phase == PhaseDecode || l.Phase == PhasePrefill || l.Phase == PhaseMixed:
		return fmt.Errorf("got %v, want none of decode, prefill and mixed", l.Phase)
	}
	return nil
}

// checkPattern checks that a pattern is a kernel's name, and that the shorter
// default of the command finds the same anchors.
func checkPattern(c *caseInput, want any) error {
	if err := checkName(c, want); err != nil {
		return err
	}
	s, err := c.segment()
	if err != nil {
		return err
	}
	byDefault, err := Segment(c.trace, AnchorProfile("pa_bf16"), &c.sel)
	if err == nil && !slices.Equal(byDefault.anchors, s.anchors) {
		err = fmt.Errorf("pa_bf16 gives the anchors %v, %q gives %v", byDefault.anchors, want, s.anchors)
	}
	return err
}

// checkSelection checks what is expected of some of the kernels.
func checkSelection(c *caseInput, sel SegmentOptions, want any) error {
	expected := want.(map[string]any)
	d := c.with(sel, expected)
	for key, w := range expected {
		check := segmentChecks[key]
		if check == nil {
			return fmt.Errorf("unknown key %q", key)
		}
		if err := check(d, w); err != nil {
			return fmt.Errorf("%+v: %s: %w", sel, key, err)
		}
	}
	return nil
}

func checkPerDevice(c *caseInput, want any) error {
	devices := want.(map[string]any)
	for device, w := range devices {
		if err := checkSelection(c, SegmentOptions{Device: device}, w); err != nil {
			return err
		}
	}
	return same(len(distinct(c.trace.Lanes, func(l Lane) string { return l.Device })) == len(devices), true)
}

func checkPerPID(c *caseInput, want any) error {
	for _, pid := range distinct(c.trace.Lanes, func(l Lane) string { return l.PID }) {
		if err := checkSelection(c, SegmentOptions{PID: pid}, want); err != nil {
			return err
		}
	}
	return nil
}

// checkMixture checks that a mixture is refused, and that it would give the
// stated numbers if the kernels did not say whose they are.
func checkMixture(c *caseInput, want any) error {
	if _, err := c.segment(); !errors.Is(err, ErrMixed) {
		return fmt.Errorf("error %v, want %v", err, ErrMixed)
	}
	t := *c.trace
	t.Lanes = make([]Lane, len(t.Lanes))
	d := *c
	d.trace = &t
	return checkSelection(&d, SegmentOptions{}, want)
}

func checkRemainder(c *caseInput, want any) error {
	_, err := c.with(SegmentOptions{NumLayers: 4}, c.expect.Expected).segment()
	e, ok := errors.AsType[*SegmentError](err)
	if !ok || !errors.Is(err, ErrRemainder) || e.Layers != 4 {
		return fmt.Errorf("error %v, want %v with 4 layers", err, ErrRemainder)
	}
	return same(e.Anchors%e.Layers, want)
}

// A sequence is a distinct sequence of names and how many layers have it.
type sequence struct {
	names  []string
	layers int
}

// bySignature are the groups of layers that --by-signature shows.
func bySignature(s *Segments) []sequence {
	sum, err := Summarize(s, &SummaryOptions{BySignature: true})
	if err != nil {
		return []sequence{{}}
	}
	var all []sequence
	for _, g := range sum.Groups {
		q := sequence{layers: g.Layers}
		for _, p := range g.Positions {
			q.names = append(q.names, p.Name)
		}
		all = append(all, q)
	}
	return all
}

// leftOut is how many layers were left out for a reason.
func leftOut(s *Segments, why string) int {
	n := 0
	for _, l := range s.LeftOut {
		if strings.HasPrefix(l.Why, why) {
			n += l.Layers
		}
	}
	return n
}

// checkLastInRun: the interval of a pass's last layer, which begins the
// sentence, is left out.
func checkLastInRun(c *caseInput, want any) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	gap, _, _ := strings.Cut(want.(string), " ")
	if n := leftOut(s, gap+" kernels instead of"); n == 0 {
		return fmt.Errorf("no interval of %s kernels was left out: %v", gap, s.LeftOut)
	}
	return nil
}

var fromLastAnchor = regexp.MustCompile(`^no next anchor: (\d+) kernels from the last anchor on`)

func checkLastOfTrace(c *caseInput, want any) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	m := fromLastAnchor.FindStringSubmatch(want.(string))
	if m == nil {
		return errors.New("the sentence is not understood")
	}
	got := strconv.Itoa(len(s.Order) - int(s.anchors[s.Anchors-1]))
	if got != m[1] || leftOut(s, "last anchor: no next one") != 1 {
		return fmt.Errorf("%s kernels from the last anchor on, want %s; left out: %v", got, m[1], s.LeftOut)
	}
	return nil
}
