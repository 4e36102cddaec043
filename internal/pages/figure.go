package pages

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// figure is what the sentence says of the cells.
func (v value) figure(found [][]string) (string, error) {
	switch v.kind {
	case "ratio":
		above, err := one(found[0])
		if err != nil {
			return "", err
		}
		below, err := one(found[1])
		if err != nil {
			return "", err
		}
		a, b := amount(above), amount(below)
		if a <= 0 || b <= 0 {
			return "", fmt.Errorf("%q ÷ %q is no ratio of two amounts", above, below)
		}
		return digits(a / b), nil
	case "least", "most":
		return extreme(found[0], v.kind == "most")
	default:
		cell, err := one(found[0])
		return readable(cell), err
	}
}

func one(cells []string) (string, error) {
	if len(cells) != 1 {
		return "", fmt.Errorf("want one cell: the selection has %q", cells)
	}
	return middle(cells[0]), nil
}

// middle is a cell without what it has in parentheses, the spread of its rounds.
func middle(cell string) string {
	text, _, _ := strings.Cut(cell, " (")
	return text
}

func extreme(cells []string, most bool) (string, error) {
	best := ""
	for _, cell := range cells {
		cell = middle(cell)
		a := amount(cell)
		if a < 0 {
			return "", fmt.Errorf("%q is no amount", cell)
		}
		if best == "" || a != amount(best) && (a > amount(best)) == most {
			best = cell
		}
	}
	if best == "" {
		return "", errors.New("has no cells")
	}
	return readable(best), nil
}

// amount is the number of a cell; of a duration in nanoseconds, and of sizes in bytes.
// It is negative if the cell has none.
func amount(cell string) float64 {
	if d, err := time.ParseDuration(cell); err == nil {
		return float64(d)
	}
	number, unit, _ := strings.Cut(cell, " ")
	factor, ok := map[string]float64{"": 1, "%": 1, "B": 1, "KB": 1e3, "MB": 1e6}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok {
		return -1
	}
	return v * factor
}

// readable is a cell as a sentence has it: 24,249 and 1.5 ms.
func readable(cell string) string {
	cell = strings.TrimSpace(cell)
	if _, err := time.ParseDuration(cell); err == nil {
		if i := strings.IndexFunc(cell, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }); i > 0 {
			return cell[:i] + " " + cell[i:]
		}
		return cell
	}
	if n, err := strconv.ParseUint(cell, 10, 64); err == nil && n >= 1000 {
		return thousands(strconv.FormatUint(n, 10))
	}
	return cell
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// digits is a ratio with two digits, below 1 with two decimals.
func digits(v float64) string {
	decimals := 0
	switch {
	case v < 1:
		decimals = 2
	case v < 10:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
