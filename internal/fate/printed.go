package fate

import "strings"

const hidden, unlisted = "…", "an unlisted error text"

// Printed returns what errors and logs show of an error's text: the beginning that the table lists, which
// holds no argument of a command, or else the code alone. Programs find the whole text by errors.As.
func Printed(text string) string {
	if p := listed([]byte(text)); p != nil {
		shown := string(p.text)
		if len(text) > len(shown) {
			shown += hidden
		}
		return shown
	}
	code, _, more := strings.Cut(text, " ")
	switch {
	case !isCode(code):
		return unlisted
	case more:
		return code + " " + hidden
	}
	return code
}

// isCode tells whether the first word of an error's text is a code, such as WRONGTYPE.
func isCode(word string) bool {
	const longest = 32
	for i := range len(word) {
		if c := word[i]; (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return word != "" && len(word) <= longest
}
