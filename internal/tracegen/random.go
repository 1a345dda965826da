package tracegen

import (
	"math/rand/v2"
	"time"
)

// random is the only source of chance. Everything drawn from it is computed
// in integers, so that all machines agree on every byte.
type random struct{ src *rand.PCG }

func newRandom(seed uint64) random { return random{rand.NewPCG(seed, 0x7472616365)} }

// below draws from [0, n).
func (r random) below(n int64) int64 {
	return int64(r.src.Uint64() >> 32 * uint64(n) >> 32)
}

// between draws from [lo, hi).
func (r random) between(lo, hi int64) int64 { return lo + r.below(hi-lo) }

// chance is true with probability p; 0 is always.
func (r random) chance(p float64) bool {
	return p == 0 || r.below(1<<30) < int64(p*(1<<30))
}

// quantiles of the normal distribution at k/32, in thousandths of sigma. The
// outermost are chosen so that linear pieces keep the mean of the tails.
var quantiles = [33]int64{
	-2640, -1863, -1534, -1318, -1150, -1010, -887, -776, -674, -579, -489, -402, -319, -237, -157, -78, 0,
	78, 157, 237, 319, 402, 489, 579, 674, 776, 887, 1010, 1150, 1318, 1534, 1863, 2640,
}

// A sampler gives the durations of one kernel. It walks the distribution by
// the golden ratio instead of drawing from it: the mean of any few hundred
// samples is then the kernel's mean, and tables made from a trace come out as
// its Spec says.
type sampler struct {
	mean, std, lo, hi int64
	quantum           int64 // resolution of the vendor's clock
	off               int64 // by which the clock falls short of whole quanta
	phase             uint32
	n                 int
}

const golden = 0x9E3779B9

// extremes is the number of samples among which Lo and Hi appear once each.
const extremes = 1021

func newSampler(k *Kernel, v Vendor, r random) sampler {
	s := sampler{
		mean: int64(k.Mean), std: int64(k.Std), lo: int64(k.Lo), hi: int64(k.Hi),
		quantum: 32, phase: uint32(r.src.Uint64()),
	}
	if v == AMD {
		s.quantum, s.off = 40, 1
	}
	if k.Std == 0 {
		s.std = s.mean / 25
	}
	s.std = max(s.std, 0)
	return s
}

// next gives a duration in nanoseconds, at least one quantum.
func (s *sampler) next() int64 {
	s.n++
	s.phase += golden
	d := s.mean
	switch {
	case s.hi > 0 && s.n%extremes == 17:
		d = s.hi
	case s.lo > 0 && s.n%extremes == 510:
		d = s.lo
	default:
		at, frac := s.phase>>27, int64(s.phase>>11&0xffff)
		z := quantiles[at]*(1<<16-frac) + quantiles[at+1]*frac
		d += s.std * z / (1000 << 16)
		if s.lo > 0 {
			d = max(d, s.lo)
		}
		if s.hi > 0 {
			d = min(d, s.hi)
		}
	}
	return max((d+s.quantum/2)/s.quantum, 1)*s.quantum - s.off
}

const (
	us = int64(time.Microsecond)
	ms = int64(time.Millisecond)
)
