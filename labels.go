package tracelayer

import (
	"cmp"
	"fmt"
	"strings"
)

// A Phase is the kind of work of a step.
type Phase int

// The phases. Only PhaseDecode counts as decode.
const (
	PhaseUnknown Phase = iota // a step, but its framework's word for the kind is not known here
	PhasePrefill              // prefill requests only
	PhaseDecode               // decode requests only, run as a graph where the framework tells the difference
	PhaseMixed                // prefill and decode requests in one step
	PhaseDraft                // the draft model of speculative decoding
	PhaseVerify               // the target model verifying drafted tokens
	PhaseDummy                // no request behind it: padding of a data-parallel rank, warm-up
	PhaseEager                // ATOM's eager_decode: decode outside the graphs
	PhaseCapture              // a graph being captured, not run
	PhaseIdle                 // a step without requests
)

var phaseNames = [...]string{"unknown", "prefill", "decode", "mixed", "draft", "verify", "dummy", "eager", "capture", "idle"}

// String is the phase in lower case, such as "decode".
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return fmt.Sprintf("phase(%d)", int(p))
	}
	return phaseNames[p]
}

// specific reports whether p says more than which requests a step holds.
func (p Phase) specific() bool {
	switch p {
	case PhaseDraft, PhaseVerify, PhaseDummy, PhaseEager, PhaseCapture:
		return true
	}
	return false
}

// The values of [Label.Family].
const (
	FamilyATOM   = "atom"
	FamilyVLLM   = "vllm"
	FamilySGLang = "sglang"
	FamilyTRTLLM = "trtllm"
)

// A Label is what the name of a step label states. A number that the name does
// not state is 0; none is derived from another, except that Requests and Tokens
// are summed where the two sides are stated apart.
//
// Requests, GraphBS and Tokens are three different numbers: 90 requests may run
// in a graph captured for 96, and verify 270 tokens.
type Label struct {
	Family string // FamilyATOM, FamilyVLLM, FamilySGLang or FamilyTRTLLM
	Phase  Phase
	Mode   string // SGLang's forward mode, or what a capture label names last; else empty

	Requests   int // real requests of the step
	Context    int // those in prefill
	Generation int // those in decode

	// GraphBS is the size that the replayed or captured graph was made for:
	// requests in ATOM and SGLang, tokens in vLLM.
	GraphBS int

	Tokens           int // all tokens of the step; for a decode step with drafts more than Requests
	ContextTokens    int
	GenerationTokens int

	Spec int    // drafted tokens per request
	TBO  bool   // ran as two overlapped micro-batches
	Ctx  string // ATOM's lengths of the contexts as the label writes them: one number, or a list that may be cut short
}

// ParseLabel reads the name of a step label. It reports false unless it
// understands the whole name, with every known number a decimal below
// 2^30; fields it does not know are passed over in bracketed labels.
//
// The forms, each as the framework's own source writes it:
//
//   - ATOM, atom/model_engine/run_labels.py: prefill[..], decode[..],
//     eager_decode[..], dummy_prefill[..], dummy_decode[..],
//     dummy_eager_decode[..] with bs=R or bs=R/G first and tok, p, d, spec, ctx,
//     tbo after it; draft[i/k ..], propose_eagle[i/k ..], dspark[..],
//     propose_dspark[..]; capture_graph_bs_N. A decode[..] label with prefill
//     requests (p=2) is PhaseMixed.
//   - vLLM, gpu_worker.annotate_profile:
//     execute_context_N(T)_generation_M(T), the same after execute_T_ with sums
//     of lengths in the brackets, and the older execute_new_N_cached_M;
//     capture_T_MODE. N = 0 is decode, M = 0 is prefill.
//   - SGLang, profile_utils.build_step_span_name: step[MODE bs=N ..] and
//     capture_N_MODE. A mode that is not known gives PhaseUnknown.
//   - TensorRT-LLM, py_executor: [Executor] _forward_step I: N ctx reqs, M gen
//     reqs, where I, the prefix and a count of ctx tokens may be absent.
//
// Labels of parts of a step (gpu_model_runner: forward, draft_kv[..]) and of
// other work (execute_diffusion_.., ProfilerStep#N) are not step labels.
func ParseLabel(name string) (Label, bool) {
	parse := parseATOM
	switch {
	case strings.HasPrefix(name, "step["):
		parse = parseSGLang
	case strings.HasPrefix(name, "execute_"):
		parse = parseVLLM
	case strings.HasPrefix(name, "capture_"):
		parse = parseCapture
	case strings.HasPrefix(name, "_forward_step"), strings.HasPrefix(name, "[Executor] _forward_step"):
		parse = parseTRTLLM
	}
	l, ok := parse(name)
	if !ok {
		return Label{}, false
	}
	return l, true
}

