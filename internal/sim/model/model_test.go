package model

import "strings"

// do runs a command, whose words are separated by spaces.
func do(s *Session, text string) string {
	var args [][]byte
	for word := range strings.FieldsSeq(text) {
		args = append(args, []byte(word))
	}
	reply, _ := s.Do(args)
	return string(reply)
}
