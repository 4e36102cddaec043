package shown

func OnlyInTests() {}
