package tracegen

import (
	"fmt"
	"strconv"
	"strings"
)

// A Family is a framework's wording of step labels.
type Family int

// The families.
const (
	ATOM           Family = iota // decode[bs=32 tok=32 d=32]
	ATOMDetailed                 // with sqsq=, sqsk= and sk=
	VLLM                         // execute_context_1(512)_generation_3(3)
	VLLMOlder                    // execute_new_1_cached_3
	VLLMDetailed                 // execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk..)
	SGLang                       // step[DECODE bs=32]
	SGLangDetailed               // step[DECODE bs=32 g_sq=32 g_sqsq=32 ...]
	TRTLLM                       // [Executor] _forward_step 7: 0 ctx reqs, 32 gen reqs
	TRTLLMOlder                  // without the iteration
	TRTLLMNewer                  // with the context tokens
	ProfilerStep                 // ProfilerStep#7, torch.profiler's own
)

// label is what family f calls pass p, or "" where it has no label for such a
// pass. The iteration is the number of passes before it.
func (f Family) label(p *Pass, iteration int) string {
	if p.Label != "" {
		return p.Label
	}
	switch f {
	case ATOM, ATOMDetailed:
		return atomLabel(p, f == ATOMDetailed)
	case VLLM, VLLMOlder, VLLMDetailed:
		return vllmLabel(f, p)
	case SGLang, SGLangDetailed:
		return sglangLabel(p, f == SGLangDetailed)
	case TRTLLM, TRTLLMOlder, TRTLLMNewer:
		return trtllmLabel(f, p, iteration)
	default:
		return "ProfilerStep#" + strconv.Itoa(iteration)
	}
}

// moments are the sums over the requests of one part of a batch that the
// detailed labels carry: sq new tokens, sk tokens attended to.
type moments struct{ sq, sk, sqsq, sqsk int64 }

// batch gives the moments of n requests that share tokens evenly, each behind
// kv tokens that are cached already.
func batch(n, tokens, kv int) moments {
	var m moments
	for _, share := range shares(n, tokens) {
		sq := int64(share)
		sk := int64(kv) + sq
		m.sq += sq
		m.sk += sk
		m.sqsq += sq * sq
		m.sqsk += sq * sk
	}
	return m
}

// shares splits tokens over n requests, the remainder over the first.
func shares(n, tokens int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = tokens / n
		if i < tokens%n {
			s[i]++
		}
	}
	return s
}

// parts gives the moments of the context and of the generation half of p.
func parts(p *Pass) (c, g moments) {
	genTokens := p.generating() * (1 + p.Spec)
	if p.context() == 0 {
		genTokens = p.tokens()
	}
	c = batch(p.context(), p.tokens()-genTokens, 0)
	g = batch(p.generating(), genTokens, p.kvLen())
	return c, g
}

func atomLabel(p *Pass, detailed bool) string {
	tail := ""
	if detailed {
		c, g := parts(p)
		tail = fmt.Sprintf(" sqsq=%d sqsk=%d sk=%d", c.sqsq+g.sqsq, c.sqsk+g.sqsk, c.sk+g.sk)
	}
	if p.TwoBatch {
		tail += " tbo=1"
	}
	bs := strconv.Itoa(p.Requests)
	if p.Graph > p.Requests {
		bs += "/" + strconv.Itoa(p.Graph)
	}
	switch p.Phase {
	case Prefill:
		return fmt.Sprintf("prefill[bs=%s tok=%d ctx=%s%s]", bs, p.tokens(), atomContext(p), tail)
	case Mixed:
		return fmt.Sprintf("decode[bs=%s tok=%d p=%d d=%d%s]", bs, p.tokens(), p.Context, p.generating(), tail)
	case Draft:
		return fmt.Sprintf("draft[1/%d bs=%d]", max(p.Spec, 1), p.Requests)
	case Verify:
		return fmt.Sprintf("decode[bs=%s tok=%d d=%d spec=%d%s]", bs, p.tokens(), p.generating(), p.Spec, tail)
	case Capture:
		return "capture_graph_bs_" + strconv.Itoa(p.Requests)
	case EagerPhase:
		return fmt.Sprintf("eager_decode[bs=%s tok=%d ctx=%d%s]", bs, p.tokens(), p.kvLen(), tail)
	}
	name := "decode"
	if p.Phase == Dummy {
		name = "dummy_decode"
	}
	return fmt.Sprintf("%s[bs=%s tok=%d d=%d%s]", name, bs, p.tokens(), p.generating(), tail)
}

