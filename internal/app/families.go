package app

import (
	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/claude"
)

// families are the families of accounts that shunt knows. A new one is a package and a line here.
var families = []*family.Family{&claude.Family}

// dialects are what clients may speak.
var dialects = []dialect.Inbound{messages.Dialect{}}
