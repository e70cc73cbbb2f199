package messages

import "shunt/internal/dialect"

func (Dialect) ReadTurn([]byte) (*dialect.Turn, error) { panic("translation follows") }

func (Dialect) NewWriter(dialect.ResponseOptions) dialect.ResponseWriter {
	panic("translation follows")
}

func (Dialect) Encode(*dialect.Turn, *dialect.Target) (dialect.Encoded, error) {
	panic("translation follows")
}

func (Dialect) NewReader(*dialect.Encoded, bool) dialect.ResponseReader { panic("translation follows") }
