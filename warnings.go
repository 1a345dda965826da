package tracelayer

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-json"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// A tally counts one kind of oddity and remembers where it was first met.
type tally struct {
	count, event int64
	name         string
}

func (t *tally) add(e *chrometrace.Event) {
	if t.count == 0 {
		t.name = string(e.Name().Text)
	}
	t.addAt(e.Index)
}

func (t *tally) addAt(event int64) {
	if t.count == 0 || event < t.event {
		t.event = event
	}
	t.count++
}

// warnings collects what a builder finds odd.
type warnings struct {
	noDur, nullDur, nonFiniteDur, badDur, negativeDur, longDur  tally
	noStart, noTiming, unfinished, strayEnd, badEnd, quotedTime tally
	metadata                                                    []string // keys that could not be read
}

// list is the warnings of a trace, in a fixed order.
func (w *warnings) list(st chrometrace.Stats, t *Trace, cut error) []Warning {
	var all []Warning
	add := func(kind string, count, event int64, text string) {
		if count > 0 {
			all = append(all, Warning{kind, count, event, text})
		}
	}
	if cut != nil {
		add("truncated", 1, st.Events, fmt.Sprintf("%v; kept the %d whole events before, %d of them kernels", cut, st.Events, t.Counts.Kernels))
	}
	if st.Unterminated {
		add("unterminated_list", 1, -1, "the list of events has no closing bracket, read as complete")
	}
	add("ignored_entries", st.Ignored, -1, "entries of the event list that are empty or not objects, ignored")
	odd := func(kind string, o chrometrace.Oddity, text string) { add(kind, o.Count, o.Event, text) }
	odd("raw_control_characters", st.RawControl, "raw control characters in strings, kept")
	odd("invalid_utf8_strings", st.InvalidUTF8, "strings with bytes that are not UTF-8, shown as U+FFFD")
	odd("unknown_escapes", st.UnknownEscape, "escapes that JSON does not know, read as they stand")
	tallied := func(kind string, y tally, text string) {
		if y.name != "" {
			text += fmt.Sprintf(", such as %.60q", y.name)
		}
		add(kind, y.count, y.event, text)
	}
	tallied("quoted_times", w.quotedTime, "times written as strings, read as numbers")
	const out = " left out of all statistics"
	tallied("missing_duration", w.noDur, "kernels or copies without a duration,"+out)
	tallied("null_duration", w.nullDur, "kernels or copies with a null duration,"+out)
	tallied("non_finite_duration", w.nonFiniteDur, "kernels or copies whose duration is not finite,"+out)
	tallied("unreadable_duration", w.badDur, "kernels or copies whose duration is not a number,"+out)
	tallied("negative_duration", w.negativeDur, "kernels or copies with a negative duration (unfinished),"+out)
	tallied("long_duration", w.longDur, "kernels or copies longer than seven days,"+out)
	tallied("unfinished", w.unfinished, "kernels or copies that begin and never end,"+out)
	tallied("missing_start", w.noStart, "kernels or copies without a start that can be read, left out")
	tallied("no_timing", w.noTiming, "kernels or copies at time 0 with duration 0 (no timing was collected), left out")
	tallied("bad_end", w.badEnd, "E events without a time that their B events could end at: these pairs are out of order, and what they and their neighbours say of durations is not sure")
	tallied("stray_end", w.strayEnd, "E events without a B event before them, ignored")
	if len(w.metadata) > 0 {
		add("unreadable_metadata", int64(len(w.metadata)), -1, "header values that could not be read: "+strings.Join(w.metadata, ", "))
	}
	return all
}

// wantHeader picks the values beside the event list that metadata reads.
func wantHeader(key []byte) bool {
	switch string(key) {
	case "baseTimeNanoseconds", "deviceProperties", "distributedInfo", "traceName":
		return true
	}
	return isVersion(string(key))
}

func isVersion(key string) bool { return strings.HasSuffix(strings.ToLower(key), "version") }

// metadata reads the header values and notes the ones that it cannot read.
func metadata(header map[string][]byte, w *warnings) (base int64, m Metadata) {
	m.Rank = -1
	read := func(key string, into any) {
		raw, ok := header[key]
		if ok && json.Unmarshal(raw, into) != nil {
			w.metadata = append(w.metadata, key)
		}
	}
	if raw, ok := header["baseTimeNanoseconds"]; ok {
		if base, ok = chrometrace.Integer(bytes.Trim(raw, `"`)); !ok {
			w.metadata = append(w.metadata, "baseTimeNanoseconds")
		}
	}
	var devices []struct {
		ID             int
		Name           string
		ComputeMajor   int
		ComputeMinor   int
		NumSms         int
		WarpSize       int
		TotalGlobalMem int64
	}
	read("deviceProperties", &devices)
	for _, d := range devices {
		m.Devices = append(m.Devices, Device{d.ID, d.Name, d.ComputeMajor, d.ComputeMinor, d.NumSms, d.WarpSize, d.TotalGlobalMem})
	}
	info := struct {
		Rank      *int   `json:"rank"`
		WorldSize int    `json:"world_size"`
		Backend   string `json:"backend"`
	}{}
	read("distributedInfo", &info)
	if info.Rank != nil {
		m.Rank = *info.Rank
	}
	m.WorldSize, m.Backend = info.WorldSize, info.Backend
	read("traceName", &m.TraceName)
	m.Versions = versions(header)
	return base, m
}

// versions are the header values whose keys end in "version", as text.
func versions(header map[string][]byte) map[string]string {
	var v map[string]string
	for key, raw := range header {
		if !isVersion(key) {
			continue
		}
		if v == nil {
			v = map[string]string{}
		}
		v[key] = strings.Trim(string(raw), `"`)
	}
	return v
}
