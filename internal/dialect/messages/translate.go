package messages

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

func (Dialect) ReadTurn([]byte) (*dialect.Turn, error) { panic("translation follows") }

func (Dialect) NewWriter(dialect.ResponseOptions) dialect.ResponseWriter {
	panic("translation follows")
}

func (Dialect) Encode(*dialect.Turn, *dialect.Target) (dialect.Encoded, error) {
	panic("translation follows")
}

func (Dialect) NewReader(*dialect.Encoded, bool) dialect.ResponseReader { panic("translation follows") }

// AppendCuts implements [dialect.Passing].
func (Dialect) AppendCuts(dst []wire.Edit, _ []byte, _ dialect.Origin) (_ []wire.Edit, dropped int) {
	return dst, 0
}

// AppendReasoningCuts implements [dialect.Passing].
func (Dialect) AppendReasoningCuts(dst []wire.Edit, _ []byte) []wire.Edit { return dst }