func parseATOM(name string) (Label, bool) {
	kind, f, ok := bracketed(name)
	if !ok {
		return Label{}, false
	}
	l := Label{Family: FamilyATOM}
	switch kind {
	case "prefill":
		l.Phase = PhasePrefill
	case "decode":
		l.Phase = PhaseDecode
	case "eager_decode":
		l.Phase = PhaseEager
	case "dummy_prefill", "dummy_decode", "dummy_eager_decode":
		l.Phase = PhaseDummy
	case "draft", "propose_eagle", "dspark", "propose_dspark":
		l.Phase = PhaseDraft
	default:
		return Label{}, false
	}
	if !f.batch(&l) || !f.num("tok", &l.Tokens) {
		return Label{}, false
	}
	if l.Phase == PhaseDraft {
		return l, f.drafts(kind, &l)
	}
	ok = f.num("p", &l.Context) && f.num("d", &l.Generation) && f.num("spec", &l.Spec)
	l.Ctx, _ = f.get("ctx")
	tbo, _ := f.get("tbo")
	l.TBO = tbo != "" && tbo != "0"
	l.Phase = atomPhase(l, f)
	return l, ok
}

// atomPhase corrects the phase that the kind of label names by its counts.
func atomPhase(l Label, f labelFields) Phase {
	_, d := f.get("d")
	switch {
	case l.Phase != PhaseDecode && l.Phase != PhasePrefill:
		return l.Phase
	case l.Requests == 0:
		return PhaseIdle
	case l.Phase == PhaseDecode && l.Context > 0 && l.Generation == 0 && d > 0:
		return PhasePrefill
	case l.Phase == PhaseDecode && l.Context > 0:
		return PhaseMixed
	}
	return l.Phase
}

// batch reads bs=R or bs=R/G, which every label has.
func (f labelFields) batch(l *Label) bool {
	val, n := f.get("bs")
	if n != 1 {
		return false
	}
	real, graph, padded := strings.Cut(val, "/")
	r, ok := labelNumber(real)
	if !ok {
		return false
	}
	l.Requests = r
	if !padded {
		return true
	}
	l.GraphBS, ok = labelNumber(graph)
	return ok && l.GraphBS >= r
}

// drafts reads how many tokens a request gets drafted: k of a leading i/k, or T.
func (f labelFields) drafts(kind string, l *Label) bool {
	if strings.HasSuffix(kind, "dspark") {
		return f.num("T", &l.Spec)
	}
	index, count, ok := strings.Cut(f[0], "/")
	if !ok {
		return false
	}
	_, okIndex := labelNumber(index)
	l.Spec, ok = labelNumber(count)
	return ok && okIndex
}

func parseSGLang(name string) (Label, bool) {
	_, f, ok := bracketed(name)
	if !ok || !isWord(f[0]) || f[0] != strings.ToUpper(f[0]) {
		return Label{}, false
	}
	l := Label{Family: FamilySGLang, Mode: f[0], Phase: sglangPhase(f[0])}
	ok = f.batch(&l) && f.num("toks", &l.Tokens) &&
		f.num("c", &l.Context) && f.num("g", &l.Generation) &&
		f.num("c_sq", &l.ContextTokens) && f.num("g_sq", &l.GenerationTokens)
	l.Tokens = cmp.Or(l.Tokens, l.ContextTokens+l.GenerationTokens)
	switch {
	case l.Requests > 0:
	case l.Phase == PhaseDecode, l.Phase == PhasePrefill, l.Phase == PhaseMixed:
		l.Phase = PhaseIdle
	}
	return l, ok
}

