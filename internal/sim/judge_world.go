package sim

import (
	"fmt"
	"strings"
)

// left: nothing is left after Close.
func left(h *History) string {
	if h.Left > 0 {
		return fmt.Sprintf("%d connections are left after Close", h.Left)
	}
	return ""
}

// canary is in every value and password, and must be in no text.
const canary = "cnry"

// secrets: no error and no line of the log shows a value or a password.
func secrets(h *History) string {
	for _, text := range h.Texts {
		if strings.Contains(text, canary) {
			return "shown: " + text
		}
	}
	return ""
}
