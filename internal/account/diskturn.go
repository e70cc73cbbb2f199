package account

// diskTurn is held by one goroutine at a time, which may wait for a disk or for another process meanwhile.
type diskTurn chan struct{}

func newDiskTurn() diskTurn { return make(diskTurn, 1) }

// Lock waits until the turn is free.
func (t diskTurn) Lock() { t <- struct{}{} }

// Unlock frees it.
func (t diskTurn) Unlock() { <-t }
