package pages

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A value is a figure in a sentence: what one comment asks for.
type value struct {
	kind  string // value, least, most or ratio
	of    int    // how many cells least or most takes
	table Table
	cells []selection // one, or the two of a ratio
}

// A selection chooses cells of a table: those in the columns of the rows that have all of
// the wanted cells, of all rows if none are wanted.
type selection struct {
	rows    [][]string // each with its alternatives
	columns []string
}

var (
	values   = regexp.MustCompile(`<!-- (value|ratio|(?:least|most) of [0-9]+) by (\S+) of ([^:\n]+): ([^\n]+?) -->([^<\n]*)<!-- -->`)
	valuesOf = regexp.MustCompile(`<!-- (?:value|ratio|least|most)(?: of [0-9]+)? by `)
)

// fillValues replaces the figures of the program in the sentences of the text.
func fillValues(text []byte, program string, tables Make) (filled []byte, made int, err error) {
	if begun, whole := len(valuesOf.FindAllIndex(text, -1)), len(values.FindAllIndex(text, -1))+len(notes.FindAllIndex(text, -1)); begun != whole {
		return nil, 0, fmt.Errorf("%d of %d values are written neither as <!-- value by PROGRAM of FILES: TABLE; ROW; COLUMN -->figure<!-- --> in one line, nor on a line above their paragraph", begun-whole, begun)
	}
	at := 0
	for _, m := range values.FindAllSubmatchIndex(text, -1) {
		part := func(i int) string { return string(text[m[2*i]:m[2*i+1]]) }
		if part(2) != program {
			continue
		}
		figure, err := Figure(part(1), part(2), part(3), part(4), tables)
		if err != nil {
			return nil, 0, fmt.Errorf("%q: %w", text[m[0]:m[1]], err)
		}
		filled = append(append(filled, text[at:m[10]]...), figure...)
		at = m[11]
		made++
	}
	filled, noted, err := fillNotes(append(filled, text[at:]...), program, tables)
	return filled, made + noted, err
}

// Figure is what "KIND by PROGRAM of FILES: WANTED" says; "?" where a file is not measured yet.
func Figure(kind, program, files, wanted string, tables Make) (string, error) {
	v, err := parseValue(kind, program, files, wanted)
	if err != nil {
		return "", err
	}
	text, err := tables(v.table)
	if err != nil || text == NotMeasured {
		return "?", err
	}
	var found [][]string
	for _, s := range v.cells {
		cells, err := s.in(text)
		if err != nil {
			return "", err
		}
		found = append(found, cells)
	}
	if n := len(found[0]); v.of > 0 && n != v.of {
		return "", fmt.Errorf("takes %d cells, not %d: look at them, and write down how many", n, v.of)
	}
	if err := v.takesAll(tables); err != nil {
		return "", err
	}
	return v.figure(found)
}

// takesAll reports a listed file if none of its rows is selected.
func (v value) takesAll(tables Make) error {
	if len(v.table.Files) < 2 {
		return nil
	}
	for _, file := range v.table.Files {
		text, err := tables(Table{v.table.Program, []string{file}, v.table.Name})
		for _, s := range v.cells {
			if err == nil {
				_, err = s.in(text)
			}
		}
		if err != nil {
			return fmt.Errorf("takes nothing of %s: %w", file, err)
		}
	}
	return nil
}

// parseValue reads "TABLE; CELL; CELL; COLUMN", of a ratio twice with " ÷ " between
// them, the second one without the table. "A|B" is one of several.
func parseValue(kind, program, files, wanted string) (v value, err error) {
	if v.kind = kind; strings.Contains(kind, " of ") {
		_, _ = fmt.Sscanf(kind, "%s of %d", &v.kind, &v.of) // as the expression for comments has it
	}
	name, rest, ok := strings.Cut(wanted, ";")
	if !ok {
		return v, errors.New("want TABLE; ROW; COLUMN")
	}
	v.table = Table{program, strings.Fields(files), strings.TrimSpace(name)}
	sides := strings.Split(rest, " ÷ ")
	if (kind == "ratio") != (len(sides) == 2) || len(sides) > 2 {
		return v, errors.New("want ROW; COLUMN ÷ ROW; COLUMN of a ratio, and of it alone")
	}
	for _, side := range sides {
		parts := strings.Split(side, ";")
		var s selection
		for i, part := range parts {
			alternatives := strings.Split(part, " or ")
			for j := range alternatives {
				alternatives[j] = strings.TrimSpace(alternatives[j])
			}
			if i == len(parts)-1 {
				s.columns = alternatives
				continue
			}
			s.rows = append(s.rows, alternatives)
		}
		v.cells = append(v.cells, s)
	}
	return v, nil
}

// in returns the cells that are selected, without empty ones.
func (s selection) in(table string) (found []string, err error) {
	rows := rowsOf(table)
	if len(rows) < 2 {
		return nil, errors.New("has no rows")
	}
	for _, column := range s.columns {
		at := slices.Index(rows[0], column)
		if at < 0 {
			return nil, fmt.Errorf("the table has no column %q: %q", column, rows[0])
		}
		for _, row := range rows[1:] {
			if at < len(row) && row[at] != "" && s.matches(row) {
				found = append(found, row[at])
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the table has no row with %q", s.rows)
	}
	return found, nil
}

func (s selection) matches(row []string) bool {
	for _, alternatives := range s.rows {
		if !slices.ContainsFunc(alternatives, func(a string) bool { return slices.Contains(row, a) }) {
			return false
		}
	}
	return true
}

// rowsOf reads the cells of a Markdown table, without the line below its head.
func rowsOf(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.Trim(line, "|-: ") == "" && len(rows) == 1 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "**", "")
		}
		rows = append(rows, cells)
	}
	return rows
}
