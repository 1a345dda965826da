package tracegen

// Where a kernel of a pass belongs, beside the numbers of layers.
const (
	inPrologue = -1 - iota
	inEpilogue
	inNone // a stray
)

// noPiece marks a kernel with a launch call of its own.
const noPiece = -1

// A slot is one kernel of a pass, before it runs.
type slot struct {
	code  int32 // index into generator.codes
	layer int32 // of its batch, or one of the constants above
	piece int32 // number of the graph launch within the pass, or noPiece
	batch int8
}

// A plan is a pass taken apart into slots, in the order in which they start.
type plan struct {
	pass   *Pass
	index  int // into Spec.Passes
	slots  []slot
	pieces int    // number of graph launches
	runs   bool   // false in a capture: only Eager kernels run
	cut    []bool // by batch and layer: Skip removed kernels of it
}

func (pl *plan) batches() int {
	if pl.pass.TwoBatch {
		return 2
	}
	return 1
}

// newPlan lays out pass p.
func (g *generator) newPlan(p *Pass, index int) *plan {
	pl := &plan{pass: p, index: index, runs: p.Phase != Capture && !g.spec.NoKernels}
	pl.cut = make([]bool, pl.batches()*len(p.Layers))
	for b := range pl.batches() {
		g.place(pl, p.Prologue, inPrologue, b)
	}
	for l := range p.Layers {
		g.placeLayer(pl, l)
	}
	for b := range pl.batches() {
		g.place(pl, p.Epilogue, inEpilogue, b)
	}
	pl.setPieces(g)
	pl.skip(p.Skip)
	return pl
}

// placeLayer adds layer l of each micro-batch: halves in turn when there are two.
func (g *generator) placeLayer(pl *plan, l int) {
	kind := pl.pass.Layers[l]
	half := kind.Split
	if half == 0 {
		half = len(kind.Kernels) / 2
	}
	for b := range pl.batches() {
		g.place(pl, kind.Kernels[:half], l, b)
	}
	for i := range pl.pass.Strays {
		if s := pl.pass.Strays[i : i+1]; s[0].Layer == l {
			pl.slots = append(pl.slots, slot{code: g.code(&s[0].Kernel), layer: inNone})
		}
	}
	for b := range pl.batches() {
		g.place(pl, kind.Kernels[half:], l, b)
	}
}

func (g *generator) place(pl *plan, ks []Kernel, layer, batch int) {
	for i := range ks {
		pl.slots = append(pl.slots, slot{code: g.code(&ks[i]), layer: int32(layer), batch: int8(batch)})
	}
}

// setPieces says which launch starts each slot. Strays have one of their own.
func (pl *plan) setPieces(g *generator) {
	piece, open := int32(-1), false
	for i := range pl.slots {
		s := &pl.slots[i]
		if pl.pass.Launch == Eager || s.layer == inNone || g.codes[s.code].kernel.Eager {
			s.piece = noPiece
			open = open && (pl.pass.Launch == FullGraph || s.layer == inNone)
			continue
		}
		if !open {
			open = true
			if pl.pass.Launch == Piecewise || piece < 0 {
				piece++
			}
		}
		s.piece = piece
	}
	pl.pieces = int(piece + 1)
}

// skip drops the first n slots and marks the layers they belong to.
func (pl *plan) skip(n int) {
	n = min(n, len(pl.slots))
	for _, s := range pl.slots[:n] {
		if s.layer >= 0 {
			pl.cut[int(s.batch)*len(pl.pass.Layers)+int(s.layer)] = true
		}
	}
	pl.slots = pl.slots[n:]
}