// atomContext is a number for one request, a list for up to five, and the
// first three with the number of the others beyond that.
func atomContext(p *Pass) string {
	s := shares(p.context(), p.tokens())
	if len(s) == 1 {
		return strconv.Itoa(s[0])
	}
	more := ""
	if len(s) > 5 {
		more = "...+" + strconv.Itoa(len(s)-3)
		s = s[:3]
	}
	return strings.ReplaceAll(fmt.Sprint(s), " ", ", ") + more
}

func vllmLabel(f Family, p *Pass) string {
	switch p.Phase {
	case Draft:
		return "gpu_model_runner: draft"
	case Capture:
		mode := "FULL"
		if p.Launch == Piecewise {
			mode = "PIECEWISE"
		}
		return fmt.Sprintf("capture_%d_%s", p.tokens(), mode)
	case Dummy:
		return ""
	}
	c, g := parts(p)
	switch f {
	case VLLM:
		return fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", p.context(), c.sq, p.generating(), g.sq)
	case VLLMOlder:
		return fmt.Sprintf("execute_new_%d_cached_%d", p.context(), p.generating())
	}
	return fmt.Sprintf("execute_%d_context_%d(%s)_generation_%d(%s)", p.tokens(), p.context(), c, p.generating(), g)
}

// String gives the form that detailed vLLM labels have.
func (m moments) String() string {
	return fmt.Sprintf("sq%dsk%dsqsq%dsqsk%d", m.sq, m.sk, m.sqsq, m.sqsk)
}

// fields gives the form that detailed SGLang labels have.
func (m moments) fields(prefix string) string {
	return fmt.Sprintf(" %[1]s_sq=%[2]d %[1]s_sqsq=%[3]d %[1]s_sqsk=%[4]d %[1]s_sk=%[5]d", prefix, m.sq, m.sqsq, m.sqsk, m.sk)
}

var sglangModes = map[Phase]string{
	Decode: "DECODE", EagerPhase: "DECODE", Prefill: "EXTEND", Mixed: "MIXED",
	Draft: "DRAFT_EXTEND", Verify: "TARGET_VERIFY", Dummy: "IDLE",
}

func sglangLabel(p *Pass, detailed bool) string {
	if p.Phase == Capture {
		return fmt.Sprintf("capture_%d_DECODE", p.Requests)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "step[%s bs=%d", sglangModes[p.Phase], p.Requests)
	if p.Phase == Prefill {
		fmt.Fprintf(&b, " toks=%d", p.tokens())
	}
	if detailed && p.Phase == Mixed {
		fmt.Fprintf(&b, " c=%d g=%d", p.Context, p.generating())
	}
	if detailed {
		c, g := parts(p)
		if c.sq > 0 {
			b.WriteString(c.fields("c"))
		}
		if g.sq > 0 {
			b.WriteString(g.fields("g"))
		}
	}
	b.WriteByte(']')
	return b.String()
}

func trtllmLabel(f Family, p *Pass, iteration int) string {
	if p.Phase == Draft || p.Phase == Capture {
		return ""
	}
	name := "[Executor] _forward_step"
	if f != TRTLLMOlder {
		name += " " + strconv.Itoa(iteration)
	}
	name += fmt.Sprintf(": %d ctx reqs, %d gen reqs", p.context(), p.generating())
	if f == TRTLLMNewer {
		c, _ := parts(p)
		name += fmt.Sprintf(", %d ctx tokens", c.sq)
	}
	return name
}
