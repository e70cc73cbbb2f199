package quota

// Scope names a class of models that has a quota window of its own. The empty Scope stands for all models.
type Scope string