// sglangPhase is the phase of a member of SGLang's ForwardMode.
func sglangPhase(mode string) Phase {
	switch mode {
	case "EXTEND", "SPLIT_PREFILL":
		return PhasePrefill
	case "DECODE":
		return PhaseDecode
	case "MIXED":
		return PhaseMixed
	case "IDLE":
		return PhaseIdle
	case "TARGET_VERIFY":
		return PhaseVerify
	case "DRAFT_EXTEND", "DRAFT_EXTEND_V2":
		return PhaseDraft
	}
	return PhaseUnknown
}

// isWord reports whether s is an identifier in ASCII.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20 // lower case, if a letter
		if (c < 'a' || c > 'z') && s[i] != '_' && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func parseVLLM(name string) (Label, bool) {
	l := Label{Family: FamilyVLLM}
	rest := strings.TrimPrefix(name, "execute_")
	if older, ok := strings.CutPrefix(rest, "new_"); ok {
		n, m, _ := strings.Cut(older, "_cached_")
		var okN, okM bool
		l.Context, okN = labelNumber(n)
		l.Generation, okM = labelNumber(m)
		l.bySides()
		return l, okN && okM
	}
	if !strings.HasPrefix(rest, "context_") {
		var tok string
		var ok bool
		tok, rest, _ = strings.Cut(rest, "_")
		if l.Tokens, ok = labelNumber(tok); !ok {
			return l, false
		}
	}
	rest, ok := strings.CutPrefix(rest, "context_")
	n, m, cut := strings.Cut(rest, "_generation_")
	if !ok || !cut || !vllmSide(n, &l.Context, &l.ContextTokens) || !vllmSide(m, &l.Generation, &l.GenerationTokens) {
		return l, false
	}
	l.Tokens = cmp.Or(l.Tokens, l.ContextTokens+l.GenerationTokens)
	l.bySides()
	return l, true
}

// bySides sets Requests and Phase from the counts of the two sides.
func (l *Label) bySides() {
	l.Requests = l.Context + l.Generation
	switch {
	case l.Requests == 0:
		l.Phase = PhaseIdle
	case l.Context == 0:
		l.Phase = PhaseDecode
	case l.Generation == 0:
		l.Phase = PhasePrefill
	default:
		l.Phase = PhaseMixed
	}
}

// vllmSide reads "N(T)", "N(T_SQSQ)" or "N(sq8sk9sqsq64sqsk72)", where T is sq.
func vllmSide(s string, requests, tokens *int) bool {
	n, sums, _ := strings.Cut(s, "(")
	sums, closed := strings.CutSuffix(sums, ")")
	var ok bool
	if *requests, ok = labelNumber(n); !ok || !closed || sums == "" {
		return false
	}
	if isDigit(sums[0]) {
		tok, squares, more := strings.Cut(sums, "_")
		*tokens, ok = labelNumber(tok)
		return ok && (!more || isSum(squares))
	}
	found := false
	for sums != "" {
		key := len(sums) - len(strings.TrimLeft(sums, "qsk"))
		val := sumLen(sums[key:])
		if key == 0 || val == 0 {
			return false
		}
		if sums[:key] == "sq" {
			if *tokens, ok = labelNumber(sums[key : key+val]); !ok || found {
				return false
			}
			found = true
		}
		sums = sums[key+val:]
	}
	return found
}

// sumLen is the length of the decimal that s starts with, 0 where there is none
// or where it may not fit an int64. Sums of squares outgrow [labelNumber].
func sumLen(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n > 18 {
		return 0
	}
	return n
}

func isSum(s string) bool { return s != "" && sumLen(s) == len(s) }

func parseCapture(name string) (Label, bool) {
	rest := strings.TrimPrefix(name, "capture_")
	l := Label{Family: FamilyATOM, Phase: PhaseCapture}
	if size, ok := strings.CutPrefix(rest, "graph_bs_"); ok {
		l.GraphBS, ok = labelNumber(size)
		return l, ok
	}
	size, mode, _ := strings.Cut(rest, "_")
	var ok bool
	l.GraphBS, ok = labelNumber(size)
	l.Mode = mode
	// Both frameworks write this form, and TraceLens shows it in lower case too.
	l.Family = FamilySGLang
	if sglangPhase(mode) == PhaseUnknown {
		l.Family = FamilyVLLM
		l.Tokens = l.GraphBS
	}
	return l, ok && isWord(mode)
}

