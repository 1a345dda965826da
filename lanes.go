package tracelayer

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A laneOrder is an order in which the kernels of some layers started.
type laneOrder struct {
	lanes  []LaneID // of the kernels
	same   int32    // its number among the orders whose lanes each run the same
	layers int
	target []LaneID // the order that its layers get
}

// orderByLane brings layers that run the same kernels on each lane, but not in
// the same order between lanes, into the order that most of them have: the
// streams of a layer wait for each other only here and there, and which of two
// kernels starts first in between means nothing.
func (s *Segments) orderByLane() {
	if len(s.Trace.Lanes) < 2 {
		return
	}
	orders, of := s.laneOrders()
	most := map[int32]int{} // the most frequent order of those that are the same
	for i, o := range orders {
		if m, ok := most[o.same]; !ok || o.layers > orders[m].layers {
			most[o.same] = i
		}
	}
	for i := range orders {
		orders[i].target = orders[most[orders[i].same]].lanes
	}
	for i, l := range s.Layers {
		if of[i] < 0 {
			continue
		}
		if o := orders[of[i]]; !slices.Equal(o.lanes, o.target) {
			inOrder(s.Trace, s.Order[l.Start:l.End], o.target)
			s.Reordered++
		}
	}
}

// laneOrders finds the distinct orders of the kept layers' kernels, and that of
// each layer, -1 if it is not kept.
func (s *Segments) laneOrders() (orders []laneOrder, of []int) {
	index, same := map[string]int{}, map[string]int32{}
	of = make([]int, len(s.Layers))
	var key []byte
	for i, l := range s.Layers {
		if of[i] = -1; s.Passes[l.Pass].Out != "" {
			continue
		}
		kernels := s.Order[l.Start:l.End]
		key = key[:0]
		for _, k := range kernels {
			key = s.laneKey(key, k)
		}
		n, ok := index[string(key)]
		if !ok {
			n = len(orders)
			index[string(key)] = n
			orders = append(orders, laneOrder{lanes: s.lanesOf(kernels), same: numberOf(same, s.laneByLane(kernels))})
		}
		orders[n].layers++
		of[i] = n
	}
	return orders, of
}

// numberOf numbers keys in order of appearance.
func numberOf(numbers map[string]int32, key string) int32 {
	n, ok := numbers[key]
	if !ok {
		n = int32(len(numbers))
		numbers[key] = n
	}
	return n
}

// laneKey appends the lane and the name of a kernel to dst.
func (s *Segments) laneKey(dst []byte, kernel int32) []byte {
	k := s.Trace.Kernels[kernel]
	dst = binary.LittleEndian.AppendUint32(dst, uint32(k.Lane))
	return binary.LittleEndian.AppendUint32(dst, uint32(k.Name))
}

// laneByLane is the names of some kernels, lane by lane, as bytes to look up.
func (s *Segments) laneByLane(kernels []int32) string {
	sorted := slices.Clone(kernels)
	slices.SortStableFunc(sorted, func(a, b int32) int {
		return cmp.Compare(s.Trace.Kernels[a].Lane, s.Trace.Kernels[b].Lane)
	})
	var key []byte
	for _, k := range sorted {
		key = s.laneKey(key, k)
	}
	return string(key)
}

func (s *Segments) lanesOf(kernels []int32) []LaneID {
	lanes := make([]LaneID, len(kernels))
	for i, k := range kernels {
		lanes[i] = s.Trace.Kernels[k].Lane
	}
	return lanes
}

// inOrder sorts kernels so that their lanes follow each other as in lanes, and
// those of one lane stay in order.
func inOrder(t *Trace, kernels []int32, lanes []LaneID) {
	rest := map[LaneID][]int32{}
	for _, k := range kernels {
		lane := t.Kernels[k].Lane
		rest[lane] = append(rest[lane], k)
	}
	for i, lane := range lanes {
		kernels[i] = rest[lane][0]
		rest[lane] = rest[lane][1:]
	}
}
