package chart

import (
	"bytes"
	"fmt"
	"strings"
)

// inks are the colours of a picture, and what they are in the dark.
var inks = []struct{ name, light, dark string }{
	{"paper", "#FFFFFF", "#0D1117"},
	{"ink", "#000000", "#E6EDF3"},
	{"grid", "#D7D7D7", "#30363D"},
	{"blue", "#0072B2", "#3B82F6"},
	{"grey", "#5A5A5A", "#A8B1BB"},
}

// themed is the picture with colours that follow the scheme that its reader prefers. Inside
// a page it is an image, which knows the scheme, too.
func themed(svg []byte) []byte {
	var light, dark strings.Builder
	for _, ink := range inks {
		fmt.Fprintf(&light, "--%s:%s;", ink.name, ink.light)
		fmt.Fprintf(&dark, "--%s:%s;", ink.name, ink.dark)
		svg = bytes.ReplaceAll(svg, []byte(ink.light), []byte("var(--"+ink.name+")"))
	}
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Helvetica,Arial,sans-serif;"))
	style := fmt.Sprintf("<style>svg{%s}text{fill:var(--ink)}@media (prefers-color-scheme:dark){svg{%s}}</style>\n", light.String(), dark.String())
	at := bytes.Index(svg, []byte("<g "))
	if at < 0 {
		return svg
	}
	return append(append(bytes.Clone(svg[:at]), style...), svg[at:]...)
}
