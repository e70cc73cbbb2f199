package app

import (
	"shunt/internal/family"
	"shunt/internal/family/claude"
)

// families are the families of accounts that shunt knows. A new one is a package and a line here.
var families = []*family.Family{&claude.Family}
