package wire

import (
	"fmt"
	"reflect"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
)

// Radix keeps to itself where a reply of an action goes: its commands are their
// own receivers, and a radix.Pipeline does not say which of its commands could not
// be decoded. So that errors can, these functions look for types, not values, in
// fields of radix's structs, and are content without them if there are none.

// receiverType returns the type that the i-th reply is decoded into.
func receiverType(into any, i int) string {
	name := fmt.Sprintf("%T", into)
	v := structOf(reflect.ValueOf(into))
	if entries := v.field("mm"); entries.Kind() == reflect.Slice && i < entries.Len() {
		name, v = "what a radix.Pipeline holds", structOf(member{entries.Index(i)}.field("unmarshalInto"))
	}
	if receiver := v.field("rcv"); receiver.Kind() == reflect.Interface {
		if receiver.IsNil() {
			return "nothing"
		}
		return receiver.Elem().Type().String()
	}
	return name
}

// failedIn returns the first command of a radix.Pipeline that has failed, which the
// pipeline keeps to itself, and whether that is because of an error of the server.
func failedIn(into any) (i int, failed, said bool) {
	entries := structOf(reflect.ValueOf(into)).field("mm")
	if entries.Kind() != reflect.Slice {
		return 0, false, false
	}
	for i := range entries.Len() {
		if err := (member{entries.Index(i)}).field("err"); err.Kind() == reflect.Interface && !err.IsNil() {
			return i, true, saidByServer(err.Elem())
		}
	}
	return 0, false, false
}

func saidByServer(err reflect.Value) bool {
	for err.Type() == reflect.TypeFor[radixresp.ErrConnUsable]() && !err.Field(0).IsNil() {
		err = err.Field(0).Elem()
	}
	return err.Type() == reflect.TypeFor[resp3.SimpleError]() || err.Type() == reflect.TypeFor[resp3.BlobError]()
}

// A member is a value that may be a struct.
type member struct{ reflect.Value }

// structOf follows pointers and interfaces.
func structOf(v reflect.Value) member {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return member{v}
}

// field returns a field of one of radix's own types, or else the zero Value.
func (m member) field(name string) reflect.Value {
	if m.Kind() != reflect.Struct || m.Type().PkgPath() != "github.com/mediocregopher/radix/v4" {
		return reflect.Value{}
	}
	return m.FieldByName(name)
}
