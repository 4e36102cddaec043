package other

func Elsewhere() {}
