package share

import (
	"cmp"
	"slices"
)

// Fair divides the total so that nobody gets less than it wants while another gets more than
// it (max-min fairness). What nobody wants is divided evenly. The parts are whole and add up to the
// total.
func Fair(total int64, wants []int64) []int64 {
	parts := make([]int64, len(wants))
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wants[i], wants[j]) })
	left := max(0, total)
	for k, i := range order {
		even := left / int64(len(order)-k)
		if wants[i] > even { // so do all that follow
			spread(parts, order[k:], left)
			return parts
		}
		parts[i] = wants[i]
		left -= wants[i]
	}
	spread(parts, order, left)
	return parts
}

// spread adds an even share to the parts. The first to have joined get what is left over.
func spread(parts []int64, of []int, total int64) {
	if len(of) == 0 {
		return
	}
	of = slices.Sorted(slices.Values(of))
	n := int64(len(of))
	for k, i := range of {
		parts[i] += total / n
		if int64(k) < total%n {
			parts[i]++
		}
	}
}
