package account_test

func childMain() bool { return false }
