package model

// globs reports whether a text is one of a pattern's, as servers see it: there is no
// separator that a star stops at, a set of letters need not end, and a backslash at the end is
// one.
func globs(pattern, text string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			for pattern != "" && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			for from := 0; from <= len(text); from++ {
				if globs(pattern, text[from:]) {
					return true
				}
			}
			return false
		case '?':
			if text == "" {
				return false
			}
			pattern = pattern[1:]
		case '[':
			if text == "" {
				return false
			}
			var in bool
			if in, pattern = inSet(pattern[1:], text[0]); !in {
				return false
			}
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if text == "" || pattern[0] != text[0] {
				return false
			}
			pattern = pattern[1:]
		}
		text = text[1:]
	}
	return text == ""
}

// inSet reports whether a letter is in the set behind a bracket, and returns what follows the
// set.
func inSet(set string, b byte) (in bool, rest string) {
	not := set != "" && set[0] == '^'
	if not {
		set = set[1:]
	}
	for set != "" && set[0] != ']' {
		switch {
		case set[0] == '\\' && len(set) > 1:
			in = in || set[1] == b
			set = set[2:]
		case len(set) > 2 && set[1] == '-':
			in = in || min(set[0], set[2]) <= b && b <= max(set[0], set[2])
			set = set[3:]
		default:
			in = in || set[0] == b
			set = set[1:]
		}
	}
	if set != "" {
		set = set[1:]
	}
	return in != not, set
}
