module shunt/bench

go 1.26.0