func parseTRTLLM(name string) (Label, bool) {
	l := Label{Family: FamilyTRTLLM}
	rest := strings.TrimPrefix(strings.TrimPrefix(name, "[Executor] "), "_forward_step")
	iter, rest, ok := strings.Cut(rest, ": ")
	if !ok || iter != "" && (iter[0] != ' ' || !isSum(iter[1:])) {
		return l, false
	}
	seen := 0
	for part := range strings.SplitSeq(rest, ", ") {
		count, unit, _ := strings.Cut(part, " ")
		n, ok := labelNumber(count)
		bit := 0
		switch unit {
		case "ctx reqs":
			bit, l.Context = 1, n
		case "gen reqs":
			bit, l.Generation = 2, n
		case "ctx tokens":
			bit, l.ContextTokens = 4, n
		}
		if !ok || bit == 0 || seen&bit != 0 {
			return l, false
		}
		seen |= bit
	}
	l.bySides()
	if l.Generation == 0 {
		l.Tokens = l.ContextTokens
	}
	return l, seen&3 == 3
}

// labelFields are the parts of a bracketed label, most of them key=value.
type labelFields []string

// bracketed cuts "kind[a b=1 c=[2, 3]...+4]" into its kind and its fields. A
// space or bracket within an inner bracket does not end a field.
func bracketed(name string) (kind string, f labelFields, ok bool) {
	kind, body, ok := strings.Cut(name, "[")
	body, closed := strings.CutSuffix(body, "]")
	if !ok || !closed {
		return "", nil, false
	}
	depth, start := 0, 0
	for i := range len(body) {
		switch body[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				return "", nil, false
			}
		case ' ':
			if depth == 0 {
				f = append(f, body[start:i])
				start = i + 1
			}
		}
	}
	return kind, append(f, body[start:]), depth == 0
}

// get returns the value of key, and how often the key occurs.
func (f labelFields) get(key string) (val string, n int) {
	for _, field := range f {
		if k, v, ok := strings.Cut(field, "="); ok && k == key {
			val = v
			n++
		}
	}
	return val, n
}

// num sets *dst to the number under key and leaves it alone where the key is
// absent. It reports false for anything but one sound number.
func (f labelFields) num(key string, dst *int) bool {
	val, n := f.get(key)
	if n == 0 {
		return true
	}
	v, ok := labelNumber(val)
	*dst = v
	return ok && n == 1
}

// maxLabelNumber bounds the numbers of a label, so that a sum of two fits an int of
// 32 bits and a label means the same on every platform.
const maxLabelNumber = 1<<30 - 1

func labelNumber(s string) (int, bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	var v int64
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		v = v*10 + int64(s[i]-'0')
	}
	if v > maxLabelNumber {
		return 0, false
	}
	return int(v), true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// under is l completed from the label of another family around it.
func (l Label) under(outer Label) Label {
	if l.Phase == PhaseUnknown || outer.Phase.specific() && !l.Phase.specific() {
		l.Phase = outer.Phase
	}
	l.Mode = cmp.Or(l.Mode, outer.Mode)
	l.Requests = cmp.Or(l.Requests, outer.Requests)
	l.Context = cmp.Or(l.Context, outer.Context)
	l.Generation = cmp.Or(l.Generation, outer.Generation)
	l.GraphBS = cmp.Or(l.GraphBS, outer.GraphBS)
	l.Tokens = cmp.Or(l.Tokens, outer.Tokens)
	l.ContextTokens = cmp.Or(l.ContextTokens, outer.ContextTokens)
	l.GenerationTokens = cmp.Or(l.GenerationTokens, outer.GenerationTokens)
	l.Spec = cmp.Or(l.Spec, outer.Spec)
	l.TBO = l.TBO || outer.TBO
	l.Ctx = cmp.Or(l.Ctx, outer.Ctx)
	return l
}
